package agent_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// ofClient is a request whose client runs the tool alarm.
func ofClient(change func(*chat.Application)) chat.Request {
	app := &chat.Application{Tools: []chat.ClientTool{{Spec: tool.Spec{Name: "alarm", InputSchema: []byte(`{"type":"object"}`)}}}}
	if change != nil {
		change(app)
	}
	return chat.Request{Input: "hi", App: app}
}

// The servers' calls of a step run first; those of the client end the turn, in their order.
func TestCallsForTheClient(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		calls []tool.Call
		want  []string
		ran   int
	}{
		"one":            {[]tool.Call{call("a", "alarm", "{}")}, []string{"start m", "*stream.ToolRequired", "done client_tools"}, 0},
		"two":            {[]tool.Call{call("a", "alarm", "{}"), call("b", "alarm", `{"n":1}`)}, []string{"start m", "*stream.ToolRequired", "*stream.ToolRequired", "done client_tools"}, 0},
		"and a server's": {[]tool.Call{call("a", "alarm", "{}"), call("b", "read", "{}")}, []string{"start m", "call b read@todo {}", "completed b 0s ok", "*stream.ToolRequired", "done client_tools"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := play(t, scene{request: ofClient(nil), answers: []answer{wants(tt.calls...)}})
			got.want(t, tt.want...)
			if !got.requests[0].Tools.Passing {
				t.Error("the tools of one client are taken for tools that stay")
			}
			if len(got.calls) != tt.ran || len(got.requests) != 1 {
				t.Errorf("%d calls ran, and the model was asked %d times", len(got.calls), len(got.requests))
			}
			if n := len(got.done.Tools); n != tt.ran {
				t.Errorf("done reports %d tools, want %d", n, tt.ran)
			}
		})
	}
}

// A turn waits for a person or for its client, not for both: the client's calls are refused, which
// the model sees.
func TestClientCallNextToAQuestion(t *testing.T) {
	t.Parallel()
	s := scene{Config: held, request: ofClient(nil), answers: []answer{wants(call("a", "add", "{}"), call("b", "alarm", "{}")), says("done")}}
	s.wrap = func(a *agent.Agent) stream.Runner { return asking{a, may, always(chat.Approve, nil)} }
	got := play(t, s)
	want := []string{"ok", "Not executed: another call of this step waits for a person's approval. Call it again if it is still needed."}
	if diff := cmp.Diff(want, results(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.done.Reason != stream.Stop || strings.Contains(strings.Join(got.events, "\n"), "ToolRequired") {
		t.Errorf("the events are %q", got.events)
	}
}

// What the application asks of model calls: a limit holds for each, a choice for the first.
func TestWhatTheApplicationAsks(t *testing.T) {
	t.Parallel()
	type seen struct {
		Max   int
		Force bool
		Tool  string
		Tools string
	}
	for name, tt := range map[string]struct {
		change func(*chat.Application)
		want   []seen
	}{
		"nothing":               {nil, []seen{{0, false, "", "add read alarm"}, {0, false, "", "add read alarm"}}},
		"no tools":              {func(a *chat.Application) { a.Tools = nil }, []seen{{0, false, "", "add read"}, {0, false, "", "add read"}}},
		"a limit":               {func(a *chat.Application) { a.MaxTokens = 9 }, []seen{{9, false, "", "add read alarm"}, {9, false, "", "add read alarm"}}},
		"whichever":             {func(a *chat.Application) { a.Choice.Must = true }, []seen{{0, true, "", "add read alarm"}, {0, false, "", "add read alarm"}}},
		"a name":                {func(a *chat.Application) { a.Choice = chat.ToolChoice{Must: true, Name: "alarm"} }, []seen{{0, true, "alarm", "add read alarm"}, {0, false, "", "add read alarm"}}},
		"one that is not there": {func(a *chat.Application) { a.Choice = chat.ToolChoice{Must: true, Name: "x"} }, []seen{{0, false, "", "add read alarm"}, {0, false, "", "add read alarm"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := play(t, scene{request: ofClient(tt.change), answers: []answer{wants(call("a", "read", "{}")), says("done")}})
			var got []seen
			for _, r := range out.requests {
				var names []string
				for _, s := range r.Tools.Specs {
					names = append(names, s.Name)
				}
				got = append(got, seen{r.MaxTokens, r.ForceTool, r.Tool, strings.Join(names, " ")})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What the client has answered follows the input, with results as long as a server's may be.
func TestResultsOfTheClient(t *testing.T) {
	t.Parallel()
	asked, long := call("a", "alarm", "{}"), result(call("a", "alarm", "{}"), strings.Repeat("x", 40<<10))
	continues := []chat.Message{
		{Role: chat.RoleModel, Maker: chat.ClientOrigin, Origin: chat.ClientOrigin, Parts: []chat.Part{{Call: &asked}}},
		{Role: chat.RoleUser, Origin: chat.ClientOrigin, Parts: []chat.Part{{Result: &long}}},
	}
	got := play(t, scene{request: ofClient(func(a *chat.Application) { a.Continues = continues }), answers: []answer{says("done")}})
	messages := got.requests[0].Messages
	if len(messages) != 3 || messages[0].Text() != begun+"hi" || messages[1].Parts[0].Call.Name != "alarm" {
		t.Fatalf("the model gets %+v", messages)
	}
	if n := len(messages[2].Parts[0].Result.Text); n < 32<<10 || n > 33<<10 {
		t.Errorf("the result has %d bytes", n)
	}
	if len(long.Text) != 40<<10 {
		t.Error("the request itself was changed")
	}
	got = play(t, scene{request: ofClient(func(a *chat.Application) { a.Tools, a.Continues = nil, continues }), answers: []answer{says("done")}})
	if again := got.requests[0].Messages; len(again) != 3 || again[1].Parts[0].Call == nil || again[2].Parts[0].Result == nil {
		t.Errorf("without the tool on offer the model gets %+v", again)
	}
}

// Who keeps the calls of a client gets them as their model wants them back, under the ids that the
// client gets; without those of servers, unless the first is one: some models sign that for all.
func TestCallsAreKeptForTheClient(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		calls []tool.Call
		want  string
	}{
		"two":                      {[]tool.Call{call("a", "alarm", "{}"), call("", "alarm", `{"n":1}`)}, "a call_1"},
		"and a server's":           {[]tool.Call{call("a", "alarm", "{}"), call("b", "read", "{}")}, "a"},
		"a server's in front":      {[]tool.Call{call("b", "read", "{}"), call("a", "alarm", "{}")}, ""},
		"none of the client's own": {[]tool.Call{call("b", "read", "{}")}, ""},
	} {
		var got []string
		request := ofClient(func(app *chat.Application) {
			app.Called = func(m chat.Message) {
				for _, p := range m.Parts {
					if p.Call != nil {
						got = append(got, p.Call.ID)
					}
				}
			}
		})
		play(t, scene{request: request, answers: []answer{wants(tt.calls...), says("done")}})
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
