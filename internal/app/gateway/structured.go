// This file makes JSON objects of turns for clients that ask for one.

package gateway

import (
	"context"

	"sluice/internal/app/providers"
	"sluice/internal/engine/agent"
	"sluice/internal/quality/structured"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// objectForms has the parts of a registry that structured answers need.
type objectForms struct {
	askers *providers.AnswerForms
	// assistant answers without configured agents, and local are the agents of this process.
	assistant *agent.Agent
	local     map[string]*agent.Agent
	keyed     bool
}

// withObject returns inner, followed by an object of the form that the request wants. opening and key
// are the beginning of the turn and the model of the one agent that can answer.
//
// The schema is the client's: a fault of it is a fault of the request.
func (f *objectForms) withObject(inner stream.Runner, req *chat.Request, opening formOpening, key string) (stream.Runner, error) {
	asker, err := f.askers.Asker(req.Answer, key)
	if err != nil {
		wrong := new(chat.ValidationError)
		wrong.Add(req.Answer.SchemaAt, &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "is not usable: " + chat.Line(err.Error(), maxSchemaFault)})
		return nil, wrong
	}
	return structured.Around(inner, structured.Config{Asker: asker, Opening: opening, Keyed: f.keyed}), nil
}

// formOpening returns how an agent begins a turn. It is nil if several agents can answer, or if the
// agent is elsewhere.
type formOpening = func(context.Context, *chat.Request) (*chat.ModelRequest, bool)

// maxSchemaFault bounds the text about a faulty schema, in bytes.
const maxSchemaFault = 300
