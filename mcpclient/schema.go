package mcpclient

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a tool's input schema. What is beyond them helps no model, and costs
// every turn.
const (
	maxSchema      = 256 << 10
	maxSchemaDepth = 64
	// maxSchemaNodes counts members and elements: compiling takes time that grows
	// with the square of it.
	maxSchemaNodes = 8000
)

// schemaURL is the address that a schema is compiled under. Nothing is there.
const schemaURL = "tool:///schema.json"

// compileSchema compiles a tool's input schema. Nothing is ever fetched: a
// reference out of the schema is an error. Formats are not checked, nor patterns
// that Go cannot read (other languages have lookaheads); the server checks them.
func compileSchema(raw jsontext.Value) (c *checker, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, fmt.Errorf("the schema cannot be compiled: %v", p)
		}
	}()
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
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(refuseAll{})
	compiler.UseRegexpEngine(anyPattern)
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	s, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, err
	}
	return newChecker(s)
}

// measureSchema checks that raw is one JSON object within the bounds.
func measureSchema(raw jsontext.Value) error {
	if len(raw) == 0 || raw.Kind() != '{' {
		return errors.New("the schema is not a JSON object")
	}
	if len(raw) > maxSchema {
		return fmt.Errorf("the schema is larger than %d KiB", maxSchema>>10)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
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

// refuseAll is the loader of a compiler that must not load: its default one opens
// files, and a tool's schema comes from elsewhere.
type refuseAll struct{}

func (refuseAll) Load(string) (any, error) {
	return nil, errors.New("references out of the schema are not followed")
}

// anyPattern compiles a pattern, or lets everything match one that Go's engine
// does not know.
func anyPattern(s string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(s)
	if err != nil {
		return unknownPattern(s), nil
	}
	return re, nil
}

type unknownPattern string

func (p unknownPattern) String() string        { return string(p) }
func (unknownPattern) MatchString(string) bool { return true }
