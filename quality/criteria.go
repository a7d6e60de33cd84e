package quality

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/markdown"
	"sluice/quality/check"
)

// criterion is one of a scorecard.
type criterion struct {
	Criterion
	planned bool
}

// standards are the criteria of our own, compiled once for all turns, which only read them,
// and what reads the Markdown of answers for all.
type standards struct {
	notEmpty, complete, plainText, onePart, dataUsed Criterion

	markdown *markdown.Parser
}

// isStandard says whether a criterion of our own has that id.
func isStandard(id string) bool {
	switch id {
	case "not_empty", "complete", "plain_text", "max_length", "data_used":
		return true
	}
	return false
}

// newStandards compiles them.
func newStandards() *standards {
	return &standards{
		notEmpty:  standard("not_empty", "The answer holds text.", "A character that can be seen.", ""),
		complete:  standard("complete", "The answer was not cut short.", "The model ended by itself.", ""),
		plainText: standard("plain_text", "No Markdown is left in the text.", "Text without marks of Markdown.", ""),
		onePart:   standard("max_length", "The answer fits into one message.", "One message.", `{"parts":1}`),
		dataUsed:  standard("data_used", "A tool was asked, as the plan has it.", "A tool call that completed.", ""),
		markdown:  markdown.NewParser(),
	}
}

// standard is a criterion of our own.
func standard(id, description, expected, args string) Criterion {
	var raw jsontext.Value
	if args != "" {
		raw = jsontext.Value(args)
	}
	compiled, err := check.Compile(id, raw)
	if err != nil { // they are constants
		panic(err)
	}
	return Criterion{ID: id, Description: description, Expected: expected, Check: compiled, Name: id, Must: true}
}

// scorecard returns what an answer is checked for: what always counts, what the channel
// asks for, what is configured, and what the planner has added.
func (t *turn) scorecard() (card []criterion) {
	card = make([]criterion, 0, len(t.set.Criteria)+maxOwn)
	own := slices.DeleteFunc(slices.Clone(t.set.Criteria), func(c Criterion) bool { return !c.applies(t.channel) })
	add := func(c *Criterion) {
		if !slices.ContainsFunc(own, func(o Criterion) bool { return o.ID == c.ID || o.Name == c.Name }) {
			card = append(card, criterion{*c, false})
		}
	}
	add(&t.own.notEmpty)
	add(&t.own.complete)
	if form := t.formName(); form == "sms" || form == "plain" {
		add(&t.own.plainText)
		if form == "sms" {
			add(&t.own.onePart)
		}
	}
	if t.plan != nil && t.plan.requiresData {
		add(&t.own.dataUsed)
	}
	for _, c := range own {
		card = append(card, criterion{c, false})
	}
	if t.plan != nil {
		for _, c := range t.plan.criteria {
			card = append(card, criterion{c, true}) // its ids are nobody else's
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

// verdict is what was found of one criterion in one attempt.
type verdict struct {
	given         bool
	passed        bool
	notApplicable bool
	feedback      string // of the check or the judge; it may quote the answer
}

// failed is true only of a verdict that was given: what nobody judged is open.
func (v verdict) failed() bool { return v.given && !v.passed }
