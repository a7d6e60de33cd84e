package quality

import "slices"

// makeScorecard returns the criteria of an answer: the built-in ones, those of its channel, the
// configured ones, and those of the planner.
func (t *turn) makeScorecard() (card []criterion) {
	card = make([]criterion, 0, len(t.set.Criteria)+maxOwn)
	own := slices.DeleteFunc(slices.Clone(t.set.Criteria), func(c Criterion) bool { return !c.appliesTo(t.channel) })
	add := func(c *Criterion) {
		if !slices.ContainsFunc(own, func(o Criterion) bool { return o.ID == c.ID || o.Name == c.Name }) {
			card = append(card, criterion{*c, false})
		}
	}
	add(&t.standards.notEmpty)
	add(&t.standards.complete)
	if form := t.formName(); form == "sms" || form == "plain" {
		add(&t.standards.plainText)
		if form == "sms" {
			add(&t.standards.onePart)
		}
	}
	if t.plan != nil && t.plan.requiresData {
		add(&t.standards.dataUsed)
	}
	for _, c := range own {
		card = append(card, criterion{c, false})
	}
	if t.plan != nil {
		for _, c := range t.plan.criteria {
			card = append(card, criterion{c, true}) // readReply has refused ids that are used already
		}
	}
	return card
}

// maxOwn is how many criteria of our own there may be.
const maxOwn = 8

// formName is the form that the answer will have.
func (t *turn) formName() string {
	if t.form == nil {
		return web
	}
	return t.form.Form()
}
