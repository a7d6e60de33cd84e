package agent_test

import (
	"context"
	"slices"
	"testing"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

// That a server cannot be used is reported once a turn, whatever shows it: the start of the
// turn, or calls, in one step or in several. Of another server it is reported as well.
func TestUnavailableServerIsReportedOnce(t *testing.T) {
	t.Parallel()
	down := func(server string) *fault.Error {
		return &fault.Error{Type: fault.MCPUnavailable, Message: "down", Service: "mcp:" + server}
	}
	servers := map[string]string{"add": "todo", "read": "files"}
	s := scene{
		call: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Result{}, down(servers[c.Name])
		},
		tools: &tool.Set{
			Specs:       []tool.Spec{{Name: "add", Server: "todo"}, {Name: "read", Server: "files"}},
			Unavailable: []tool.UnavailableServer{{Server: "mail", Err: down("mail")}, {Server: "todo", Err: down("todo")}},
		},
		answers: []answer{wants(call("a", "add", `{"n":1}`)), wants(call("b", "add", `{"n":2}`)), wants(call("c", "read", "{}")), says("x")},
	}
	for _, cut := range []bool{false, true} {
		s.cut = cut
		got := play(t, s)
		got.want(t, "start m", "error mcp_unavailable down",
			`call a add@todo {"n":1}`, "failed a 0s down", "error mcp_unavailable down",
			`call b add@todo {"n":2}`, "failed b 0s down",
			"call c read@files {}", "failed c 0s down", "error mcp_unavailable down", "delta x", "done stop")
		for i, service := range []string{"mcp:mail", "mcp:todo", "mcp:files"} {
			if i < len(got.faults) && got.faults[i].Service != service {
				t.Errorf("error %d is of %s, want %s", i+1, got.faults[i].Service, service)
			}
		}
	}
}

// A tool whose server came back after the turn has begun is run, though the turn does not list
// it. Nobody knows here what it does, so that a turn that ends in the call must not run again.
func TestCallOfAToolThatIsNotListedMayChangeSomething(t *testing.T) {
	t.Parallel()
	got := play(t, scene{
		call:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: "added"}, nil },
		tools:   &tool.Set{Specs: []tool.Spec{{Name: "read", Server: "files", Annotations: tool.Annotations{ReadOnly: true}}}},
		answers: []answer{wants(call("a", "add", "{}"), call("b", "read", "{}")), says("x")},
	})
	if want := []string{"b"}; !slices.Equal(got.safe, want) || len(got.calls) != 2 {
		t.Errorf("safe to repeat: %q of %d calls, want %q of 2", got.safe, len(got.calls), want)
	}
}
