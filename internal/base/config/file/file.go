// Package file reads the configuration file: YAML 1.2, of which JSON is a part.
//
// It does not know the sections: each package registers its own Section, and the program joins them
// to a Table. One Read checks the file and lists every fault at once, each with its line and
// column. Faults and warnings never contain a value, which may be a secret.
//
// The order of work: YAML is parsed to a tree with places, and variables are filled in. The JSON
// Schemas of the sections check the tree. Then each Section is decoded into a struct. It reports
// faults that a schema cannot find at Nodes, which know their places. A Node with a fault behaves
// as if it were absent, so a reader needs no checks of its own.
//
// The size of a file, its depth and the work of aliases are bounded, because a
// file may be made by a program.
//
// Verbs: parse (YAML), read (a node), set (a field), check (the schema), add (a fault).
package file

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"sluice/internal/base/config"
)

// Bounds of a file.
const (
	maxSize = 1 << 20
	// maxDepth is how deep objects and lists may be nested. Deeper values would only use up the
	// stack.
	maxDepth = 64
	// maxAliased is how many nodes all aliases together may stand for.
	maxAliased = 10_000
	// maxKeys is how many keys a file may have.
	maxKeys = 10_000
	// maxKey is the length of a key in bytes.
	maxKey = 1 << 10
	// maxNumber is the length of a number's text.
	maxNumber = 64
)

// Section is a key at the top of the file. A package that can be set by a file has a
// function that returns one.
type Section struct {
	// Name is the key, unique in a Table.
	Name string
	// Schema is the JSON Schema (2020-12) of the value, an object. References in it begin with
	// "#/properties/<Name>/". If a pattern needs an explanation, it stands in patternErrorMessage,
	// which editors show as well.
	Schema string
	// Into, unless nil, points to the struct that the value is decoded into: see Node.Decode. It is
	// decoded before Read is called.
	Into any
	// Read gets the value, which is present and has passed the schema. If a part of it has a fault
	// already, the accessors of its Node return false. It reports faults that a schema cannot find.
	// nil if there are no such faults.
	Read func(value *Node)
}

// Table is all that may stand in a file, in the order in which sections are read.
type Table []Section

// Result holds the faults and warnings of a Read.
type Result struct {
	// Faults are in the order of the file; their Name is file:line:column.
	Faults []config.Fault
	// Warnings are lines of the form of a fault.
	Warnings []string
}

// Read parses and checks a file, decodes each section that is there and hands it to its
// Read. name is the file's, for people.
func (t Table) Read(name string, content []byte, from config.Sources) Result {
	d := &document{name: name, Sources: from}
	if root := d.parseTree(content); root != nil {
		t.checkSchema(root)
		for _, s := range t {
			value := root.Get(s.Name)
			if value != nil && s.Into != nil {
				value.Decode(s.Into)
			}
			if value != nil && s.Read != nil {
				s.Read(value)
			}
		}
	}
	return d.collectResult()
}

// document is a file that is being read.
type document struct {
	config.Sources
	isLiteral bool // no variable is put in, and $$ stays
	name      string
	faults    []finding
	warnings  []finding
}

// place is a line and column, counted from 1, the latter in code points.
type place struct{ line, column int }

// finding is a fault or a warning.
type finding struct {
	place
	pointer string // empty: the whole file
	text    string
}

// addFault reports what keeps the file from being used. Faults are collected, and
// come in the order of the file.
func (d *document) addFault(at place, pointer, text string) {
	d.faults = append(d.faults, finding{at, pointer, text})
}

// addWarning reports an odd place that does no harm.
func (d *document) addWarning(at place, pointer, text string) {
	d.warnings = append(d.warnings, finding{at, pointer, text})
}

// collectResult returns all faults and warnings, each with its line and column, which
// count from 1.
func (d *document) collectResult() Result {
	var r Result
	for _, n := range inOrder(d.faults) {
		r.Faults = append(r.Faults, config.Fault{Name: d.placeText(n), Message: n.pointedText()})
	}
	for _, n := range inOrder(d.warnings) {
		r.Warnings = append(r.Warnings, d.placeText(n)+": "+n.pointedText())
	}
	return r
}

// placeText is file:line:column, as editors and terminals make a link of it.
func (d *document) placeText(n finding) string {
	return fmt.Sprintf("%s:%d:%d", d.name, n.line, n.column)
}

// pointedText returns the text for people, without the place.
func (n finding) pointedText() string { return Pointed(n.pointer, n.text) }

// Pointed returns text behind a JSON pointer, if that is not empty. The pointer is quoted
// unless it can stand in a line as it is: it holds names out of the file.
func Pointed(pointer, text string) string {
	if pointer == "" {
		return text
	}
	if quoted := strconv.QuoteToASCII(pointer); quoted != `"`+pointer+`"` {
		pointer = quoted
	}
	return pointer + ": " + text
}

// inOrder sorts findings by their places and drops repeated ones. A repetition by an alias has its
// own pointer, so it only drops a fault that was found in two ways.
func inOrder(list []finding) []finding {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	return slices.Compact(list)
}
