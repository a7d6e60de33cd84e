// This file reads results and arguments. JSON, tables and texts become objects and arrays, with the
// meaning of their members' names.

package numbers

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxWithin is how often JSON may stand in a string of JSON.
const maxWithin = 3

// place is where a value of JSON stands.
type place struct {
	object  *object // it is a member of; nil: of none
	array   *array  // it is an element of; nil: of none
	name    string  // of the member
	unit    unit    // of the members around it, if their names have one
	within  int     // how deep JSON stands in strings
	isAsked bool    // in arguments or the question
}

// readDocument reads JSON or any other text.
func (e *evidence) readDocument(text string, isAsked bool) {
	if e.readJSON(text, place{isAsked: isAsked}) {
		return
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if !isAsked {
		e.lines = append(e.lines, lines...)
	}
	if isAsked || !e.readTable(lines) {
		e.addText(text, place{isAsked: isAsked})
		return
	}
	e.texts = append(e.texts, text)
}

// readTable reads lines that are a table with a heading, and reports whether they are: as CSV, or
// with | between cells.
func (e *evidence) readTable(lines []string) bool {
	if len(lines) < 3 || holdsNumber(lines[0]) {
		return false
	}
	sep := ""
	for _, s := range [...]string{"|", "\t", ";", ","} {
		if sep == "" && strings.Contains(lines[0], s) {
			sep = s
		}
	}
	columns := 1 + strings.Count(lines[0], sep)
	if sep == "" || slices.ContainsFunc(lines, func(line string) bool { return 1+strings.Count(line, sep) != columns }) {
		return false
	}
	names := strings.Split(lines[0], sep)
	a := &array{}
	for _, line := range lines[1:] {
		if strings.Trim(line, "|-: +=") == "" {
			continue
		}
		if a.length++; e.stopped() {
			break
		}
		o := e.openObject(place{array: a})
		for i, cell := range strings.Split(line, sep) {
			at := place{object: o, name: strings.TrimSpace(names[i])}
			e.readCell(strings.TrimSpace(cell), at)
		}
	}
	e.arrays = append(e.arrays, a)
	return true
}

// readCell reads one of a table.
func (e *evidence) readCell(text string, at place) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		e.addNumber(text, at)
		return
	}
	e.addText(text, at)
}

// readJSON reads a text that is JSON, and reports whether it is.
func (e *evidence) readJSON(text string, at place) bool {
	trimmed := strings.TrimSpace(text)
	if at.within > maxWithin || trimmed == "" || !strings.ContainsRune(`{["-0123456789tfn`, rune(trimmed[0])) || !jsontext.Value(trimmed).IsValid(lenientOptions()) {
		return false
	}
	e.readValue(jsontext.NewDecoder(bytes.NewReader([]byte(trimmed)), lenientOptions()), at)
	return true
}

// lenientOptions reads JSON as tools write it: names twice, and half characters. Without it such a
// document would count as prose, and none of its facts could be asked for.
func lenientOptions() jsontext.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// readValue reads the next value. The JSON must be valid.
func (e *evidence) readValue(dec *jsontext.Decoder, at place) {
	token, err := dec.ReadToken()
	if err != nil {
		return
	}
	switch token.Kind() {
	case '{':
		e.readObject(dec, at)
	case '[':
		e.readArray(dec, at)
	case '"':
		s := token.String()
		inner := at
		inner.within++
		if len(s) > 1 && (s[0] == '{' || s[0] == '[') && e.readJSON(s, inner) {
			return
		}
		e.addText(s, at)
	case '0':
		e.addNumber(token.String(), at)
	case 't', 'f':
		if at.object != nil {
			at.object.labels = append(at.object.labels, label{at.name, token.String()})
		}
	}
}

// readObject reads an object. An object in an element of an array is part of the element.
func (e *evidence) readObject(dec *jsontext.Decoder, at place) {
	inner := place{within: at.within, isAsked: at.isAsked, object: at.object, unit: e.unitWithin(at)}
	prefix := ""
	if at.array == nil && at.object != nil && at.object.array != nil {
		prefix = at.name + "."
	} else {
		inner.object = e.openObject(at)
	}
	for dec.PeekKind() != '}' && !e.stopped() {
		token, err := dec.ReadToken()
		if err != nil {
			return
		}
		inner.name = prefix + token.String()
		e.memberOf(inner.name) // its words are of the evidence, whatever its value is
		e.readValue(dec, inner)
	}
	_, _ = dec.ReadToken()
}

// openObject opens an object. Objects of arguments are not recorded, because nothing is derived
// from them.
func (e *evidence) openObject(at place) *object {
	o := &object{holder: at.object, array: at.array}
	if at.array != nil {
		o.index = len(at.array.rows)
		at.array.rows = append(at.array.rows, o)
	}
	if !at.isAsked {
		e.objects = append(e.objects, o)
	}
	return o
}

// readArray reads an array. An array in another array is a row of a table.
func (e *evidence) readArray(dec *jsontext.Decoder, at place) {
	inner := place{within: at.within, isAsked: at.isAsked, unit: e.unitWithin(at), array: &array{holder: at.object, unit: e.unitWithin(at)}}
	if at.array != nil {
		inner.array, inner.object = nil, e.openObject(at)
	}
	length := 0
	for ; dec.PeekKind() != ']' && !e.stopped(); length++ {
		if inner.array == nil {
			inner.name = strconv.Itoa(length)
		}
		e.readValue(dec, inner)
	}
	_, _ = dec.ReadToken()
	if inner.array == nil || at.isAsked {
		return
	}
	e.addArray(inner.array, length, at)
}

// addArray records an array that has been read, and its length as an amount of its object.
func (e *evidence) addArray(a *array, length int, at place) {
	a.length = length
	e.arrays = append(e.arrays, a)
	if at.object != nil {
		at.object.amounts = append(at.object.amounts, amount{at.name, float64(length), memberKind{words: nameWords(at.name), unit: lengthUnit}})
	}
}

// memberNumber adds a number of an object.
func (e *evidence) memberNumber(v float64, at place) {
	k := e.memberOf(at.name)
	k.unit = e.unitOf(at)
	at.object.amounts = append(at.object.amounts, amount{at.name, v, k})
	if isHourName(lastOf(k.words)) && v >= 0 && v <= 24 {
		e.clocks[int(v)*60] = true
	}
}

// addNumber adds a number of JSON.
func (e *evidence) addNumber(s string, at place) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return
	}
	if digits := strings.TrimPrefix(s, "-"); len(digits) >= minChain && !strings.ContainsAny(digits, "eE.") {
		e.long[digits] = true
	}
	switch {
	case at.isAsked:
		e.itself.add(kind{}, v)
		e.askedNumbers = append(e.askedNumbers, v)
	case at.object != nil:
		e.memberNumber(v, at)
	case at.array != nil:
		e.itself.add(kind{row: true, unit: at.unit}, v)
		at.array.numbers = append(at.array.numbers, v)
	default:
		e.itself.add(kind{}, v)
	}
}

// unitOf returns the unit that the name of a value has, or a name around it.
func (e *evidence) unitOf(at place) unit {
	if at.name != "" {
		if k := e.memberOf(at.name); k.unit != "" {
			return k.unit
		}
	}
	return at.unit
}

// unitWithin returns the unit of the members of a value: that of a name as storage_gb, while
// days alone is what there are several of.
func (e *evidence) unitWithin(at place) unit {
	if at.name != "" && len(e.memberOf(at.name).words) < 2 {
		return at.unit
	}
	return e.unitOf(at)
}

// isHourName knows members that are an hour of the day.
func isHourName(word string) bool {
	switch word {
	case "hour", "stunde", "heure", "hora", "ora":
		return true
	}
	return false
}

// isPercentage knows members that are a percentage, or a share from 0 to 1.
func isPercentage(name string) bool {
	for _, part := range [...]string{"percent", "pct", "prozent", "humidity", "discount", "progress"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	for _, end := range [...]string{"chance", "ratio", "share", "_rate", "vat"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// memberOf returns the kind of a member's numbers, by its name.
func (e *evidence) memberOf(name string) memberKind {
	k, ok := e.members[name]
	if ok {
		return k
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	k = memberKind{words: nameWords(last)}
	k.unit = nameUnit(k.words)
	if k.unit == "" {
		k.unit = nameUnit(nameWords(strings.TrimSuffix(name, ".min"))) // a minimum
	}
	k.percent = isPercentage(strings.ToLower(last))
	switch lastOf(k.words) {
	case "id", "no", "nr", "number", "index", "rank", "position", "code", "zip", "phone", "port", "pid", "year", "since",
		"num", "numéro", "numero", "número", "nummer", "platz", "rang", "puesto", "posición", "posizione", "plz", "telefon", "jahr", "année", "año", "anno":
		k.isName = true
	}
	e.members[name] = k
	for _, word := range k.words {
		e.addToken(word)
	}
	return k
}

// lastOf returns the last word, or "".
func lastOf(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}
