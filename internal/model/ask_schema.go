package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/internal/turn/tool"
)

// maxAskSchema is how long the schema of a structured answer may be.
const maxAskSchema = 64 << 10

// Schema is a JSON Schema (2020-12) for structured answers. An answer is an object. It never
// changes, and is safe for concurrent use.
type Schema struct {
	name  string
	raw   jsontext.Value // as the model receives it
	doc   map[string]any
	check *tool.Schema
	tools *tool.Set // the answer as the arguments of a tool
}

// NewSchema reads a schema. name is for protocols that want one: 1 to 64 of [a-z0-9_-]. Members
// named in open may have any value, although the model sees their enum or const: the caller judges
// unknown values. A reference out of the schema is an error, and never fetched.
func NewSchema(name string, raw jsontext.Value, open ...string) (*Schema, error) {
	return newSchema(name, raw, tool.Room, open)
}

// NewClientSchema is NewSchema for one that a client has sent: its root must be of type object,
// and it may take so much work to compile (see tool.Compile).
func NewClientSchema(name string, raw jsontext.Value, work int) (*Schema, error) {
	s, err := newSchema(name, raw, work, nil)
	if errors.Is(err, tool.ErrNoRoom) {
		return nil, errors.New("the schema takes too long to compile")
	}
	if err == nil && s.doc["type"] != "object" {
		return nil, errors.New("the root of the schema is not of type object")
	}
	return s, err
}

// Name returns the name of the schema.
func (s *Schema) Name() string { return s.name }

func newSchema(name string, raw jsontext.Value, room int, open []string) (*Schema, error) {
	if !regexp.MustCompile(`^[a-z0-9_-]{1,64}$`).MatchString(name) {
		return nil, errors.New("the name of the schema is not 1 to 64 of a-z, 0-9, _ and -")
	}
	compact, err := compactSchema(raw)
	if err != nil {
		return nil, err
	}
	s := &Schema{name: name, raw: compact}
	checked := s.raw
	if len(open) > 0 {
		if checked, err = withOpenMembers(s.raw, open); err != nil {
			return nil, err
		}
	}
	if s.check, _, err = tool.Compile(checked, room); err != nil {
		return nil, err
	}
	s.doc, err = readObject(s.raw)
	s.tools = &tool.Set{Specs: []tool.Spec{{Name: name, Description: "Takes the answer.", InputSchema: s.raw}}}
	return s, err
}

// compactSchema returns a schema of a size that is taken, without its white space.
func compactSchema(raw jsontext.Value) (jsontext.Value, error) {
	if len(raw) > maxAskSchema {
		return nil, fmt.Errorf("the schema is larger than %d KiB", maxAskSchema>>10)
	}
	if !raw.IsValid() || raw.Kind() != '{' {
		return nil, errors.New("the schema is not one JSON object")
	}
	raw = raw.Clone()
	return raw, raw.Compact()
}

// readObject reads a JSON object as the validator wants it.
func readObject(raw jsontext.Value) (map[string]any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	m, ok := v.(map[string]any)
	if err == nil && !ok {
		err = errors.New("it is no object")
	}
	return m, err
}

// withOpenMembers returns a schema without the enum and const of the members.
func withOpenMembers(raw jsontext.Value, members []string) (jsontext.Value, error) {
	doc, err := readObject(raw)
	if err != nil {
		return nil, err
	}
	openMembers(doc, members)
	return json.Marshal(doc)
}

// openMembers leads no deeper than JSON that was read.
func openMembers(v any, members []string) {
	switch v := v.(type) {
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		for _, name := range members {
			if part, ok := properties[name].(map[string]any); ok {
				delete(part, "enum")
				delete(part, "const")
			}
		}
		for _, part := range v {
			openMembers(part, members)
		}
	case []any:
		for _, part := range v {
			openMembers(part, members)
		}
	}
}
