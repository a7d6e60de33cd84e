package model

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// maxFlaw is how long the text may be that says to a model what is wrong.
const maxFlaw = 500

// flaw says why an answer is not a value of its schema. It does not repeat the answer,
// but for names of members.
type flaw struct {
	problems []tool.Problem // at least one
	json     bool           // the answer is one JSON object
	none     bool           // the answer holds no JSON at all
}

// unreadable is the flaw of an answer in which no value was found to check.
func unreadable(rule string) *flaw { return &flaw{problems: []tool.Problem{{Rule: rule}}} }

// noJSON is that of an answer that holds none.
func noJSON(rule string) *flaw {
	f := unreadable(rule)
	f.none = true
	return f
}

// text returns what the model receives.
func (f *flaw) text() string {
	var list []string
	for _, p := range f.problems {
		at := p.Pointer
		if at == "" {
			at = "the answer"
		}
		list = append(list, at+": "+p.Rule)
	}
	text, _ := chat.Truncate(strings.Join(list, "; "), maxFlaw)
	return text
}

// read takes the one value from a text and holds it against the schema.
func (s *Schema) read(ctx context.Context, text string, lenient bool) (jsontext.Value, *flaw) {
	raw, fault := onlyObject(text)
	if fault != nil {
		return nil, fault
	}
	value, err := object(raw)
	if err != nil {
		return nil, unreadable("is not valid JSON")
	}
	if s.repeated(value) {
		return nil, &flaw{problems: []tool.Problem{{Rule: "is the schema itself, not a value that it describes"}}, json: true}
	}
	changed := lenient && s.loosen(value)
	if fault := s.misfit(ctx, value); fault != nil {
		return nil, fault
	}
	return written(raw, value, changed)
}

// misfit returns what is wrong with a value by the schema, nil if nothing is.
func (s *Schema) misfit(ctx context.Context, value any) *flaw {
	problems, err := s.check.Problems(ctx, value)
	switch {
	case err != nil:
		return &flaw{problems: []tool.Problem{{Rule: "cannot be checked, as it is too large or nested too deeply"}}, json: true}
	case len(problems) > 0:
		return &flaw{problems: problems, json: true}
	}
	return nil
}

// written returns a value without white space, in the words of raw unless it was changed.
func written(raw jsontext.Value, value any, changed bool) (jsontext.Value, *flaw) {
	var err error
	if changed {
		raw, err = json.Marshal(value)
	} else {
		err = raw.Compact()
	}
	if err != nil {
		return nil, unreadable("is not valid JSON")
	}
	return raw, nil
}

// repeated says whether a model wrote the schema in place of an answer.
func (s *Schema) repeated(value map[string]any) bool {
	if reflect.DeepEqual(value, s.doc) {
		return true
	}
	own, _ := s.doc["properties"].(map[string]any)
	if _, ok := own["properties"]; ok {
		return false
	}
	_, described := value["properties"].(map[string]any)
	return described && value["type"] == "object"
}

// onlyObject returns the one JSON object in a text: <think>, one Markdown fence and text
// around it are removed.
func onlyObject(text string) (jsontext.Value, *flaw) {
	text = strings.TrimSpace(text)
	if after, ok := strings.CutPrefix(text, "<think>"); ok {
		_, rest, ended := strings.Cut(after, "</think>")
		if !ended {
			return nil, noJSON("holds no JSON, only thoughts")
		}
		text = strings.TrimSpace(rest)
	}
	text = unfenced(text)
	if v := jsontext.Value(text); v.IsValid() {
		if v.Kind() != '{' {
			return nil, unreadable("is not a JSON object")
		}
		return v, nil
	}
	return searched(text)
}

// unfenced takes the fence from a text that is one fenced block.
func unfenced(text string) string {
	inside, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	inside, ok = strings.CutSuffix(inside, "```")
	_, inside, line := strings.Cut(inside, "\n") // after the name of the language
	if !ok || !line {
		return text
	}
	return strings.TrimSpace(inside)
}

const blank = " \t\r\n"

// searched looks for the one object in a text. Each byte is read about once: where
// something begins like an object, and is none, the search ends.
func searched(text string) (jsontext.Value, *flaw) {
	var found jsontext.Value
	var from, to int
	for at := 0; ; {
		n := strings.IndexByte(text[at:], '{')
		if n < 0 {
			break
		}
		at += n
		inside := strings.TrimLeft(text[at+1:], blank)
		if inside != "" && inside[0] != '"' && inside[0] != '}' { // braces in prose
			at++
			continue
		}
		dec := jsontext.NewDecoder(strings.NewReader(text[at:]))
		value, err := dec.ReadValue()
		if err != nil {
			return nil, broken(err)
		}
		if found != nil {
			return nil, unreadable("holds more than one JSON value")
		}
		found, from = value.Clone(), at
		at += int(dec.InputOffset())
		to = at
	}
	if found == nil {
		return nil, noJSON("holds no JSON object")
	}
	if strings.HasSuffix(strings.TrimRight(text[:from], blank), "[") && strings.HasPrefix(strings.TrimLeft(text[to:], blank), "]") {
		return nil, unreadable("is not a JSON object")
	}
	return found, nil
}

// broken is the flaw of text that begins a value and is not valid JSON. The pointer
// is what was read by then; it is cut and cleaned, because the model chose the names
// in it.
func broken(err error) *flaw {
	f := unreadable("is not valid JSON")
	if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		f.problems[0].Pointer, _ = chat.Truncate(tool.Clean(string(at.JSONPointer)), maxFlaw/4)
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		f.problems[0].Rule = "a member appears twice"
	}
	return f
}

// loosen changes value into what its writer must have meant: members whose names have
// other capitals get the schema's, and texts that are numbers become numbers where the
// schema wants numbers. Null in a member that is not required is absent, and a member that the
// schema forbids is dropped. loosen reports whether it changed anything.
func (s *Schema) loosen(value map[string]any) bool {
	l := loosener{root: s.doc, left: maxLoosening}
	l.fit(value, s.doc)
	return l.changed
}

// maxLoosening bounds how many times a part of a schema is held against a part of a
// value: references may fork.
const maxLoosening = 20_000

// loosener changes values where the schema asks for another type, and the change
// loses nothing: "3" for a number, 1 for a text. left bounds how many nodes it looks
// at.
type loosener struct {
	// root is the whole schema, for references within it.
	root    map[string]any
	left    int
	changed bool
	either  int // how many alternatives the node at hand is in: another one may know its members
}

// fit returns v as schema wants it.
func (l *loosener) fit(v any, schema any) any {
	s, ok := schema.(map[string]any)
	if l.left--; !ok || l.left < 0 {
		return v
	}
	v = l.branches(v, s)
	switch v := v.(type) {
	case map[string]any:
		l.members(v, s)
	case []any:
		l.items(v, s)
	case string:
		return l.text(v, s)
	}
	return v
}

// text makes a number of a text where one is wanted.
func (l *loosener) text(v string, s map[string]any) any {
	if n := strings.TrimSpace(v); wantsNumber(s["type"]) && isNumber(n) {
		l.changed = true
		return json.Number(n)
	}
	return v
}

// branches returns v as the schemas want it that s is made of.
func (l *loosener) branches(v any, s map[string]any) any {
	if ref, ok := s["$ref"].(string); ok {
		v = l.fit(v, l.resolve(ref))
	}
	for _, list := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := s[list].([]any)
		if list != "allOf" {
			l.either++
		}
		for _, branch := range branches {
			v = l.fit(v, branch)
		}
		if list != "allOf" {
			l.either--
		}
	}
	return v
}

// items fits an array's.
func (l *loosener) items(v []any, s map[string]any) {
	prefix, _ := s["prefixItems"].([]any)
	for i := range v {
		if i < len(prefix) {
			v[i] = l.fit(v[i], prefix[i])
		} else {
			v[i] = l.fit(v[i], s["items"])
		}
	}
}

// members fits an object's.
func (l *loosener) members(v map[string]any, s map[string]any) {
	properties, _ := s["properties"].(map[string]any)
	for name, part := range properties {
		if _, there := v[name]; !there {
			l.rename(v, properties, name)
		}
		if member, there := v[name]; there {
			v[name] = l.fit(member, part)
		}
	}
	if l.either == 0 {
		l.drop(v, s, properties)
	}
}

// drop takes out of v each null that stands for an absent member, and the members that s forbids.
func (l *loosener) drop(v, s, properties map[string]any) {
	required, _ := s["required"].([]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	closed := s["additionalProperties"] == false && len(patterns) == 0
	for name, member := range v {
		l.left--
		_, known := properties[name]
		if known && member == nil && !slices.Contains(required, any(name)) || closed && !known {
			delete(v, name)
			l.changed = true
		}
	}
}

// rename gives the one member whose name is want but for its capitals that name. Two of
// them cannot both be meant.
func (l *loosener) rename(v, properties map[string]any, want string) {
	found := ""
	for name := range v {
		l.left--
		if _, own := properties[name]; own || !strings.EqualFold(name, want) {
			continue
		}
		if found != "" {
			return
		}
		found = name
	}
	if found != "" {
		v[want] = v[found]
		delete(v, found)
		l.changed = true
	}
}

// resolve follows a reference within the schema.
func (l *loosener) resolve(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = l.root
	for _, token := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		m, _ := at.(map[string]any)
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return at
}

// wantsNumber says whether a type allows numbers and no texts.
func wantsNumber(typ any) bool {
	switch typ := typ.(type) {
	case string:
		return typ == "number" || typ == "integer"
	case []any:
		number := false
		for _, t := range typ {
			if t == "string" {
				return false
			}
			number = number || wantsNumber(t)
		}
		return number
	}
	return false
}

// isNumber says whether s is a number of JSON and nothing else: "1 " and "0x1" are
// none.
func isNumber(s string) bool {
	v := jsontext.Value(s)
	return s != "" && v.IsValid() && v.Kind() == '0'
}
