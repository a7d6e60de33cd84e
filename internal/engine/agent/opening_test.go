package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// listed are tools that nobody calls.
type listed struct{ set *tool.Set }

func (l listed) Tools(context.Context) *tool.Set { return l.set }

func (listed) Call(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{}, errors.New("called")
}

// Who asks in place of an agent without tools asks what it would ask itself. An agent that has
// some, or may have some, must be asked.
func TestOpening(t *testing.T) {
	t.Parallel()
	one := &tool.Set{Specs: []tool.Spec{{Name: "add"}}}
	for _, tt := range []struct {
		name   string
		set    *tool.Set
		access chat.ToolAccess
		app    *chat.Application
		ok     bool
	}{
		{name: "no tools", set: new(tool.Set), ok: true},
		{name: "no tools that may be called", set: one, access: chat.ToolsOff, ok: true},
		{name: "instructions", set: new(tool.Set), app: &chat.Application{Instructions: "Use metres.", MaxTokens: 9}, ok: true},
		{name: "a tool", set: one},
		{name: "a server that is unavailable", set: &tool.Set{Unavailable: []tool.UnavailableServer{{Server: "s"}}}},
		{name: "a tool of the client", set: new(tool.Set), app: &chat.Application{Tools: []chat.ClientTool{{Spec: tool.Spec{Name: "pick"}}}}},
		{name: "an answer of the client's tool", set: new(tool.Set), app: &chat.Application{Continues: []chat.Message{{Role: chat.RoleModel}}}},
	} {
		warm := 0.5
		a := New(Config{Tools: listed{tt.set}, Prompt: "Be an agent.", Temperature: &warm, MaxTokens: 70})
		req := &chat.Request{Input: "x", Tools: tt.access, App: tt.app, Additions: chat.Additions{Data: []chat.Quote{{About: "A", Text: "b"}}}}
		got, ok := a.Opening(t.Context(), req)
		if ok != tt.ok {
			t.Errorf("%s: %t", tt.name, ok)
		}
		if !ok {
			continue
		}
		most := 70
		if tt.app != nil {
			most = tt.app.MaxTokens
			if !strings.HasSuffix(got.System, "Use metres.") {
				t.Errorf("%s: the prompt ends with %.30q", tt.name, got.System)
			}
		}
		if !strings.HasPrefix(got.System, "Be an agent.") || len(got.Messages) != 1 || len(got.Messages[0].Parts) != 2 || got.Temperature != &warm ||
			got.MaxTokens != most || got.NoTools || got.Step != 1 {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}
