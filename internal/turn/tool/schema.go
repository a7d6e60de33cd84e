package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a tool's input schema. A larger schema helps no model and costs every turn.
const (
	maxSchema      = 256 << 10
	maxSchemaDepth = 64
	// maxSchemaNodes counts members and elements.
	maxSchemaNodes = 8000
	// maxReference bounds the names and references in a schema: each part keeps its whole address.
	maxReference = 512
)

// Compiling is counted in units of about 10 µs and half a kilobyte that stays. A value that may be
// a schema costs two, and any other one (BenchmarkLargestSchema).
const (
	maxToolWork = 16_000
	// Room is the work for compiling the schemas of all tools of a server: about a second and 50
	// MB. A thousand tools of twenty described properties each are 85,000.
	Room = 100_000
	// One unit is so many instructions of a pattern, bytes of addresses, or values whose notes are
	// copied for a reference.
	patternUnit = 20
	addressUnit = 500
	copiedUnit  = 60
)

// schemaURL is the address that a schema is compiled under. Nothing is there.
const schemaURL = "tool:///schema.json"

var (
	errWork = errors.New("the schema takes too long to compile")
	// ErrNoRoom is Compile's error where the work would be more than the room. It
	// says nothing against the schema itself.
	ErrNoRoom = errors.New("the schemas of the server's other tools leave no room")
)

// Compile compiles a tool's input schema if this takes no more work than room: Room at first, and
// less by the work of each schema of the same server. work is the work done, also after a failure.
//
// It never fetches a document: a reference out of the schema is an error. Formats are not checked,
// nor patterns that Go cannot read (other languages have lookaheads); the server checks them.
func Compile(raw jsontext.Value, room int) (s *Schema, work int, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("the schema cannot be compiled: %v", p)
		}
	}()
	doc, err := readSchema(raw)
	if err != nil {
		return nil, 0, err
	}
	var compiled *jsonschema.Schema
	same := alike{ids: map[string]int{}, first: map[int]place{}}
	work, err = same.workOf(doc, func() *jsonschema.Schema { return compiled })
	switch {
	case err != nil:
		return nil, 0, err
	case work > room:
		return nil, 0, ErrNoRoom
	}
	programs := patterns{compiled: map[string]jsonschema.Regexp{}, room: min(maxProgram, (room-work)*patternUnit)}
	compiled, err = compileDocument(doc, &programs)
	work += programs.size / patternUnit
	if err := cmp.Or(programs.failureCause(), err); err != nil {
		return nil, work, err
	}
	if err := same.restoreMissing(); err != nil {
		return nil, work, err
	}
	s, err = newSchema(compiled)
	return s, work, err
}

// readSchema reads a schema within the bounds, of an object if it names a type.
func readSchema(raw jsontext.Value) (any, error) {
	if err := measureSchema(raw); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	if t, ok := doc.(map[string]any)["type"]; ok && t != "object" {
		return nil, errors.New("the schema is not one of an object")
	}
	return doc, nil
}

// compileDocument compiles a schema of draft 2020-12 unless it names another.
// It loads nothing, and its expressions are ours. doc must not be changed
// afterwards.
func compileDocument(doc any, programs *patterns) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(refuseAll{})
	compiler.UseRegexpEngine(programs.compilePattern)
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return compiler.Compile(schemaURL)
}

// measureSchema checks that raw is one JSON object within the bounds.
func measureSchema(raw jsontext.Value) error {
	if len(raw) == 0 || raw.Kind() != '{' {
		return errors.New("the schema is not a JSON object")
	}
	if len(raw) > maxSchema {
		return fmt.Errorf("the schema is larger than %d KiB", maxSchema>>10)
	}
	return measureTokens(jsontext.NewDecoder(bytes.NewReader(raw)))
}

// measureTokens checks the depth of one value, and how many members it has.
func measureTokens(dec *jsontext.Decoder) error {
	for nodes := 0; ; nodes++ {
		if _, err := dec.ReadToken(); err != nil {
			return fmt.Errorf("the schema is not JSON: %w", err)
		}
		if dec.StackDepth() > maxSchemaDepth {
			return fmt.Errorf("the schema is nested deeper than %d", maxSchemaDepth)
		}
		if nodes > 2*maxSchemaNodes { // a member is two tokens
			return errors.New("the schema has too many members")
		}
		if dec.StackDepth() == 0 {
			return nil
		}
	}
}

// measure is the work to compile a schema, without its patterns.
type measure struct {
	values    int
	schemas   int             // of the values, those that may be schemas
	addresses int             // bytes of the addresses of all parts
	copying   map[string]bool // references that make the compiler copy its notes
	defs      map[string]bool // references to $defs, which count like these in old dialects only
	old       bool
	linked    bool // parts refer to parts, or have names
}

// workOf returns the work that it takes to compile a document, but for its patterns. It removes
// from the document the parts that can be shared.
func (a *alike) workOf(doc any, compiled place) (int, error) {
	m, err := measureDocument(doc)
	if err == nil && m.totalWork() > alikeFrom && !m.linked {
		a.pruneBelow(doc, compiled)
		m, err = measureDocument(doc)
	}
	switch {
	case err != nil:
		return 0, err
	case m.totalWork() > maxToolWork:
		return 0, errWork
	}
	return m.totalWork(), nil
}

func measureDocument(doc any) (m measure, err error) {
	m = measure{copying: map[string]bool{}, defs: map[string]bool{}}
	err = m.addValue(doc, len(schemaURL))
	return m, err
}

// totalWork sums up.
func (m *measure) totalWork() int {
	copies := len(m.copying)
	if m.old {
		copies += len(m.defs)
	}
	return m.values + m.schemas + m.addresses/addressUnit + copies*m.values/copiedUnit
}

// addValue measures v, whose address has so many bytes.
func (m *measure) addValue(v any, address int) error {
	m.values++
	switch v := v.(type) {
	case map[string]any:
		m.schemas++
		m.addresses += address
		for name, member := range v {
			if err := m.addReference(name, member); err != nil {
				return err
			}
			if err := m.addValue(member, address+1+len(name)); err != nil {
				return err
			}
		}
	case []any:
		m.addresses += address
		for _, item := range v {
			if err := m.addValue(item, address+4); err != nil {
				return err
			}
		}
	case bool:
		m.schemas++
		m.addresses += address
	case json.Number:
		if !isModest(v.String()) {
			return errors.New("a number of the schema is too large")
		}
	}
	return nil
}

// addReference measures a member that may name a schema or refer to one.
func (m *measure) addReference(name string, value any) error {
	text, ok := value.(string)
	if !ok || name != "id" && !strings.HasPrefix(name, "$") || name == "$comment" {
		return nil
	}
	if len(text) > maxReference {
		return fmt.Errorf("a reference of the schema is longer than %d bytes", maxReference)
	}
	m.linked = m.linked || name != "$schema"
	switch {
	case name == "$schema":
		m.old = m.old || strings.Contains(text, "draft-0")
	case name != "$ref", text == "#", childOf(text, "#/definitions/"):
	case childOf(text, "#/$defs/"):
		m.defs[text] = true
	default:
		m.copying[text] = true
	}
	return nil
}

// childOf reports whether ref leads to where the compiler looks for schemas by
// itself: to a member of the map that prefix names.
func childOf(ref, prefix string) bool {
	name, ok := strings.CutPrefix(ref, prefix)
	return ok && !strings.Contains(name, "/")
}

// refuseAll is the loader of a compiler that must not load: its default one opens
// files, and a tool's schema comes from elsewhere.
type refuseAll struct{}

// Load refuses every reference to another document: a schema comes from
// outside, and must not make us fetch anything.
func (refuseAll) Load(string) (any, error) {
	return nil, errors.New("references out of the schema are not followed")
}
