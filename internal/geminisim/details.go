package geminisim

import (
	"strings"
	"time"
	"unicode"
)

// draft is what a phrase says about a todo.
type draft struct {
	title       string
	description string
	due         due
	priority    string // "" where nothing was said
	tags        []string
}

// readDraft takes tags, reason, date and priority out of text; what is left, in
// the visitor's own words, is the title.
func readDraft(text string, now time.Time) draft {
	var d draft
	text, d.tags = takeHashTags(text)
	text, d.description = takeDescription(text)
	text, d.due = takeDue(text, now)
	text, tagged := takeNamedTags(text)
	d.tags = append(d.tags, tagged...)
	text, d.priority = takePriority(text)
	d.title = cleanTitle(text)
	return d
}

// readDrafts reads one todo, or several that each have a date of their own: eggs
// tomorrow and milk on Friday.
func readDrafts(text string, now time.Time) []draft {
	s := readWords(text)
	found := findPhrases(s, now)
	var drafts []draft
	start := 0
	for i, p := range found {
		next := s.at(p.to)
		if i == len(found)-1 || next != "and" && next != "," || found[i+1].from <= p.to+1 {
			continue
		}
		drafts = append(drafts, readDraft(text[start:s.words[p.to].from], now))
		start = s.words[p.to].to
	}
	return append(drafts, readDraft(text[start:], now))
}

func takeDue(text string, now time.Time) (string, due) {
	s := readWords(text)
	p, ok := findDue(s, now)
	if !ok {
		return text, due{}
	}
	return s.without(p.from, p.to), p.due
}

var hashTag = rawPattern(`#([\p{L}\p{N}_-]*\p{L}[\p{L}\p{N}_-]*)`) // #12 is a number

func takeHashTags(text string) (string, []string) {
	var tags []string
	for _, m := range hashTag.FindAllStringSubmatch(text, -1) {
		tags = append(tags, m[1])
	}
	return hashTag.ReplaceAllString(text, " "), tags
}

var namedTags = phrasePattern(`[,;]? ?\b(?:and )?(?:tagged|labell?ed|(?:with|using) (?:the |a )?(?:tags?|labels?)|tag it|label it)(?: as| with)?:? ((?:[\p{L}\p{N}_-]+)(?:(?:,| and|, and) [\p{L}\p{N}_-]+)*)[\s.!]*$`)

// takeNamedTags: tagged work and home.
func takeNamedTags(text string) (string, []string) {
	m := namedTags.FindStringSubmatchIndex(text)
	if m == nil {
		return text, nil
	}
	return text[:m[0]], splitItems(text[m[2]:m[3]])
}

var description = phrasePattern(`[,;]? (?:because|with (?:the )?(?:description|note)s?:?|(?:description|notes?|details):) (.+)$`)

// takeDescription: remind me to call Bob because it is his birthday.
func takeDescription(text string) (rest, said string) {
	m := description.FindStringSubmatchIndex(text)
	if m == nil || m[0] == 0 {
		return text, ""
	}
	return text[:m[0]], cleanEnds(text[m[2]:m[3]])
}

// priorityRule finds words that name a priority. value is "" where the first
// group of the pattern holds it.
type priorityRule struct {
	re    *pattern
	value string
}

const emphasis = `(?:really |very |super |quite |extremely |so )?`

// priorityRules in order: the first that fits decides, and all take their words
// out of the title. Adjectives count only at the end or before a colon, since in
// "read the important mail" they belong to the title.
var priorityRules = []priorityRule{
	{phrasePattern(`[,;(–—-]* ?\b(?:and |with |at |as |it's |make it )*(?:a |the )?(highest|high|top|lowest|low|medium|normal)[- ]?prio(?:rity)?\b\)?`), ""},
	{phrasePattern(`[,;(–—-]* ?\b(?:with |and )?prio(?:rity)?(?: is| to|:|=)? ?(highest|high|top|lowest|low|medium|normal|urgent)\b\)?`), ""},
	{rawPattern(`(?i)[,;(]*\s*\bp([123])\b\)?`), ""},
	{phrasePattern(`[,;(–—-]* ?\b(?:and |please )?(?:asap|as soon as possible|urgently|right away|immediately)\b\)?`), "high"},
	{phrasePattern(`[\s,;:.!(–—-]*\b(?:and |but )?(?:(?:it|this|that)(?:'s| is) |which is |as )?(?:not (?:that |so |very |really )?(?:urgent|important))[\s).!]*$`), "low"},
	{phrasePattern(`[\s,;:.!(–—-]*\b(?:and )?(?:(?:it|this|that)(?:'s| is) |which is |as )?` + emphasis + `(?:urgent|important|critical|crucial)[\s).!]*$`), "high"},
	{phrasePattern(`^[\s(]*` + emphasis + `(?:urgent|important|critical)\)?\s*[:,!–—-]+\s*`), "high"},
	{phrasePattern(`[,;(–—-]* ?\b(?:but )?(?:whenever(?: (?:i have|there is|there's|i find) (?:the )?time| possible| i can)?|someday|some day|(?:there's |there is )?no (?:rush|hurry)|at some point|eventually|(?:when|if) i (?:get|have|find) (?:a chance|the time|some time|time))\b\)?[\s.]*`), "low"},
	{rawPattern(`\s*!+\s*$|\s!+\s`), "high"},
}

func takePriority(text string) (rest, priority string) {
	for _, rule := range priorityRules {
		m := rule.re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		text = rule.re.ReplaceAllString(text, " ")
		if priority == "" {
			priority = rule.value
			if priority == "" {
				priority = priorityOf(m[1])
			}
		}
	}
	return text, priority
}

func priorityOf(w string) string {
	switch strings.ToLower(w) {
	case "highest", "high", "top", "urgent", "important", "critical", "1":
		return "high"
	case "lowest", "low", "3":
		return "low"
	}
	return "medium"
}

var (
	titleLead   = phrasePattern(`^(?:to|(?:that )?i (?:need|have|want|ought) to|(?:that )?i (?:should|must)|that|about|of|for me to|me to|also|and|saying|called|named|titled) `)
	danglingEnd = phrasePattern(` (?:and|with|as|due|by|but|is|are)$`)
	manyBlanks  = rawPattern(`\s+`)
	blankComma  = rawPattern(`\s+([,;.!?])`)
)

// cleanTitle trims what the removed words have left behind.
func cleanTitle(text string) string {
	text = manyBlanks.ReplaceAllString(text, " ")
	text = cleanEnds(blankComma.ReplaceAllString(text, "$1"))
	for range 3 { // "and also to"
		text = cleanEnds(titleLead.ReplaceAllString(text, ""))
		text = cleanEnds(danglingEnd.ReplaceAllString(text, ""))
	}
	return text
}

// cleanEnds trims blanks, quotes and stops, but no bracket or sign that may
// belong to the words.
func cleanEnds(text string) string {
	return strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`,;:.!?"“”„«»‘–—-`+"`", r)
	})
}

var itemSeparator = phrasePattern(`(?:,\s*and|;\s*and|,|;|\band\b|\n\s*(?:[-*•]|\d+[.)])?|&)\s*`)

// splitItems cuts an enumeration: milk, bread and eggs.
func splitItems(text string) []string {
	var items []string
	for _, item := range itemSeparator.Split(text, -1) {
		if item = cleanEnds(strings.TrimLeft(item, "*•- ")); item != "" {
			items = append(items, item)
		}
	}
	return items
}
