// This file reads a text as claims: amounts with their units, dates, times of day, pairs as 3:1,
// and tokens as INV-2031. An answer and the texts of its evidence are read alike, so that equal
// claims are found equal. The kind of a claim is not always certain: 7h58 is a time or a span. So a
// claim has forms, and one backed form is enough.

package numbers

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// form is a set of the kinds that a claim may have.
type form uint8

// Forms of claims.
const (
	asAmount form = 1 << iota
	asDate
	asClock
	asPair
	asToken
	asVersion
	asRank // an ordinal
)

// civil is a date; a part that is 0 is not known.
type civil struct{ year, month, day int }

// isDay reports whether there may be such a month and day.
func (d civil) isDay() bool { return d.month > 0 && d.month <= 12 && d.day > 0 && d.day <= 31 }

// clockTime is a time of day in minutes from midnight. twelve says that it may be 12 hours
// later as well.
type clockTime struct {
	minute int
	twelve bool
}

// claim is a number of a text, or several that are one thing.
type claim struct {
	start, end int // in the text
	forms      form
	means      [2]reading // of an amount
	meanings   int
	unit       unit
	scale      float64 // of "million"; 1: none
	rounded    sense   // near, over, under
	percent    bool
	negative   bool
	date       civil
	clock      clockTime
	hasSeconds bool           // the clock has seconds and may be a span as well
	zone       *time.Location // of a clock; nil: none is named
}

// claimsIn reads a text. skip, unless nil, says which numbers claim nothing; it is called in
// order.
func claimsIn(text string, skip func(*number) bool) []claim {
	s := scanner{text: text, list: make([]claim, 0, countNumbers(text))}
	eachNumber(text, func(n *number) {
		if n.start < s.end || skip != nil && skip(n) {
			return
		}
		s.readClaim(n)
	})
	s.joinNeighbours()
	return s.list
}

// countNumbers is about how many numbers a text has.
func countNumbers(text string) int {
	count := 0
	for i := range len(text) {
		if isDigitByte(text[i]) && (i == 0 || !isDigitByte(text[i-1])) {
			count++
		}
	}
	return count
}

// scanner collects the claims of a text.
type scanner struct {
	text string
	list []claim
	end  int // of the last claim
}

// readClaim reads the claim that begins with a number.
func (s *scanner) readClaim(n *number) {
	_ = s.readToken(n) || s.readTimestamp(n) || s.readClockTime(n) || s.readPair(n) || s.readWrittenDate(n) || s.readAmount(n)
}

// addClaim adds a claim.
func (s *scanner) addClaim(c claim) bool {
	s.list = append(s.list, c)
	s.end = max(s.end, c.end)
	return true
}

// isTokenRune reports whether r may be part of a token. Letters without case are excluded, since
// words of their languages touch numbers without a space.
func isTokenRune(r rune) bool {
	return r == '-' || r == '_' || '0' <= r && r <= '9' || unicode.IsUpper(r) || unicode.IsLower(r)
}

// readToken reads letters and digits that are one word: INV-2031, p95. Money is none: EUR50.
func (s *scanner) readToken(n *number) bool {
	low := max(0, n.start-maxAround)
	before := s.text[low:n.start]
	start := low + strings.LastIndexFunc(before, func(r rune) bool { return !isTokenRune(r) })
	if start >= low {
		_, size := utf8.DecodeRuneInString(s.text[start:])
		start += size
	} else {
		start = low
	}
	if start < s.end { // 9h15 is not 9 and a token
		return false
	}
	word := strings.TrimLeft(s.text[start:n.start], "-_")
	end := tokenEnd(s.text, n.end)
	if word == "" {
		letters := firstWord(s.text[n.end:end])
		isMixed := isSeat(s.text[n.start:end], letters) || end > n.end+len(letters) && letters != "" && isDigitByte(s.text[n.end+len(letters)]) && unitOf(letters) == "" && letters != "x"
		if !isMixed && !isDimension(strings.ToLower(s.text[n.start:end])) {
			return false
		}
		return s.addClaim(claim{start: n.start, end: end, forms: asToken})
	}
	if letters := firstWord(word); letters == "" || letters == "x" || isCurrency(letters) {
		return false
	}
	return s.addClaim(claim{start: n.start - len(word), end: end, forms: asToken})
}

// isSeat reports whether a word is digits and one or two capitals that do not name a unit: 32A.
func isSeat(word, letters string) bool {
	last := word[len(word)-len(letters):]
	if letters == "" || len(letters) > 2 || last != strings.ToUpper(letters) || strings.ToLower(last) != letters {
		return false
	}
	return unitOf(letters) == "" && scaleOf(letters) == 0 && !slices.Contains([]string{"am", "pm", "th", "st", "x"}, letters)
}

// tokenEnd returns where a token ends that a text has at a place.
func tokenEnd(text string, at int) int {
	end := len(text)
	if i := strings.IndexFunc(text[at:], func(r rune) bool { return !isTokenRune(r) }); i >= 0 {
		end = at + i
	}
	return at + len(strings.TrimRight(text[at:end], "-_"))
}

// readMonth reads a month of ISO 8601, whose year is n.
func (s *scanner) readMonth(n *number) bool {
	month, end := digitsAt(s.text, n.end+1)
	if len(month) != 2 || month > "12" || month == "00" {
		return false
	}
	return s.addClaim(claim{start: n.start, end: end, forms: asDate, date: civil{valueOf(n.groups[0]), valueOf(month), 0}})
}

// readTimestamp reads a date of ISO 8601, with a time if there is one, or a month of it.
func (s *scanner) readTimestamp(n *number) bool {
	if len(n.groups) > 1 || len(n.groups[0]) != 4 || !strings.HasPrefix(s.text[n.end:], "-") {
		return false
	}
	t, size, hasZone := timeAt(s.text, n.end)
	if size == 0 {
		return s.readMonth(n)
	}
	c := claim{start: n.start, end: n.end + size, forms: asDate, date: civil{t.Year(), int(t.Month()), t.Day()}}
	if hasZone {
		c.zone = t.Location()
	}
	if size > len("-01-02") {
		c.forms |= asClock
		c.clock = clockTime{t.Hour()*60 + t.Minute(), false}
	}
	return s.addClaim(c)
}

// valueOf is the value of a few digits.
func valueOf(digits string) int {
	v := 0
	for _, c := range []byte(digits[:min(9, len(digits))]) {
		v = v*10 + int(c-'0')
	}
	return v
}

// readWrittenDate reads a date as people write it.
func (s *scanner) readWrittenDate(n *number) bool {
	if n.isDate() && n.seps[0] == '.' && n.seps[1] == '.' {
		d := dateOf(valueOf(n.groups[0]), valueOf(n.groups[1]), valueOf(n.groups[2]))
		if d.isDay() {
			return s.addClaim(claim{start: n.start, end: n.end, forms: asDate, date: d})
		}
	}
	if len(n.groups) > 1 {
		return false
	}
	value := valueOf(n.groups[0])
	if rest, ok := strings.CutPrefix(s.text[n.end:], "月"); ok && value <= 12 {
		d, end := digitsAt(rest, 0)
		return s.addClaim(claim{start: n.start, end: len(s.text) - len(rest) + end, forms: asDate, date: civil{0, value, valueOf(d)}})
	}
	if len(n.groups[0]) > 2 || value < 1 || value > 31 {
		return false
	}
	if month := monthNear(s.text, n); month > 0 && !isBeforeVerb(s.text[n.end:]) && !s.isAmountHere(n) {
		return s.addClaim(claim{start: n.start, end: n.end, forms: asDate, date: civil{0, month, value}})
	}
	return false
}

// isBeforeVerb reports whether a word follows that is a month in one language and another word in
// English: 2 out of 3, 4 may be late.
func isBeforeVerb(rest string) bool {
	for _, word := range [...]string{" out of ", " may ", " set ", " ago"} {
		if strings.HasPrefix(rest, word) {
			return true
		}
	}
	return false
}

// isAmountHere reports whether a unit or the like stands behind a number.
func (s *scanner) isAmountHere(n *number) bool {
	c := claim{end: n.end}
	c.readUnit(s.text)
	return c.percent || c.unit != "" && c.unit != "s"
}

// dateOf orders the parts of a date: the year is first or last.
func dateOf(a, b, c int) civil {
	if a > 31 {
		a, c = c, a
	}
	if c < 100 {
		c += 2000
	}
	return civil{c, b, a}
}

// readClockTime reads a time of day: 9:15, 9.15 Uhr, 5 p.m.
func (s *scanner) readClockTime(n *number) bool {
	c := claim{start: n.start, end: n.end, forms: asClock}
	h, m, hasMinutes := valueOf(n.groups[0]), 0, false
	if len(n.groups[0]) > 2 || h > 24 || len(n.groups) > 2 {
		return false
	}
	if len(n.groups) == 2 {
		if m = valueOf(n.groups[1]); len(n.groups[1]) != 2 || n.seps[0] != '.' || m > 59 {
			return false
		}
	} else if strings.HasPrefix(s.text[n.end:], ":") {
		if d, end := digitsAt(s.text, n.end+1); len(d) == 2 && d < "60" {
			m, hasMinutes = valueOf(d), true
			c.hasSeconds, c.end = secondsAt(s.text, end)
		}
	}
	c.clock = clockTime{h*60 + m, h <= 12}
	if !c.readHalf(s.text) && !hasMinutes {
		return false
	}
	return s.addClaim(c)
}

// secondsAt reports whether :59 stands at a place, and where it ends.
func secondsAt(text string, at int) (bool, int) {
	if !strings.HasPrefix(text[at:], ":") {
		return false, at
	}
	if d, end := digitsAt(text, at+1); len(d) == 2 {
		return true, end
	}
	return false, at
}

// readHalf reads the mark of a time of day: am, p.m., Uhr. It reports whether there was something.
func (c *claim) readHalf(text string) bool {
	behind := text[c.end:min(len(text), c.end+maxAround)]
	rest := strings.TrimLeft(behind, " \u00a0\u202f")
	word := strings.ToLower(rest[:min(len(rest), 4)])
	switch {
	case strings.HasPrefix(word, "a.m."), strings.HasPrefix(word, "am") && firstWord(rest) == "am":
		c.clock = clockTime{c.clock.minute % 720, false}
	case strings.HasPrefix(word, "p.m."), strings.HasPrefix(word, "pm") && firstWord(rest) == "pm":
		c.clock = clockTime{c.clock.minute%720 + 720, false}
	default:
		return isOClock(rest)
	}
	c.end += len(behind) - len(rest) + 2
	return true
}

// isOClock reports whether a text begins with Uhr or o'clock.
func isOClock(text string) bool {
	word := firstWord(text)
	return word == "uhr" || word == "o" && (strings.HasPrefix(text, "o'clock") || strings.HasPrefix(text, "o’clock"))
}

// readPair reads numbers that signs join: 3:1, 32/40, 11/27.
func (s *scanner) readPair(n *number) bool {
	parts := [3]int{valueOf(n.groups[0])}
	count, end, sign := 1, n.end, ":/-" // or one of them
	for end+1 < len(s.text) && strings.IndexByte(sign, s.text[end]) >= 0 && isDigitByte(s.text[end+1]) {
		d, next := digitsAt(s.text, end+1)
		sign = s.text[end : end+1]
		if count < len(parts) {
			parts[count] = valueOf(d)
		}
		count++
		end = next
	}
	if count == 1 || sign == "-" && monthOf(firstWord(strings.TrimLeft(s.text[end:min(len(s.text), end+maxAround)], " ."))) > 0 {
		return false
	}
	c := claim{start: n.start, end: end, forms: asPair}
	if sign == "/" && len(n.groups) == 1 {
		switch {
		case count == 2 && min(parts[0], parts[1]) <= 12 && max(parts[0], parts[1]) <= 31:
			c.forms |= asDate
			c.date = civil{0, parts[0], parts[1]}
		case count == 3:
			c.forms = asDate
			c.date = dateOf(parts[0], parts[1], parts[2])
		}
	}
	return s.addClaim(c)
}

// readAmount reads a claim of no other kind.
func (s *scanner) readAmount(n *number) bool {
	c := claim{start: n.start, end: n.end, forms: asAmount, scale: 1}
	c.meanings = copy(c.means[:], n.readings())
	if c.meanings == 0 && !slices.ContainsFunc(n.seps, func(r rune) bool { return r != '.' }) {
		c.forms = asVersion
	}
	c.readBefore(s.text)
	if len(n.groups) == 1 && len(n.groups[0]) < 3 {
		s.readRank(&c, n)
		if before := s.text[:n.start]; len(n.groups[0]) == 2 && (strings.HasSuffix(before, "'") || strings.HasSuffix(before, "’")) {
			c.means[0].value += 2000 // a year
		}
	}
	c.readUnit(s.text)
	if len(n.groups) == 2 {
		c.readDotted(n)
	}
	v := c.means[0].value
	if c.forms&asAmount != 0 && len(n.groups) == 1 && v <= 24 && (c.unit == hour || c.isBare() && s.isBehindTimeWord(n)) {
		c.forms |= asClock
		c.clock = clockTime{int(v) * 60, v <= 12}
	}
	return s.addClaim(c)
}

// isBare reports whether an amount has neither a unit nor a scale.
func (c *claim) isBare() bool { return c.unit == "" && !c.percent && c.scale == 1 }

// readDotted reads 24.11 as a date, and 9.15 as a time of day, as well.
func (c *claim) readDotted(n *number) {
	a, b := valueOf(n.groups[0]), valueOf(n.groups[1])
	if n.seps[0] != '.' || len(n.groups[0]) > 2 || len(n.groups[1]) > 2 {
		return
	}
	if c.isBare() && a <= 31 && b <= 12 {
		c.forms |= asDate
		c.date = civil{0, b, a}
	}
	if a <= 24 && b < 60 && len(n.groups[1]) == 2 {
		c.forms |= asClock
		c.clock = clockTime{a*60 + b, a <= 12}
	}
}

// isBehindTimeWord reports whether the word before a number stands before times of day, and none
// behind it that is counted.
func (s *scanner) isBehindTimeWord(n *number) bool {
	before := strings.TrimRight(s.text[max(0, n.start-maxAround):n.start], " \u00a0")
	return senseOf(lastWord(before))&atTime != 0
}

// readRank reads an ordinal: 3rd, 3. before a small letter, 3º. Behind a weekday a number is the
// day of a month.
func (s *scanner) readRank(c *claim, n *number) {
	rest := s.text[n.end:min(len(s.text), n.end+maxAround)]
	word := firstWord(rest)
	switch word {
	case "st", "nd", "rd", "th", "er", "ère", "re", "e", "ème", "ste", "te", "º", "ª":
		c.forms |= asRank
	}
	if after, ok := strings.CutPrefix(rest, ". "); ok {
		r, _ := utf8.DecodeRuneInString(after)
		if unicode.IsLower(r) {
			c.forms |= asRank
		}
	}
	before := strings.TrimRight(s.text[max(0, n.start-maxAround):n.start], " ,.\u00a0")
	last := lastWord(before)
	if senseOf(last)&article != 0 {
		last = lastWord(strings.TrimRight(before[:len(before)-len(last)], " ,.\u00a0"))
	}
	if c.forms&asRank != 0 || senseOf(last)&weekday != 0 {
		c.forms |= asDate
		c.date = civil{0, 0, valueOf(n.groups[0])}
	}
}

// shareBack makes the beginning of each range a date or a time of day, if its end is one.
func (s *scanner) shareBack() {
	for i := len(s.list) - 2; i >= 0; i-- {
		if s.isRange(i) {
			s.list[i].shareKind(&s.list[i+1])
		}
	}
}

// joinNeighbours reads neighbours together: 7 h 12 min is one amount, and 24 of 24–27 November is a
// date as 27 is.
func (s *scanner) joinNeighbours() {
	s.shareBack()
	list := s.list[:0]
	for i := range s.list {
		c := s.list[i]
		last := len(list) - 1
		if last >= 0 && s.isSpan(&list[last], &c) {
			list[last].joinSpan(&c)
			continue
		}
		if i > 0 && s.isRange(i-1) {
			c.shareKind(&s.list[i-1])
			s.list[i].forms, s.list[i].date = c.forms, c.date
		}
		list = append(list, c)
	}
	s.list = list
}

// isBefore reports whether b follows c near by.
func (c *claim) isBefore(b *claim) bool { return b.start >= c.end && b.start-c.end <= maxAround }

// isRange reports whether only a word or sign of a range stands between a claim and the next.
func (s *scanner) isRange(i int) bool {
	a, b := &s.list[i], &s.list[i+1]
	if !a.isBefore(b) {
		return false
	}
	between := strings.ToLower(strings.Trim(s.text[a.end:b.start], " .,\u00a0"))
	switch between {
	case "-", "–", "—", "&", "/":
		return true
	}
	between = strings.TrimPrefix(between, "uhr ")
	word := firstWord(between)
	rest := strings.TrimLeft(between[len(word):], " ")
	return word != "" && senseOf(word)&joint != 0 && (rest == "" || senseOf(rest)&(article|joint) != 0)
}

// shareKind makes a plain number a date or a time of day, if the other one is.
func (c *claim) shareKind(other *claim) {
	v := int(c.means[0].value)
	if c.forms&asAmount == 0 || c.unit != "" && c.unit != hour || c.percent || c.means[0].decimals > 0 || c.meanings == 0 {
		return
	}
	switch {
	case other.forms == asDate && other.date.day > 0 && v > 0 && v <= 31:
		c.forms = asDate
		c.date = civil{0, other.date.month, v}
	case other.forms == asClock && v <= 24:
		c.forms |= asClock
		c.clock = clockTime{v * 60, v <= 12}
	}
}

// namesUnit reports whether a word is a unit, or begins with it in a language without spaces.
func namesUnit(word string, u unit) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unitOf(word) == u || counterUnitOf(r) == u
}

// isSpan reports whether b continues with the span of time of a: 7 h 12 min, 7h12m, 1 h 58.
func (s *scanner) isSpan(a, b *claim) bool {
	smaller := smallerOf(a.unit)
	if smaller == "" || !a.isBefore(b) || !a.fitsBefore(b) {
		return false
	}
	between := strings.ToLower(strings.TrimSpace(s.text[a.end:b.start]))
	word, rest, _ := strings.Cut(strings.TrimRight(between, "."), " ")
	isUnit := namesUnit(word, a.unit)
	if b.unit == smaller || smaller == minute && b.unit == "m" {
		return word == "" || isUnit && (rest == "" || senseOf(strings.TrimSpace(rest))&joint != 0)
	}
	return b.isBare() && b.end-b.start == 2 && isUnit && rest == "" && (word == "h" || s.endsAt(b.end))
}

// fitsBefore reports whether a and b can be the whole hours, say, and the minutes of one span.
func (a *claim) fitsBefore(b *claim) bool {
	return a.forms&b.forms&asAmount != 0 && b.means[0].value < 60 && a.means[0].decimals <= 0
}

// smallerOf returns the next smaller unit of a span, or "".
func smallerOf(u unit) unit {
	switch u {
	case day:
		return hour
	case hour:
		return minute
	case minute:
		return "s"
	}
	return ""
}

// endsAt reports whether no word follows at a place.
func (s *scanner) endsAt(at int) bool {
	return at == len(s.text) || strings.IndexByte(" .,;)\n", s.text[at]) >= 0 && firstWord(strings.TrimLeft(s.text[at:], " ")) == ""
}

// joinSpan makes one amount of a span and what continues with it.
func (c *claim) joinSpan(b *claim) {
	size := 60.0
	if c.unit == day {
		size = 24
	}
	h, m := c.means[0].value, b.means[0].value
	if c.unit == hour && h <= 24 {
		c.forms |= asClock
		c.clock = clockTime{int(h)*60 + int(m), h <= 12}
	}
	c.means[0], c.meanings = reading{value: h*size + m}, 1
	c.unit, c.end = smallerOf(c.unit), b.end
	c.rounded |= b.rounded
}
