package geminisim

import (
	"slices"
	"strings"
	"time"
)

// filter says which todos a phrase speaks of.
type filter struct {
	status   string // "open", "completed" or "all"
	priority string
	tags     []string
	overdue  bool
	days     dayRange
	query    string // words of the title
	rest     string // what was not understood, or says what is meant anyway
}

// dayRange is a range of days, the last one included. The zero value is all days.
type dayRange struct {
	from, to time.Time
	name     string // as in "due this week"
}

var (
	wordsCompleted = phrasePattern(`\b(?:completed|done|finished|accomplished|checked off|ticked off|(?:did|have) i (?:already )?(?:do|done|finish|finished|complete|completed|get done|accomplish))\b`)
	wordsOpen      = phrasePattern(`\b(?:not (?:yet )?(?:done|completed|finished)|unfinished|incomplete|uncompleted|open|pending|outstanding|remaining|left|haven't|(?:still|need|have) to)\b`)
	wordsAll       = phrasePattern(`\b(?:all|everything|every|each)\b`)
	wordsOverdue   = phrasePattern(`\b(?:overdue|past due|late|missed|behind)\b`)
	wordsUrgent    = phrasePattern(`\b(?:urgent|important|critical)\b`)
	taggedAs       = phrasePattern(`\b(?:tagged|labell?ed|(?:with|in|under) (?:the )?(?:tag|label|category)|tag|label)(?: as| with)? ([\p{L}\p{N}_-]+)`)
	aboutWords     = phrasePattern(`\b(?:about|related to|regarding|concerning|containing|mentioning|that mentions?|with the words?|called|named|titled|for|with|matching|on) (.+)$`)
)

// readFilter reads the restrictions of a phrase such as "my open high priority
// todos tagged #work that are due this week".
func readFilter(text string, now time.Time) filter {
	f := filter{status: "open"}
	text, f.tags = takeHashTags(text)
	if m := taggedAs.FindStringSubmatch(text); m != nil {
		if text = taggedAs.ReplaceAllString(text, " "); m[1] != "and" { // of #a and #b "and" is left
			f.tags = append(f.tags, m[1])
		}
	}
	switch {
	case wordsOpen.MatchString(text):
	case wordsCompleted.MatchString(text):
		f.status = "completed"
	case wordsAll.MatchString(text):
		f.status = "all"
	}
	text, f.priority = takePriority(text)
	if f.priority == "" && wordsUrgent.MatchString(text) {
		f.priority = "high"
	}
	f.overdue = wordsOverdue.MatchString(text)
	text, f.days = takeRange(text, now)
	if f.status == "completed" {
		f.days = dayRange{} // a server tells when a todo is due, not when it was done
	}
	if m := aboutWords.FindStringSubmatch(text); m != nil {
		f.query, text = queryWords(m[1]), aboutWords.ReplaceAllString(text, "")
	}
	f.rest = text
	return f
}

// queryWords trims what is left after "about" to the words of a title.
func queryWords(text string) string {
	text = cleanTitle(text)
	if len(stems(text)) == 0 || listNouns.MatchString(text) {
		return ""
	}
	return text
}

// takeRange reads a range of days: this week is a week here, not its end.
func takeRange(text string, now time.Time) (string, dayRange) {
	s := readWords(text)
	today := midnight(now)
	week := monday(today)
	firstOfMonth := today.AddDate(0, 0, 1-today.Day())
	for i := range s.words {
		for _, r := range []struct {
			phrase string
			dayRange
		}{
			{"this week", dayRange{week, week.AddDate(0, 0, 6), "this week"}},
			{"next week", dayRange{week.AddDate(0, 0, 7), week.AddDate(0, 0, 13), "next week"}},
			{"weekend", dayRange{saturday(today), week.AddDate(0, 0, 6), "at the weekend"}},
			{"this month", dayRange{firstOfMonth, firstOfMonth.AddDate(0, 1, -1), "this month"}},
			{"next month", dayRange{firstOfMonth.AddDate(0, 1, 0), firstOfMonth.AddDate(0, 2, -1), "next month"}},
		} {
			if n := s.match(i, r.phrase); n > 0 {
				return s.without(i, i+n), r.dayRange
			}
		}
		if n := s.matchAny(i, "in the next", "over the next", "within the next", "the next", "within"); n > 0 {
			if sp, m := findSpan(s, i+n); m > 0 && sp.unit >= days {
				until, _ := sp.after(today)
				return s.without(i, i+n+m), dayRange{today, until, "until " + until.Format("Monday, 2 January")}
			}
		}
	}
	p, ok := findDue(s, now)
	if !ok {
		return text, dayRange{}
	}
	day := midnight(p.at)
	return s.without(p.from, p.to), dayRange{day, day, dayName(day, today)}
}

func dayName(day, today time.Time) string {
	switch {
	case day.Equal(today):
		return "today"
	case day.Equal(today.AddDate(0, 0, 1)):
		return "tomorrow"
	}
	return "on " + day.Format("Monday, 2 January")
}

// keep says whether a todo is among those that the phrase speaks of. Servers
// filter too, but not all of them by all of this.
func (f filter) keep(t todo, now time.Time) bool {
	switch {
	case f.status == "open" && t.done, f.status == "completed" && !t.done:
		return false
	case f.priority != "" && t.priority != "" && priorityOf(t.priority) != f.priority:
		return false
	case f.overdue && !t.overdue(now):
		return false
	case !f.days.from.IsZero() && !f.days.holds(t.due):
		return false
	case f.query != "" && newLooksFor(f.query).score(t) < enough:
		return false
	}
	return f.keepTags(t)
}

func (f filter) keepTags(t todo) bool {
	for _, want := range f.tags {
		if !slices.ContainsFunc(t.tags, func(tag string) bool { return strings.EqualFold(strings.TrimPrefix(tag, "#"), want) }) {
			return false
		}
	}
	return true
}

func (t todo) overdue(now time.Time) bool {
	if t.done || t.due.isZero() {
		return false
	}
	if t.due.timed {
		return t.due.at.Before(now)
	}
	return t.due.at.Before(midnight(now))
}

func (r dayRange) holds(d due) bool {
	if d.isZero() {
		return false
	}
	day := midnight(d.at)
	return !day.Before(r.from) && !day.After(r.to)
}

// restricted says whether f leaves anything out but by status.
func (f filter) restricted() bool {
	return f.priority != "" || len(f.tags) > 0 || f.overdue || !f.days.from.IsZero() || f.query != ""
}
