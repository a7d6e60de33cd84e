package roles

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

// writtenHeading is how a gateway shows the answer that is to become an object (package
// internal/quality/structured). The two must change together.
const writtenHeading = "The answer that was written"

// fillForm puts the answer of a turn into the object that a client wants, where all that the object
// must have are texts without rules. It does not interpret the text.
func fillForm(schema jsontext.Value, q geminisim.Question) (jsontext.Value, bool) {
	_, others, _ := conversationOf(q.Messages)
	answer := ""
	for _, o := range others {
		if o.about == writtenHeading {
			answer = Clip(o.text)
		}
	}
	var asked struct {
		Required   []string                             `json:"required"`
		Properties map[string]map[string]jsontext.Value `json:"properties"`
		Others     jsontext.Value                       `json:"additionalProperties"`
	}
	if answer == "" || json.Unmarshal(schema, &asked) != nil {
		return nil, false
	}
	if len(asked.Properties) == 0 && len(asked.Others) == 0 {
		asked.Required = append(asked.Required, "answer")
	}
	object := map[string]string{}
	for _, name := range asked.Required {
		if of := asked.Properties[name]; len(asked.Properties) > 0 && !plainText(of) {
			return nil, false
		}
		object[name] = answer
	}
	value, err := json.Marshal(object, json.Deterministic(true))
	return value, err == nil && len(object) > 0
}

// plainText reports whether any text fits a schema.
func plainText(schema map[string]jsontext.Value) bool {
	for keyword := range schema {
		if keyword != "type" && keyword != "description" && keyword != "title" {
			return false
		}
	}
	return strings.EqualFold(string(schema["type"]), `"string"`)
}
