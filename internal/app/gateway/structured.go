// This file makes JSON objects of turns for clients that ask for one.

package gateway

import (
	"context"

	"sluice/internal/app/providers"
	"sluice/internal/engine/agent"
	"sluice/internal/model"
	"sluice/internal/quality/structured"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// forms is what structured answers need of a registry.
type forms struct {
	askers *providers.AnswerForms
	// assistant answers where there are no agents, and local are the agents that run here.
	assistant *agent.Agent
	local     map[string]*agent.Agent
	keyed     bool
}

// newForms returns what structured answers need, without agents.
func (g *Gateway) newForms() forms {
	return forms{askers: g.answerForms, assistant: g.assistant, local: map[string]*agent.Agent{}, keyed: g.countsAll()}
}

// structured returns what answers a request with an object of the form that it wants. agent is
// who answers, if that is certain.
//
// The schema is a client's: what is wrong with it is a fault of the request. The calls of models
// count for the turn's budget.
func (r *registry) structured(inner stream.Runner, req *chat.Request, agent string) (stream.Runner, error) {
	opening, key := r.opening(req, r.only(agent))
	asker, err := r.forms.askers.Asker(req.Answer, key)
	if err != nil {
		wrong := new(chat.ValidationError)
		wrong.Add(req.Answer.SchemaAt, &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "is not usable: " + chat.Line(err.Error(), maxSchemaFault)})
		return nil, wrong
	}
	around := structured.Around(inner, structured.Config{Asker: asker, Opening: opening, Keyed: r.forms.keyed})
	return model.Budgeted{Runner: around, Tokens: r.tokens}, nil
}

// maxSchemaFault bounds what is said of a schema, in bytes.
const maxSchemaFault = 300

// opening returns how the only agent that can answer begins a turn, and the key of its model.
// nil: there are several, or it is somewhere else.
func (r *registry) opening(req *chat.Request, agent string) (func(context.Context, *chat.Request) (*chat.ModelRequest, bool), string) {
	switch {
	case req.Workflow != "" || req.Resumed != nil:
		return nil, ""
	case r.team == nil:
		return r.forms.assistant.Opening, ""
	}
	a := r.forms.local[agent]
	if a == nil {
		return nil, ""
	}
	for _, spec := range r.spec.Agents {
		if spec.ID == agent {
			return a.Opening, spec.Model
		}
	}
	return nil, ""
}
