package geminisim

import (
	"strings"
	"time"
)

// changeKind is what is done to todos that exist.
type changeKind string

const (
	complete   changeKind = "complete"
	reopen     changeKind = "reopen"
	remove     changeKind = "delete"
	rename     changeKind = "rename"
	reschedule changeKind = "move"
	prioritise changeKind = "change"
	label      changeKind = "tag"
)

// change does one thing to one todo, or to the few that the visitor names.
type change struct {
	kind   changeKind
	target string // the visitor's words for the todo

	title    string // rename
	due      due    // reschedule: a date,
	shift    span   // or by how much
	priority string // prioritise
	tags     []string
}

var (
	setPriority  = phrasePattern(`^(?:make|set|mark|flag|label|change|raise|lower|bump|turn) (.+?) (?:up |down )?(?:as |to |into |is )?(?:(?:a |an )?(?:` + emphasis + `(urgent|important|critical|(?:top|high|highest|medium|normal|low|lowest)(?:[- ]?prio(?:rity)?)?|not urgent|not important|less urgent|less important|more urgent|more important)))(?: task| todo)?[\s.!]*$`)
	priorityOn   = phrasePattern(`^(?:set|change|raise|lower|bump|increase|decrease|update|make) (?:up )?(?:the )?priority (?:of|for|on) (.+?)(?: to| as|:)? (urgent|important|critical|top|high|highest|medium|normal|low|lowest)(?: priority)?[\s.!]*$`)
	isPriority   = phrasePattern(`^(.+?) (?:is|are) (?:now |now really |more )?` + emphasis + `(urgent|important|critical|(?:high|low|medium|top)[- ]priority|not urgent|not important)[\s.!]*$`)
	somePriority = phrasePattern(`^(?:change|set|update|edit) (?:the )?priority (?:of|for|on) .+$`)
	raiseIt      = phrasePattern(`^(raise|lower|bump|increase|decrease|reduce) (?:up )?(?:the )?priority (?:of|for|on) (.+)$`)
	prioritize   = phrasePattern(`^(prioriti[sz]e|depriorit[iy][sz]e) (.+)$`)
	addTag       = phrasePattern(`^(?:tag|label) (.+?) (?:as|with) (.+)$|^add (?:the )?(?:tag|label) (\S+) to (.+)$|^add ((?:#\S+ ?)+) to (.+)$`)
	renames      = []*pattern{
		phrasePattern(`^(?:rename|retitle|reword) (.+?) (?:to|as|into) (.+)$`),
		phrasePattern(`^(?:change|edit|update|set) (?:the )?(?:title|name|text|wording) (?:of|for) (.+?) (?:to|as|into) (.+)$`),
		phrasePattern(`^(?:change|edit|update|replace) (.+?) (?:to say|to read|to|into|with) (.+)$`),
	}
	moves      = phrasePattern(`^(?:move|reschedule|re-schedule|postpone|push(?: back| out)?|shift|delay|snooze|put off|bring forward|defer|change|update|set|make|extend|remind me (?:again )?(?:about|of)) (?:the )?(?:(?:due ?date|date|deadline|due|time) (?:of|for|on) )?(.+)$`)
	nowDue     = phrasePattern(`^(.+?) (?:is|are|was|has been|have been) (?:now )?(?:due|moved|postponed|rescheduled) (.+)$`)
	shiftBy    = phrasePattern(`^(?:postpone|push(?: back| out)?|delay|snooze|move|shift|put off|defer|extend) (.+?)(?: back| out)?(?: by| for| another)? ((?:an?|one|two|three|four|five|six|seven|\d+|a couple of|a few|half an|another) ?(?:more )?(?:minutes?|mins?|hours?|hrs?|days?|weeks?|months?))(?: later| back)?[\s.!]*$`)
	dueOfIt    = phrasePattern(`(?:'s)? (?:due ?date|date|deadline|due|time)$`)
	moveVerb   = phrasePattern(`^(?:move|reschedule|re-schedule|postpone|push|shift|delay|snooze|put off|bring forward|defer|extend)\b`)
	dueWord    = phrasePattern(` (?:is |be )?due `)
	changeVerb = phrasePattern(`^(?:change|update|set)\b`)
	trailTo    = phrasePattern(` (?:to|from|on|for|until|till|by|is|=|back|due)$`)
	detailsOf  = phrasePattern(`\b(?:due ?date|deadline|priority|tags?|labels?|description|notes?)\b`)
	twoThings  = phrasePattern(`,? (?:and|then|and then|and also|but) (?:please )?(?:remind|add|create|delete|remove|mark|complete|finish|rename|move|reschedule|show|list|set|make|tell)\b`)
)

// readChange reads a wish to change or delete a todo.
func readChange(text string, now time.Time) intent {
	whole := text
	if cut := twoThings.FindStringIndex(text); cut != nil {
		whole, text = text, text[:cut[0]]
	}
	if somePriority.MatchString(text) && !priorityOn.MatchString(text) {
		return say(whichPriorityReply)
	}
	for _, read := range []func(string, time.Time) (change, bool){
		readPriority, readTag, readRename, readMove, readComplete, readDelete,
	} {
		c, ok := read(text, now)
		switch {
		case !ok:
			continue
		case whole != text:
			return say(oneThingReply)
		case c.kind != complete && c.kind != remove: // readBulk has seen those
			if f, ok := bulkFilter(c.target, now); ok {
				return bulk{change: c, filter: f.forBulk(c.kind)}
			}
		}
		return c
	}
	return nil
}

func readPriority(text string, _ time.Time) (change, bool) {
	for _, re := range []*pattern{priorityOn, setPriority, isPriority} {
		if m := re.FindStringSubmatch(text); m != nil && !newNoun.MatchString(m[1]) && len(stems(targetOf(m[1]))) > 0 {
			return change{kind: prioritise, target: targetOf(m[1]), priority: namedPriority(m[2])}, true
		}
	}
	for _, re := range []*pattern{raiseIt, prioritize} {
		if m := re.FindStringSubmatch(text); m != nil {
			return change{kind: prioritise, target: targetOf(m[2]), priority: direction(m[1])}, true
		}
	}
	return change{}, false
}

// namedPriority reads "high", "urgent", "low priority", "not important".
func namedPriority(words string) string {
	low := strings.ToLower(words)
	if strings.HasPrefix(low, "not") || strings.HasPrefix(low, "less") {
		return "low"
	}
	low = strings.TrimPrefix(low, "more ")
	return priorityOf(strings.FieldsFunc(low, func(r rune) bool { return r == ' ' || r == '-' })[0])
}

func direction(verb string) string {
	switch verb[0] | 0x20 {
	case 'l', 'd', 'r':
		if !strings.EqualFold(verb, "raise") {
			return "low"
		}
	}
	return "high"
}

func readTag(text string, _ time.Time) (change, bool) {
	m := addTag.FindStringSubmatch(text)
	if m == nil {
		return change{}, false
	}
	target, tags := m[1], m[2]
	if target == "" {
		tags, target = m[3]+m[5], m[4]+m[6]
	}
	c := change{kind: label, target: targetOf(target)}
	for _, tag := range splitItems(tags) {
		c.tags = append(c.tags, strings.TrimLeft(tag, "#"))
	}
	return c, len(c.tags) > 0
}

// readRename reads rename, and "change X to Y" where Y is neither a date nor a
// priority, which are read before and after.
func readRename(text string, now time.Time) (change, bool) {
	for i, re := range renames {
		m := re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if rest, d := takeDue(m[2], now); i == len(renames)-1 && (!d.isZero() && cleanTitle(rest) == "" || detailsOf.MatchString(m[1])) {
			return change{}, false
		}
		return change{kind: rename, target: targetOf(m[1]), title: cleanEnds(m[2])}, true
	}
	return change{}, false
}

// readMove reads a new date: its words end the text, what stands before is the
// target.
func readMove(text string, now time.Time) (change, bool) {
	if m := shiftBy.FindStringSubmatch(text); m != nil {
		if sp, n := findSpan(readWords(strings.Replace(strings.ToLower(m[2]), "another", "a", 1)), 0); n > 0 {
			return change{kind: reschedule, target: targetOf(dueOfIt.ReplaceAllString(m[1], "")), shift: sp}, true
		}
	}
	m := moves.FindStringSubmatch(text)
	if m == nil {
		if m = nowDue.FindStringSubmatch(text); m == nil {
			return change{}, false
		}
		m[1], text = m[1]+" due "+m[2], "move"
	}
	rest, d := takeLastDue(m[1], now)
	if !moveVerb.MatchString(text) && !(movesToo(text, rest) && !d.isZero()) {
		return change{}, false
	}
	for trailTo.MatchString(rest) {
		rest = trailTo.ReplaceAllString(rest, "")
	}
	rest = dueOfIt.ReplaceAllString(rest, "")
	return change{kind: reschedule, target: targetOf(rest), due: d}, true
}

// movesToo says whether a verb that need not mean moving does here: change the
// dentist to Friday, make it due tomorrow, but not: change the sheets on Friday.
func movesToo(text, beforeDate string) bool {
	if detailsOf.MatchString(text) || dueWord.MatchString(text) {
		return true
	}
	return changeVerb.MatchString(text) && strings.HasSuffix(strings.ToLower(beforeDate), " to")
}

// takeLastDue takes the date that ends the text, if one does.
func takeLastDue(text string, now time.Time) (string, due) {
	s := readWords(strings.TrimRight(text, " .!?"))
	found := findPhrases(s, now)
	if len(found) == 0 || found[len(found)-1].to < len(s.words) {
		return s.text, due{}
	}
	p := found[len(found)-1]
	return strings.TrimSpace(s.without(p.from, p.to)), p.due
}

var (
	targetLead = phrasePattern(`^(?:(?:the|my|our|that|this|an?) )*(?:(?:todos?|to-dos?|tasks?|items?|reminders?|entry)\b(?: (?:about|called|named|titled|for|of|to|that says|which says|saying|with the (?:title|name)|with id|number|no\.?|id)\b)?[:#]? ?)?`)
	targetTail = phrasePattern(`(?: (?:todo|to-do|task|item|reminder|entry))? (?:from|off|on|in|out of) ` + ownList + `[\s.!]*$| (?:todo|to-do|task|item|reminder|entry)[\s.!]*$| (?:off|from) (?:it|there)$`)
	articles   = phrasePattern(`^(?:(?:the|my|our|that|this|an?) )+`)
)

// targetOf trims the visitor's words for a todo to those that say which.
func targetOf(text string) string {
	text = cleanEnds(manyBlanks.ReplaceAllString(text, " "))
	text = targetTail.ReplaceAllString(text, "")
	text = targetLead.ReplaceAllString(text, "")
	text = articles.ReplaceAllString(text, "")
	return strings.TrimPrefix(cleanEnds(text), "#")
}
