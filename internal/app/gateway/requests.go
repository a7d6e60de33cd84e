// This file applies a registry to one request: whether it is valid, and the runner and the timeout of
// its turn.

package gateway

import (
	"context"
	"slices"
	"strings"
	"time"

	"sluice/internal/engine/router"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/mcpclient"
	"sluice/stream"
)

// checkRequest returns why a request cannot be answered as it is; agent is whom it is for, if
// that is certain.
//
// Faults are listed in the order of the fields, as for a body that is wrong by itself.
func (r *registry) checkRequest(req *chat.Request, agent string) error {
	wrong := new(chat.ValidationError)
	if req.Agent != "" && (r.team == nil || !r.team.Knows(req.Agent)) {
		wrong.Add("/agent", chat.UnknownAgent())
	}
	if faults := r.quality.Check(req, agent); len(faults) > 0 {
		for _, name := range chat.FieldNames(false) {
			wrong.Add("/"+name, faults[name])
		}
	}
	if form := req.Answer; form != nil && (req.Channel != "" && req.Channel != "web" || r.quality.Enforces(agent)) {
		wrong.Add(form.At, &chat.FieldError{Code: chat.CodeUnsupported, Message: "is not served beside a channel, nor where answers must pass checks (quality.mode)"})
	}
	if len(wrong.Fields) == 0 {
		return nil
	}
	return wrong
}

// checkClientTools returns an error if a client's tool has the name of a server's tool. It ignores the
// client's tools unless one agent answers from the start; agent is its id, if that is certain. The
// code of the protocol has its own copy of the application's options.
func checkClientTools(r *registry, req *chat.Request, tools *mcpclient.Client, agent string) error {
	if req.App == nil || len(req.App.Tools) == 0 {
		return nil
	}
	agent = r.certainAgent(agent)
	taken := r.takenNames(tools, agent)
	if taken == nil || req.Workflow != "" {
		req.App.Tools, req.App.Choice = nil, chat.ToolChoice{}
		req.App.Ignored = append(req.App.Ignored, "tools")
		return nil
	}
	wrong := new(chat.ValidationError)
	for _, t := range req.App.Tools {
		if taken(t.Name) {
			wrong.Add(t.At, chat.NameTaken())
		}
	}
	if len(wrong.Fields) == 0 {
		return nil
	}
	return wrong
}

// takenNames reports whether a tool of an agent has a name; an empty id is the built-in agent. It is nil
// if the agent cannot have tools of a client, because it is elsewhere or unknown before the turn.
func (r *registry) takenNames(all *mcpclient.Client, agent string) func(name string) bool {
	if r.team == nil {
		return func(name string) bool { return all.Tools(context.Background()).Lookup(name) != nil }
	}
	for _, a := range r.spec.Agents {
		if a.ID == agent && a.Remote == nil {
			tools := all.Select(a.Tools).Tools(context.Background())
			return func(name string) bool {
				id, delegates := strings.CutPrefix(name, router.DelegatePrefix)
				return tools.Lookup(name) != nil || delegates && slices.Contains(a.Delegates, id)
			}
		}
	}
	return nil
}

// runnerFor returns the runner and the timeout of a request. agent is the id of the agent that
// answers, if that is certain.
//
// Most requests are not checked and share one runner, made once. A checked request gets its own.
func (r *registry) runnerFor(by *answerer, req *chat.Request, agent string) (stream.Runner, time.Duration, error) {
	timeout := by.timeout
	if timeout == 0 {
		timeout = r.timeoutOf(req)
	}
	if req.Answer != nil { // neither style nor checks touch it
		runner, err := r.withObject(by.bare, req, agent)
		if err != nil {
			return nil, 0, err
		}
		return by.withLayers(runner), timeout, nil
	}
	if !r.quality.Applies(req, agent) {
		return by.unchecked, timeout, nil
	}
	return by.withLayers(model.Budgeted{Runner: r.quality.Around(by.bare, agent), Tokens: r.tokens}), timeout, nil
}

// withObject returns inner, followed by an object of the form that the request wants. Calls of models
// for the form count for the turn's budget.
func (r *registry) withObject(inner stream.Runner, req *chat.Request, agent string) (stream.Runner, error) {
	opening, key := r.openingOf(req, r.certainAgent(agent))
	around, err := r.forms.withObject(inner, req, opening, key)
	if err != nil {
		return nil, err
	}
	return model.Budgeted{Runner: around, Tokens: r.tokens}, nil
}

// openingOf returns how the only agent that can answer begins a turn, and the key of its model.
func (r *registry) openingOf(req *chat.Request, agent string) (formOpening, string) {
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

// timeoutOf returns how long the turn of a request may take.
func (r *registry) timeoutOf(req *chat.Request) time.Duration {
	if r.team == nil || req.Agent != "" || len(r.spec.Agents) == 1 {
		return r.single
	}
	return r.spec.TurnTimeout
}

// certainAgent returns the id of the agent that answers a request without a workflow, if that is
// certain before the turn. agent is the id in the request, or empty.
func (r *registry) certainAgent(agent string) string {
	if agent == "" && r.team != nil && r.spec.Config.Off {
		return r.spec.Agents[0].ID
	}
	return agent
}
