// This file reads an agent that is added: by the rules of the configuration file, with faults that
// point into the request's body.

package roster

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/engine/router"
	"sluice/internal/turn/chat"
)

// fieldFault is the fault of one field.
//
// field is a JSON pointer; "": the body as a whole.
func fieldFault(field, code, message string) error {
	return &chat.ValidationError{Fields: []chat.FieldError{{Field: field, Code: code, Message: message}}}
}

// addFault adds a fault of the file to those of the request; prefix is where the agent stands in
// the file.
func addFault(wrong *chat.ValidationError, text, prefix string) {
	pointer, message, found := strings.Cut(text, ": ")
	if !found || !strings.HasPrefix(pointer, "/agents") {
		pointer, message = prefix, text
	}
	wrong.Add(strings.TrimPrefix(pointer, prefix), &chat.FieldError{Code: codeOf(message), Message: message})
}

// readAgent reads an agent that is added, by the rules of the configuration file. Its
// errors are *chat.ValidationError, with pointers into body.
//
// It has the section agents of the file read a file of one agent, so that the rules are the
// same ones. Variables are taken from those that an added agent may use
// (config.AgentVariable), not from the whole environment.
func readAgent(id string, body []byte) (router.AgentSpec, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil {
		return router.AgentSpec{}, fieldFault("", chat.CodeInvalidJSON, "must be an object of JSON, in which no key is given twice")
	}
	quoted, _ := jsontext.AppendQuote(nil, id)
	content := slices.Concat([]byte(`{"agents":{`), quoted, []byte(":"), body, []byte("}}"))
	var spec router.Spec
	faults := file.Table{router.AgentsSection(&spec, new(config.Config))}.Read("", content, config.Sources{Lookup: config.AgentVariable}).Faults
	wrong := new(chat.ValidationError)
	prefix := "/agents/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(id)
	for _, f := range faults {
		addFault(wrong, f.Message, prefix)
	}
	if members["card"] == nil {
		wrong.Add("/card", &chat.FieldError{Code: chat.CodeRequired, Message: "is required: only remote agents can be added"})
	}
	if members["quality"] != nil {
		wrong.Add("/quality", &chat.FieldError{Code: chat.CodeUnsupported, Message: "belongs into the configuration file"})
	}
	if len(wrong.Fields) > 0 {
		return router.AgentSpec{}, wrong
	}
	if len(spec.Agents) != 1 {
		return router.AgentSpec{}, fieldFault("", chat.CodeInvalidJSON, "must be an agent")
	}
	return spec.Agents[0], nil
}

// codeOf returns the code of a fault, by the words that the configuration file's faults have.
//
// A fault whose words it does not know is of an invalid format.
func codeOf(message string) string {
	switch {
	case strings.HasPrefix(message, "there is no such key"):
		return chat.CodeUnsupported
	case strings.HasPrefix(message, "must not be longer"):
		return chat.CodeTooLong
	case message == "is required":
		return chat.CodeRequired
	case strings.HasPrefix(message, "is not taken"):
		return chat.CodeNotAllowed
	}
	return chat.CodeInvalidFormat
}
