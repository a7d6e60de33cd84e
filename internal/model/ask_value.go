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

// maxFlaw bounds the text about the faults that a model receives.
const maxFlaw = 500

// flaw says why an answer is not a value of its schema. It does not repeat the answer,
// but for names of members.
type flaw struct {
	problems []tool.Problem // at least one
	json     bool           // the answer is one JSON object
	none     bool           // the answer holds no JSON at all
}

// unreadableFlaw is the flaw of an answer without a value to check.
func unreadableFlaw(rule string) *flaw { return &flaw{problems: []tool.Problem{{Rule: rule}}} }

// noJSONFlaw is the flaw of an answer without JSON.
func noJSONFlaw(rule string) *flaw {
	f := unreadableFlaw(rule)
	f.none = true
	return f
}

// text returns the faults as a text for the model.
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

// readAnswer takes the one value from a text and holds it against the schema.
func (s *Schema) readAnswer(ctx context.Context, text string, lenient bool) (jsontext.Value, *flaw) {
	raw, fault := onlyObject(text)
	if fault != nil {
		return nil, fault
	}
	value, err := readObject(raw)
	if err != nil {
		return nil, unreadableFlaw("is not valid JSON")
	}
	if s.isSchemaItself(value) {
		return nil, &flaw{problems: []tool.Problem{{Rule: "is the schema itself, not a value that it describes"}}, json: true}
	}
	changed := lenient && s.loosenValue(value)
	if fault := s.checkValue(ctx, value); fault != nil {
		return nil, fault
	}
	return compactValue(raw, value, changed)
}

// checkValue returns how a value breaks the schema, or nil.
func (s *Schema) checkValue(ctx context.Context, value any) *flaw {
	problems, err := s.check.Problems(ctx, value)
	switch {
	case err != nil:
		return &flaw{problems: []tool.Problem{{Rule: "cannot be checked, as it is too large or nested too deeply"}}, json: true}
	case len(problems) > 0:
		return &flaw{problems: problems, json: true}
	}
	return nil
}

// compactValue returns a value without white space, in the words of raw unless it was changed.
func compactValue(raw jsontext.Value, value any, changed bool) (jsontext.Value, *flaw) {
	var err error
	if changed {
		raw, err = json.Marshal(value)
	} else {
		err = raw.Compact()
	}
	if err != nil {
		return nil, unreadableFlaw("is not valid JSON")
	}
	return raw, nil
}

// isSchemaItself reports whether a model wrote the schema in place of an answer.
func (s *Schema) isSchemaItself(value map[string]any) bool {
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
			return nil, noJSONFlaw("holds no JSON, only thoughts")
		}
		text = strings.TrimSpace(rest)
	}
	text = withoutFence(text)
	if v := jsontext.Value(text); v.IsValid() {
		if v.Kind() != '{' {
			return nil, unreadableFlaw("is not a JSON object")
		}
		return v, nil
	}
	return findObject(text)
}

// withoutFence takes the fence from a text that is one fenced block.
func withoutFence(text string) string {
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

// findObject looks for the one object in a text. Each byte is read about once: the search ends at
// text that begins like an object and does not parse.
func findObject(text string) (jsontext.Value, *flaw) {
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
			return nil, syntaxFlaw(err)
		}
		if found != nil {
			return nil, unreadableFlaw("holds more than one JSON value")
		}
		found, from = value.Clone(), at
		at += int(dec.InputOffset())
		to = at
	}
	if found == nil {
		return nil, noJSONFlaw("holds no JSON object")
	}
	if strings.HasSuffix(strings.TrimRight(text[:from], blank), "[") && strings.HasPrefix(strings.TrimLeft(text[to:], blank), "]") {
		return nil, unreadableFlaw("is not a JSON object")
	}
	return found, nil
}

// syntaxFlaw is the flaw of text that begins a value and is not valid JSON. The pointer is the
// place where reading stopped. It is cut and cleaned, because the model chose the names in it.
func syntaxFlaw(err error) *flaw {
	f := unreadableFlaw("is not valid JSON")
	if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		f.problems[0].Pointer, _ = chat.Truncate(tool.Clean(string(at.JSONPointer)), maxFlaw/4)
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		f.problems[0].Rule = "a member appears twice"
	}
	return f
}

// loosenValue changes value into what its writer must have meant: members whose names have
// other capitals get the schema's, and texts that are numbers become numbers where the
// schema wants numbers. Null in a member that is not required is absent, and a member that the
// schema forbids is dropped. loosenValue reports whether it changed anything.
func (s *Schema) loosenValue(value map[string]any) bool {
	l := loosener{root: s.doc, remaining: maxLoosening}
	l.fitValue(value, s.doc)
	return l.changed
}

// maxLoosening bounds how often a part of a schema is compared with a part of a value, because
// references may fork.
const maxLoosening = 20_000

// loosener changes values where the schema asks for another type, and the change loses nothing: "3"
// for a number, 1 for a text. remaining bounds the nodes that it still looks at.
type loosener struct {
	// root is the whole schema, for references within it.
	root      map[string]any
	remaining int
	changed   bool
	either    int // how many alternatives the node at hand is in: another one may know its members
}

// fitValue returns v as schema wants it.
func (l *loosener) fitValue(v any, schema any) any {
	s, ok := schema.(map[string]any)
	if l.remaining--; !ok || l.remaining < 0 {
		return v
	}
	v = l.fitBranches(v, s)
	switch v := v.(type) {
	case map[string]any:
		l.fitMembers(v, s)
	case []any:
		l.fitItems(v, s)
	case string:
		return l.fitText(v, s)
	}
	return v
}

// fitText makes a number of a text where one is wanted.
func (l *loosener) fitText(v string, s map[string]any) any {
	if n := strings.TrimSpace(v); wantsNumber(s["type"]) && isNumber(n) {
		l.changed = true
		return json.Number(n)
	}
	return v
}

// fitBranches returns v as the sub-schemas of s want it.
func (l *loosener) fitBranches(v any, s map[string]any) any {
	if ref, ok := s["$ref"].(string); ok {
		v = l.fitValue(v, l.resolveRef(ref))
	}
	for _, list := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := s[list].([]any)
		if list != "allOf" {
			l.either++
		}
		for _, branch := range branches {
			v = l.fitValue(v, branch)
		}
		if list != "allOf" {
			l.either--
		}
	}
	return v
}

// fitItems fits the items of an array.
func (l *loosener) fitItems(v []any, s map[string]any) {
	prefix, _ := s["prefixItems"].([]any)
	for i := range v {
		if i < len(prefix) {
			v[i] = l.fitValue(v[i], prefix[i])
		} else {
			v[i] = l.fitValue(v[i], s["items"])
		}
	}
}

// fitMembers fits the members of an object.
func (l *loosener) fitMembers(v map[string]any, s map[string]any) {
	properties, _ := s["properties"].(map[string]any)
	for name, part := range properties {
		if _, there := v[name]; !there {
			l.renameMember(v, properties, name)
		}
		if member, there := v[name]; there {
			v[name] = l.fitValue(member, part)
		}
	}
	if l.either == 0 {
		l.dropMembers(v, s, properties)
	}
}

// dropMembers takes out of v each null that stands for an absent member, and the members that s forbids.
func (l *loosener) dropMembers(v, s, properties map[string]any) {
	required, _ := s["required"].([]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	closed := s["additionalProperties"] == false && len(patterns) == 0
	for name, member := range v {
		l.remaining--
		_, known := properties[name]
		if known && member == nil && !slices.Contains(required, any(name)) || closed && !known {
			delete(v, name)
			l.changed = true
		}
	}
}

// renameMember renames the one member that equals want except for capitals. Two of them cannot both
// be meant.
func (l *loosener) renameMember(v, properties map[string]any, want string) {
	found := ""
	for name := range v {
		l.remaining--
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

// resolveRef follows a reference within the schema.
func (l *loosener) resolveRef(ref string) any {
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

// wantsNumber reports whether a type allows numbers and no texts.
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

// isNumber reports whether s is exactly a JSON number. "1 " and "0x1" are not numbers.
func isNumber(s string) bool {
	v := jsontext.Value(s)
	return s != "" && v.IsValid() && v.Kind() == '0'
}
