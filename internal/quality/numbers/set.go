package numbers

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Set is a set of numbers in all their forms: 1200 is also 1,200 and 1.200. Its keys are the values
// of the readings of a number and, after "=", a grouped number as it is written.
type Set map[string]bool

// AddAll adds a JSON number, or all numbers of a JSON string. It reports whether there is one.
func (s Set) AddAll(v jsontext.Value) bool {
	switch v.Kind() {
	case '0':
		s.addLiteral(string(v))
		return true
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return false
		}
		eachNumber(string(text), s.add)
		return holdsNumber(string(text))
	}
	return false
}

// AddWhole adds a text that is a number, or the day of a text that begins with a date. It reports
// whether text is one of these.
func (s Set) AddWhole(text string) bool {
	if t, size, _ := timeAt(text, 4); size > 0 {
		s[strconv.Itoa(t.Day())], s["="+t.Format("02.01")], s["="+t.Format("2.1")] = true, true, true
		return true
	}
	only := false
	eachNumber(text, func(n *number) {
		if n.start == 0 && n.end == len(text) {
			only = true
			s.add(n)
		}
	})
	return only
}

// In reports whether a number of the text is in the set. It does not look at the words around it.
func (s Set) In(text string) bool {
	found := false
	eachNumber(text, func(n *number) {
		found = found || s.has(n) || slices.ContainsFunc(n.pieces(), s.has)
	})
	return found
}

// add adds all readings of a number: 1.234 is a thousand or a fraction.
func (s Set) add(n *number) {
	for _, read := range n.readings() {
		s[read.key] = true
	}
	if len(n.groups) > 1 {
		s["="+n.raw()] = true
	}
	for _, piece := range n.pieces() {
		s.add(piece)
	}
}

// addLiteral adds the one reading of a JSON number, without its sign.
func (s Set) addLiteral(literal string) {
	if v, err := strconv.ParseFloat(literal, 64); err == nil {
		whole, fraction, _ := strings.Cut(strconv.FormatFloat(math.Abs(v), 'f', -1, 64), ".")
		s[newReading(whole, fraction).key] = true
	}
}

// has reports whether a number may mean one of the set.
func (s Set) has(n *number) bool {
	for _, r := range n.readings() {
		if s[r.key] {
			return true
		}
	}
	return len(n.groups) > 1 && s["="+n.raw()]
}
