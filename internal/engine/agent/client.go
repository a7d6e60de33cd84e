package agent

import (
	"slices"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// Tools of the client: a model is offered them next to those of servers. A turn ends with their
// calls, and the client's next request answers them.

// merged is a set with the client's tools in it, made once for each set of the servers'. The zero
// value is a set without tools.
type merged struct {
	app       *chat.Application
	ofServers *tool.Set // of the servers
	all       *tool.Set
}

// addClientTools returns the tools that a turn may call.
func (m *merged) addClientTools(whole *tool.Set, app *chat.Application) *tool.Set {
	if app == nil || len(app.Tools) == 0 {
		return whole
	}
	if m.ofServers != whole || m.app != app {
		all := &tool.Set{Unavailable: whole.Unavailable, Specs: slices.Clone(whole.Specs), Passing: true}
		for i := range app.Tools {
			all.Specs = append(all.Specs, app.Tools[i].Spec)
		}
		*m = merged{app, whole, all}
	}
	return m.all
}

// runsAtClient reports whether the client runs the tool.
func (m *merged) runsAtClient(spec *tool.Spec) bool {
	return spec != nil && m.app != nil && m.ofServers.Lookup(spec.Name) == nil
}

// applyOptions sets the application's options on a model call.
func applyOptions(req *chat.ModelRequest, app *chat.Application) {
	if app.MaxTokens > 0 && (req.MaxTokens == 0 || app.MaxTokens < req.MaxTokens) {
		req.MaxTokens = app.MaxTokens
	}
	if c := app.Choice; c.Must && req.Step == 1 && offersTool(req.Tools, c.Name) {
		req.ForceTool, req.Tool = true, c.Name
	}
}

// offersTool reports whether a tool is on offer; an empty name: any.
func offersTool(tools *tool.Set, name string) bool {
	return len(tools.Specs) > 0 && (name == "" || tools.Lookup(name) != nil)
}

// notWithApproval is the result of a client's call next to a call that waits for a person. A turn
// can wait for only one of the two.
const notWithApproval = "another call of this step waits for a person's approval. Call it again if it is still needed."

// requireClientCalls ends the turn with the calls that the client must run, unless others wait for a
// person.
func (t *turn) requireClientCalls(jobs []*job, waits bool) {
	if waits {
		return
	}
	for _, j := range jobs {
		if !j.client {
			continue
		}
		if t.required == nil {
			t.required, t.state.Reason = new(stream.Required), stream.ClientTools
		}
		t.required.Calls = append(t.required.Calls, j.event)
	}
	if t.required != nil {
		t.informApplication(jobs)
	}
}

// informApplication hands the message with the calls to the application, if it wants that.
func (t *turn) informApplication(jobs []*job) {
	if t.req.App == nil || t.req.App.Called == nil {
		return
	}
	if m, ok := t.forClient(jobs); ok {
		t.req.App.Called(m)
	}
}

// forClient returns the model's message with the calls of the client alone. ok is false if its first
// call is not one of them: some models sign that for all.
func (t *turn) forClient(jobs []*job) (m chat.Message, ok bool) {
	m = t.state.Messages[len(t.state.Messages)-1]
	var parts []chat.Part
	n := 0
	for _, p := range m.Parts {
		if p.Call != nil {
			if n == len(jobs) {
				return m, false
			}
			j := jobs[n]
			if n++; !j.client {
				if n == 1 {
					return m, false
				}
				continue
			}
			own := *p.Call
			own.ID = j.event.ID
			p.Call = &own
		}
		parts = append(parts, p)
	}
	m.Parts = parts
	return m, n > 0
}

// capResults returns the client's results, cut to the length that results of servers may have.
func capResults(messages []chat.Message) []chat.Message {
	capped := slices.Clone(messages)
	for i := range capped {
		m := &capped[i]
		m.Parts = slices.Clone(m.Parts)
		for k := range m.Parts {
			if r := m.Parts[k].Result; r != nil && len(r.Text) > maxForModel {
				short := *r
				short.Text = capResult(r.Text)
				m.Parts[k].Result = &short
			}
		}
	}
	return capped
}
