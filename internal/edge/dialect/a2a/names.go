package a2a

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// In 0.3, HTTP+JSON is the JSON of protocol buffers. Its readers accept the name of a field in two
// forms: lowerCamelCase, and as it is declared. The SDK for Python writes the latter, and a2a-go
// reads the former.

// renameMembers returns the body of a message with the names that a2a-go reads. It leaves invalid members
// for a2a-go to refuse.
func renameMembers(body []byte) []byte {
	return changeMembers(body, func(name string, value jsontext.Value) (string, jsontext.Value) {
		switch name = camelCase(name); name {
		case "request", "message": // the field and its name in JSON differ
			return "message", changeMembers(value, renameMessage)
		case "configuration":
			return name, changeMembers(value, renamePlain)
		}
		return name, value
	})
}

// renameMessage renames the members of a message.
func renameMessage(name string, value jsontext.Value) (string, jsontext.Value) {
	if name = camelCase(name); name != "content" || value.Kind() != '[' {
		return name, value
	}
	var parts []jsontext.Value
	if json.Unmarshal(value, &parts) != nil {
		return name, value
	}
	for i := range parts {
		parts[i] = changeMembers(parts[i], func(name string, value jsontext.Value) (string, jsontext.Value) {
			if name == "file" {
				value = changeMembers(value, renamePlain)
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

// renamePlain changes a name to camel case and leaves the value as it is.
func renamePlain(name string, value jsontext.Value) (string, jsontext.Value) {
	return camelCase(name), value
}

// changeMembers changes the members of an object.
func changeMembers(object jsontext.Value, change func(string, jsontext.Value) (string, jsontext.Value)) jsontext.Value {
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

// camelCase makes lowerCamelCase of snake_case.
func camelCase(name string) string {
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
