package a2a

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// In 0.3, HTTP+JSON is the JSON of protocol buffers, whose readers take the name of a
// field in two forms: lowerCamelCase, and as it is declared. The SDK for Python writes the
// latter, and a2a-go reads the former.

// renamed returns the body of a message with the names that a2a-go reads. What is not as
// it should be stays, for a2a-go to refuse.
func renamed(body []byte) []byte {
	return within(body, func(name string, value jsontext.Value) (string, jsontext.Value) {
		switch name = camel(name); name {
		case "request", "message": // the field and its name in JSON differ
			return "message", within(value, message)
		case "configuration":
			return name, within(value, plain)
		}
		return name, value
	})
}

// message renames the members of a message.
func message(name string, value jsontext.Value) (string, jsontext.Value) {
	if name = camel(name); name != "content" || value.Kind() != '[' {
		return name, value
	}
	var parts []jsontext.Value
	if json.Unmarshal(value, &parts) != nil {
		return name, value
	}
	for i := range parts {
		parts[i] = within(parts[i], func(name string, value jsontext.Value) (string, jsontext.Value) {
			if name == "file" {
				value = within(value, plain)
			}
			return name, value
		})
	}
	text, err := json.Marshal(parts)
	if err != nil {
		return name, value
	}
	return name, text
}

// plain changes a name to camel case and leaves the value as it is.
func plain(name string, value jsontext.Value) (string, jsontext.Value) { return camel(name), value }

// within changes the members of an object.
func within(object jsontext.Value, change func(string, jsontext.Value) (string, jsontext.Value)) jsontext.Value {
	var members map[string]jsontext.Value
	if object.Kind() != '{' || json.Unmarshal(object, &members) != nil {
		return object
	}
	changed := make(map[string]jsontext.Value, len(members))
	for name, value := range members {
		name, value = change(name, value)
		changed[name] = value
	}
	text, err := json.Marshal(changed, json.Deterministic(true))
	if err != nil {
		return object
	}
	return text
}

// camel makes lowerCamelCase of snake_case.
func camel(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	first, rest, _ := strings.Cut(name, "_")
	for word := range strings.SplitSeq(rest, "_") {
		if word != "" {
			first += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return first
}
