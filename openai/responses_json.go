package openai

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// responsesPair is a member of an object.
type responsesPair struct {
	name  string
	value jsontext.Value
}

// responsesMembers returns the members of an object, in their order; nil for what is none.
func responsesMembers(object jsontext.Value) (list []responsesPair) {
	d := jsontext.NewDecoder(bytes.NewBuffer(object), responsesLenient)
	if d.PeekKind() != '{' {
		return nil
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil
		}
		s := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		end := d.InputOffset()
		list = append(list, responsesPair{s, object[end-int64(len(value)) : end]})
	}
	return list
}

// responsesMerge appends base with patch merged into it: objects member by member,
// anything else replaced, and null takes a member away (RFC 7396).
func responsesMerge(b []byte, base, patch jsontext.Value) []byte {
	if patch.Kind() != '{' {
		return append(b, patch...)
	}
	changes := responsesMembers(patch)
	start := len(b)
	b = append(b, '{')
	put := func(name string, base, patch jsontext.Value) {
		if patch.Kind() == 'n' {
			return
		}
		if len(b) > start+1 {
			b = append(b, ',')
		}
		b = append(responsesString(b, name), ':')
		if patch == nil {
			b = append(b, base...)
		} else {
			b = responsesMerge(b, base, patch)
		}
	}
	done := make([]bool, len(changes))
	for _, m := range responsesMembers(base) {
		var change jsontext.Value
		for i := range changes {
			if changes[i].name == m.name {
				change, done[i] = changes[i].value, true
			}
		}
		put(m.name, m.value, change)
	}
	for i := range changes {
		if !done[i] {
			put(changes[i].name, nil, changes[i].value)
		}
	}
	return append(b, '}')
}

// maxResponsesStrict is how deep a schema may be nested that is asked for strictly: the
// API's own limit is 10 levels of objects.
const maxResponsesStrict = 10

// responsesStrict says whether a schema is within what the API enforces: each object
// closed and all its members required, and no keyword beyond those that it lists
// (https://platform.openai.com/docs/guides/structured-outputs).
func responsesStrict(schema jsontext.Value, depth int) bool {
	if schema.Kind() != '{' || depth > 2*maxResponsesStrict {
		return false
	}
	var properties, required, additional jsontext.Value
	kind := ""
	for _, m := range responsesMembers(schema) {
		switch m.name {
		case "type":
			kind = responsesWord(m.value)
		case "properties":
			properties = m.value
		case "required":
			required = m.value
		case "additionalProperties":
			additional = m.value
		case "items":
			if !responsesStrict(m.value, depth+1) {
				return false
			}
		case "anyOf":
			if depth == 1 {
				return false // not at the root
			}
			for _, branch := range responsesElements(m.value) {
				if !responsesStrict(branch, depth+1) {
					return false
				}
			}
		case "title", "description", "enum", "const", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems":
		default:
			return false
		}
	}
	if kind != "object" && properties == nil {
		return depth > 1
	}
	if additional.Kind() != 'f' {
		return false
	}
	needed := map[string]bool{}
	for _, name := range responsesElements(required) {
		needed[responsesWord(name)] = true
	}
	for _, m := range responsesMembers(properties) {
		if !needed[m.name] || !responsesStrict(m.value, depth+1) {
			return false
		}
	}
	return true
}
