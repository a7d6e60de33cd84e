// This file collects what backs an answer: numbers, dates and texts of the question, of
// arguments and of results. It is made once for an answer and used by several checks.
// Numbers are kept by keys, which are equal for all ways to write a value; only results
// also keep values from which others may follow, since numbers of the question would make
// too many.

package check

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// evidence is what backs an answer: the results and arguments of tools, the question, the
// date.
//
// Its maps grow with the evidence. It is read only after it was made.
type evidence struct {
	texts []string // all that is text in it
	// keys are its numbers: as they are read, behind "=" as they are written, and behind "#"
	// long ones without what groups them.
	keys    map[string]bool
	values  []float64 // of its numbers, sorted
	dates   map[day]bool
	results []*result
	zone    *time.Location
	now     time.Time
}

// day is one of any year.
type day struct{ month, day int }

// result is what a tool answered.
type result struct {
	values   []float64   // of its numbers, sorted, each at most twice
	prose    []float64   // of numbers within its texts, which count if there are no others
	lengths  []float64   // of its arrays
	instants []time.Time // that it names
}

// Bounds of what is derived from one result: pairs grow with the square, and with many
// numbers any other one is derived from two of them by chance.
const (
	maxOperands = 128
	maxInstants = 64
)

// nearDays is how far from today a date may be that needs no other evidence.
const nearDays = 1

// evidence collects what the turn's tools have said, once for all checks.
//
// Arguments count as well: what the model asked for is known. The time of the answer is
// evidence for today and the days beside it.
func (in *Input) evidence() *evidence {
	f := in.found()
	if f.facts != nil {
		return f.facts
	}
	e := &evidence{keys: map[string]bool{}, dates: map[day]bool{}, zone: in.Now.Location(), now: in.Now}
	f.facts = e
	for _, call := range in.Evidence {
		e.document(call.Arguments, nil, 0)
		if call.Result != "" {
			r := new(result)
			e.document(call.Result, r, 0)
			r.tidy()
			e.results = append(e.results, r)
		}
	}
	e.text(in.Question, nil)
	if !in.Now.IsZero() {
		e.date(in.Now)
		for i := -nearDays; i <= nearDays; i++ {
			d := in.Now.AddDate(0, 0, i)
			e.dates[day{int(d.Month()), d.Day()}] = true
		}
	}
	slices.Sort(e.values)
	e.values = slices.Compact(e.values)
	return e
}

// tidy sorts values and drops repetitions. Numbers in prose count only where a
// result has no others.
//
// Each value stays twice, as the difference or the sum of two equal ones may be told.
func (r *result) tidy() {
	if len(r.values) == 0 {
		r.values = r.prose
	}
	slices.Sort(r.values)
	kept := r.values[:0]
	for i, v := range r.values {
		if i < 2 || v != r.values[i-2] {
			kept = append(kept, v)
		}
	}
	r.values = kept
}

// maxWithin is how often JSON may stand in a string of JSON.
const maxWithin = 3

// document reads JSON, or a text that is none.
//
// within is how deep JSON stands in strings. A text that is no valid JSON is read as prose.
func (e *evidence) document(text string, r *result, within int) {
	trimmed := strings.TrimSpace(text)
	if within > maxWithin || trimmed == "" || !strings.ContainsRune(`{["-0123456789tfn`, rune(trimmed[0])) || !jsontext.Value(trimmed).IsValid(lenient()) {
		e.text(text, r)
		return
	}
	dec := jsontext.NewDecoder(bytes.NewReader([]byte(trimmed)), lenient())
	for {
		switch kind := dec.PeekKind(); kind {
		case ']':
			if _, length := dec.StackIndex(dec.StackDepth()); r != nil {
				r.lengths = append(r.lengths, float64(length))
			}
			fallthrough
		case '{', '[', '}', 't', 'f', 'n':
			_, _ = dec.ReadToken() // it is valid
		case '"', '0':
			token, err := dec.ReadToken()
			if err != nil {
				return
			}
			if kind == '0' {
				e.literal(token.String(), r)
				continue
			}
			s := token.String()
			if len(s) > 1 && (s[0] == '{' || s[0] == '[') {
				e.document(s, r, within+1)
				continue
			}
			e.text(s, r)
		default:
			return // the end
		}
	}
}

// lenient reads JSON as tools write it: names twice, and half characters, whose document
// would count as prose else, so that none of its facts could be asked for.
func lenient() jsontext.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// literal adds a number of JSON, which means one thing only.
//
// Its sign is dropped, as words say it (a loss of 5).
func (e *evidence) literal(s string, r *result) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return
	}
	s = strings.TrimPrefix(s, "-")
	if strings.ContainsAny(s, "eE") {
		s = strconv.FormatFloat(math.Abs(v), 'f', -1, 64)
	}
	whole, fraction, _ := strings.Cut(s, ".")
	var operands *[]float64
	if r != nil {
		operands = &r.values
	}
	e.add(read(whole, fraction), operands)
	if len(whole) >= minChain {
		e.keys["#"+whole] = true
	}
}

// add notes a reading. operands, unless nil, collects what sums and differences
// are made of, within a bound.
//
// It is the only place that fills keys with readings of numbers.
func (e *evidence) add(read reading, operands *[]float64) {
	e.keys[read.key] = true
	e.values = append(e.values, read.value)
	if operands != nil && len(*operands) < maxOperands {
		*operands = append(*operands, read.value)
	}
}

// text adds what is in a text.
func (e *evidence) text(text string, r *result) {
	if text == "" {
		return
	}
	e.texts = append(e.texts, text)
	e.instants(text, r)
	chain := chain{text: text}
	eachNumber(text, func(n *number) {
		var operands *[]float64
		switch {
		case r == nil || isPart(text, n):
		case strings.Trim(text[:n.start], " $€£¥₹+-~") == "":
			operands = &r.values // the text is a quantity: "$1,200 each"
		default:
			operands = &r.prose
		}
		e.number(n, operands)
		for _, c := range chain.add(n) {
			e.keys["#"+c] = true
		}
		if at := monthNear(text, n); at > 0 && len(n.groups) == 1 && len(n.groups[0]) < 3 {
			d, _ := strconv.Atoi(n.groups[0])
			e.dates[day{at, d}] = true
			e.keys[strconv.Itoa(at)] = true
		}
	})
	for _, c := range chain.end() {
		e.keys["#"+c] = true
	}
}

// number notes all readings of a number: 1.234 is a thousand or a fraction.
func (e *evidence) number(n *number, operands *[]float64) {
	for _, read := range n.readings() {
		e.add(read, operands)
	}
	if len(n.groups) > 1 {
		e.keys["="+n.raw()] = true
	}
	for _, piece := range n.pieces() {
		e.number(piece, nil)
	}
}

// isPart says whether a number is part of a longer word: an identifier, a date, a version.
func isPart(text string, n *number) bool {
	if n.start > 0 && strings.IndexByte("-_/:", text[n.start-1]) >= 0 || n.start > 0 && isWord(rune(text[n.start-1])) {
		return true
	}
	return n.end < len(text) && strings.IndexByte("-_/:", text[n.end]) >= 0
}
