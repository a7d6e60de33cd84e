package geminisim

import "time"

// due is when something is to be done. The zero value is "not said".
type due struct {
	at    time.Time
	timed bool // the hour counts
	// anyDay marks an hour without a day; at is its next occurrence.
	anyDay bool
}

func (d due) isZero() bool { return d.at.IsZero() }

// iso spells d as ISO 8601 in local time, a date alone where no hour was said.
func (d due) iso() string {
	switch {
	case d.isZero():
		return ""
	case d.timed:
		return d.at.Format("2006-01-02T15:04:05")
	}
	return d.at.Format(time.DateOnly)
}

// leads are the words before a date that belong to it.
var leads = map[string]bool{
	"on": true, "by": true, "at": true, "for": true, "until": true, "till": true, "before": true,
	"due": true, "around": true, "starting": true, "@": true, "til": true,
}

// followers are words that may stand after a date or an hour; any other word
// shows that the number or the name belongs to it: at 5 Main Street.
var followers = map[string]bool{
	"on": true, "by": true, "at": true, "for": true, "until": true, "before": true, "due": true, "to": true,
	"and": true, "or": true, "with": true, "in": true, "this": true, "next": true, "the": true, "about": true,
	"because": true, "as": true, "please": true, "sharp": true, "today": true, "tomorrow": true, "tonight": true,
	"from": true, "if": true, "so": true, "urgent": true, "asap": true, "tagged": true, "high": true, "low": true,
	"of": true, "that": true, "then": true, "instead": true, "every": true, "is": true, "important": true, "it's": true,
	"it": true, "but": true, "when": true, "i": true, "we": true, "morning": true, "afternoon": true, "evening": true, "night": true,
	"priority": true, "medium": true, "not": true, "no": true, "latest": true, "again": true, "noon": true,
}

// free says whether nothing at word i claims the words before it for itself.
func free(s *sentence, i int) bool {
	w := s.at(i)
	if !isWord(w) || followers[w] {
		return true
	}
	if _, _, ok := weekday(w); ok {
		return true
	}
	_, ok := month(w)
	return ok
}

// phrase is a date or a time of day or both, as they stand together in a text.
type phrase struct {
	from, to int // words, the leading preposition included
	due
	strong bool // said with "by", "due" or the like
}

// findPhrases returns all dates of a text, in order.
func findPhrases(s *sentence, now time.Time) []phrase {
	var found []phrase
	for i := 0; i < len(s.words); {
		if p, ok := readPhrase(s, i, now); ok {
			found = append(found, p)
			i = p.to
			continue
		}
		i++
	}
	return found
}

// readPhrase reads the phrase that starts at word i.
func readPhrase(s *sentence, i int, now time.Time) (phrase, bool) {
	b := dueBuilder{now: now}
	p := phrase{from: i, to: i}
	for k := i; ; {
		start := skipLeads(s, k, k > i)
		n := b.take(s, start)
		if n == 0 {
			break
		}
		p.strong = p.strong || hasDeadlineWord(s.words[k:start])
		k = start + n
		p.to = k
	}
	p.due = b.due()
	return p, p.to > i && !p.due.isZero()
}

func hasDeadlineWord(words []word) bool {
	for _, w := range words {
		switch w.low {
		case "by", "due", "before", "until", "till", "than":
			return true
		}
	}
	return false
}

// skipLeads steps over prepositions, and inside a phrase over commas and "the".
func skipLeads(s *sentence, i int, inside bool) int {
	for leads[s.at(i)] || s.match(i, "no later than") > 0 || inside && (s.at(i) == "," || s.at(i) == "the") {
		if n := s.match(i, "no later than"); n > 0 {
			i += n
			continue
		}
		i++
	}
	return i
}

// findDue picks the date that a text is about. With several, it is the one that
// is said with "by" or the like, else the one that the text begins with, else
// the last: buy tickets for Friday tomorrow.
func findDue(s *sentence, now time.Time) (phrase, bool) {
	found := findPhrases(s, now)
	if len(found) == 0 {
		return phrase{}, false
	}
	for _, p := range found {
		if p.strong {
			return p, true
		}
	}
	if found[0].from == 0 {
		return found[0], true
	}
	return found[len(found)-1], true
}
