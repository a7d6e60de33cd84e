// This file collects the evidence for an answer: numbers, dates, times and tokens of the question,
// arguments and results. It also collects the objects and arrays of results, for derived values. It
// is made once for an answer and used by several checks.

package numbers

import (
	"math"
	"slices"
	"strings"
	"time"
)

// evidence is what backs an answer: the results and arguments of tools, the question, the
// date.
//
// Its maps grow with the evidence. It does not change after newEvidence, except for the derived
// values: the first number that needs them creates them.
type evidence struct {
	texts        []string // all that is text in it
	itself       pool
	long         map[string]bool       // digits of long numbers, without what groups them
	dates        map[civil]bool        // also without their year, and with nothing but their day
	clocks       map[int]bool          // in minutes of a day
	inUTC        map[int]bool          // of those with a zone
	tokens       map[string]bool       // in lower case, without hyphens
	prefixes     map[string]bool       // the letters that they begin with
	pairs        map[string]bool       // as they are written
	versions     map[string]bool       // as they are written
	afterWord    map[string][]float64  // the numbers that stand right behind a word
	members      map[string]memberKind // by name
	askedNumbers []float64             // numbers of the question and of arguments
	objects      []*object
	arrays       []*array
	lines        []string // of results that are plain text
	zone         *time.Location
	now          time.Time
	stopped      func() bool // whether nobody waits for the outcome any more

	lazy
}

// lazy is what few checks need of an evidence. It is nil until it is asked for.
type lazy struct {
	// These are nil until they are needed.
	results *derived
	holders map[float64][]*object
	words   map[string]bool // in lower case
}

// object is one of a result. A nested object in an element of an array is part of the element.
type object struct {
	holder  *object // it is a member of; nil: none
	array   *array  // it is an element of; nil: none
	index   int     // among the objects of array
	amounts []amount
	labels  []label // its texts and truth values
	times   []instant
}

// amount is a number of an object.
type amount struct {
	name  string
	value float64
	memberKind
}

// memberKind is the kind of a member's numbers, by its name.
type memberKind struct {
	words   []string
	unit    unit
	percent bool
	isName  bool // such as id: nothing is computed from it
}

// label is a member that is not a number.
type label struct{ name, value string }

// instant is a time that an object has; in the year 0 it is a time of any day.
type instant struct {
	name string
	time.Time
}

// array is one of a result.
type array struct {
	holder  *object // it is a member of; nil: none
	length  int
	rows    []*object // its elements that are objects, or arrays
	numbers []float64 // its elements that are numbers
	unit    unit      // of these
}

// maxNearRows is the largest number of elements of an array that are all near.
const maxNearRows = 5

// isNear reports whether an object is one that each sentence may speak of.
func (o *object) isNear() bool {
	for o.array != nil {
		if o.array.length > maxNearRows {
			return false
		}
		if o.array.holder == nil {
			break
		}
		o = o.array.holder
	}
	return true
}

// nearDays is the distance from today, in days, of dates that are evidence by themselves.
const nearDays = 1

// newEvidence reads the sources of an answer. Arguments count as well: the model has asked for them.
func newEvidence(in *Sources) *evidence {
	e := &evidence{
		itself: pool{}, long: map[string]bool{}, dates: map[civil]bool{}, clocks: map[int]bool{}, inUTC: map[int]bool{}, tokens: map[string]bool{}, prefixes: map[string]bool{}, pairs: map[string]bool{},
		versions: map[string]bool{}, afterWord: map[string][]float64{}, members: map[string]memberKind{}, zone: in.Now.Location(), now: in.Now, stopped: in.Watch.IsOver,
	}
	for _, call := range in.Calls {
		e.readDocument(call.Arguments, true)
		e.readDocument(call.Result, false)
	}
	e.addText(in.Question, place{isAsked: true})
	for i := -nearDays; i <= nearDays && !in.Now.IsZero(); i++ {
		y, m, d := in.Now.AddDate(0, 0, i).Date()
		e.addDate(civil{y, int(m), d})
	}
	for _, o := range e.objects {
		e.addAmounts(o)
	}
	e.itself.sort()
	slices.Sort(e.askedNumbers)
	return e
}

// addAmounts records those of an object as values of the evidence.
func (e *evidence) addAmounts(o *object) {
	for _, a := range o.amounts {
		k := kind{unit: a.unit, near: o.isNear(), row: o.array != nil, percent: a.percent, isName: a.isName}
		if !a.isLength() {
			e.itself.add(k, a.value)
		}
	}
}

// addText adds the content of a text.
func (e *evidence) addText(text string, at place) {
	if text == "" {
		return
	}
	e.texts = append(e.texts, text)
	if at.object != nil {
		at.object.labels = append(at.object.labels, label{at.name, text})
	}
	if !holdsNumber(text) {
		return
	}
	for _, digits := range chainsIn(text) {
		e.long[digits.digits] = true
	}
	list := claimsIn(text, func(*number) bool { return e.stopped() })
	for i := range list {
		e.addClaim(text, &list[i], at)
	}
	if len(list) == 1 && list[0].forms&asAmount != 0 && list[0].meanings > 0 && at.object != nil && !at.isAsked {
		c := &list[0]
		if strings.Trim(text[:c.start], " $€£¥₹+-−~") == "" && len(text)-c.end <= maxQuantity {
			k := e.memberOf(at.name)
			if k.percent = k.percent || c.percent; k.unit == "" {
				k.unit = c.unit
			}
			at.object.amounts = append(at.object.amounts, amount{at.name, c.signedValue(c.means[0]), k})
		}
	}
}

// maxQuantity is how much may stand behind the number of a text that is a quantity.
const maxQuantity = 12

// addClaim adds one of a text.
func (e *evidence) addClaim(text string, c *claim, at place) {
	raw := text[c.start:c.end]
	if c.forms&asAmount != 0 {
		for _, r := range c.means[:c.meanings] {
			v := c.signedValue(r)
			e.itself.add(kind{unit: c.unit, percent: c.percent}, v)
			if at.isAsked && len(e.askedNumbers) < maxAsked {
				e.askedNumbers = append(e.askedNumbers, v)
			}
			word := lastWord(strings.TrimRight(text[max(0, c.start-maxAround):c.start], " #"))
			if word != "" {
				e.afterWord[word] = append(e.afterWord[word], v)
			}
		}
		eachNumber(raw, func(n *number) {
			for _, piece := range n.pieces() {
				for _, r := range piece.readings() {
					e.itself.add(kind{}, r.value)
				}
			}
		})
	}
	if c.forms&(asDate|asClock) != 0 {
		e.addInstant(c, raw, at)
	}
	if c.forms&asPair != 0 {
		e.pairs[raw] = true
		eachNumber(raw, func(n *number) {
			for _, r := range n.readings() {
				e.itself.add(kind{}, r.value)
			}
		})
	}
	if c.forms&asToken != 0 {
		e.addToken(raw)
	}
	if c.forms&asVersion != 0 {
		e.versions[raw] = true
	}
}

// maxAsked is how many numbers of the question others are derived from.
const maxAsked = 16

// addToken records a word that has letters and digits.
func (e *evidence) addToken(word string) {
	word = plainToken(word)
	e.tokens[word] = true
	if letters := firstWord(word); len(letters) < len(word) {
		e.prefixes[letters] = true
	}
}

// plainToken is a token as it is compared.
func plainToken(word string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return -1
		}
		return r
	}, word))
}

// addDate adds a date, also in the forms that an answer may shorten it to.
func (e *evidence) addDate(d civil) {
	e.dates[d] = true
	e.dates[civil{0, d.month, d.day}] = true
	if d.day > 0 {
		e.dates[civil{0, 0, d.day}] = true
		e.dates[civil{d.year, d.month, 0}] = true
		e.dates[civil{0, d.month, 0}] = true
	}
	if d.year == 0 {
		e.dates[civil{anyYear, d.month, d.day}] = true
		return
	}
	e.itself.add(kind{isName: true}, float64(d.year))
}

// anyYear is the year of a date that is written without one.
const anyYear = -1

// addInstant records a date or a time, as it is written, as a clock of the reader shows it, and in
// UTC.
func (e *evidence) addInstant(c *claim, raw string, at place) {
	h, m := c.clock.minute/60, c.clock.minute%60
	t := time.Date(c.date.year, time.Month(max(1, c.date.month)), max(1, c.date.day), h, m, 0, 0, e.zone)
	if c.zone != nil {
		t = time.Date(c.date.year, time.Month(c.date.month), c.date.day, h, m, 0, 0, c.zone)
	}
	if c.forms&asDate != 0 {
		e.addDate(c.date)
		if c.forms&asPair != 0 {
			e.addDate(civil{0, c.date.day, c.date.month})
		}
	}
	if c.forms&asClock != 0 {
		e.clocks[c.clock.minute] = true
		if _, seconds, ok := strings.Cut(raw, "T"); ok {
			raw = seconds
		}
		e.pairs[plainSpan(raw)] = true
	}
	if c.zone != nil && c.forms&asClock != 0 {
		local := t.In(e.zone)
		e.addDate(civil{local.Year(), int(local.Month()), local.Day()})
		e.clocks[local.Hour()*60+local.Minute()] = true
		e.inUTC[t.UTC().Hour()*60+t.UTC().Minute()] = true
	}
	if at.object != nil && c.forms&asAmount == 0 && len(at.object.times) < maxInstants && (c.date.year > 0 || c.forms&asDate == 0) {
		at.object.times = append(at.object.times, instant{at.name, t})
	}
}

// plainSpan is a time of hours, minutes and seconds, without zeros that it begins with.
func plainSpan(raw string) string {
	return strings.TrimLeft(raw[:min(len(raw), len("00:00:00"))], "0:")
}

// maxInstants is how many times of an object spans are derived from.
const maxInstants = 8

// compareDay reports whether a date lies before, on or after the day of the answer: -1, 0, 1.
func (e *evidence) compareDay(t time.Time) int {
	a, b := dayNumber(t.In(e.zone)), dayNumber(e.now)
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// hasWord reports whether a word in lower case stands somewhere in the evidence, or in the name of
// a member.
func (e *evidence) hasWord(word string) bool {
	if e.words == nil {
		e.words = map[string]bool{}
		for _, k := range e.members {
			for _, part := range k.words {
				e.words[part] = true
			}
		}
		for _, text := range e.texts {
			for _, part := range strings.FieldsFunc(text, func(r rune) bool { return !ofWord(r) }) {
				e.words[strings.ToLower(part)] = true
			}
		}
	}
	return e.words[word]
}

// withValue returns the objects that have an amount.
func (e *evidence) withValue(v float64) []*object {
	if e.holders == nil {
		e.holders = map[float64][]*object{}
		for _, o := range e.objects {
			for _, a := range o.amounts {
				e.holders[a.value] = append(e.holders[a.value], o)
			}
		}
	}
	return e.holders[v]
}

// dayNumber counts days, so that the difference of two is exact across changes of the clock.
func dayNumber(t time.Time) int64 {
	y, m, d := t.Date()
	return int64(math.Floor(float64(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()) / 86400))
}
