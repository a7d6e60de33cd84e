package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

// searchAndLookup: lookup runs when search is unavailable; it has no fallback that counts.
var searchAndLookup = &tool.Set{Specs: []tool.Spec{
	{Name: "search", Server: "one", Fallback: "lookup"},
	{Name: "lookup", Server: "two", Fallback: "search"},
}}

func isUnavailable(noEffect bool) error {
	return &fault.Error{Type: fault.MCPUnavailable, Message: fault.MCPUnavailableMessage, NoEffect: noEffect, Unknown: !noEffect}
}

// failing makes the tools of errs fail after a second; the others say who they are.
func failing(errs map[string]error) func(context.Context, tool.Call) (tool.Result, error) {
	return func(ctx context.Context, c tool.Call) (tool.Result, error) {
		time.Sleep(time.Second)
		if err := errs[c.Name]; err != nil {
			return tool.Result{}, err
		}
		return result(c, c.Name+" "+string(c.Arguments)), nil
	}
}

const (
	searchFailed      = "failed a 1s MCP service temporarily unavailable"
	searchUnavailable = "error mcp_unavailable MCP service temporarily unavailable"
)

func TestSubstitute(t *testing.T) {
	t.Parallel()
	unknown := &fault.Error{Type: fault.ToolFailed, Message: "lost", Unknown: true}
	for name, tt := range map[string]struct {
		errs   map[string]error
		events []string // of the step
		result string
	}{
		"answers": {map[string]error{"search": isUnavailable(true)},
			[]string{"call a search@one {\"q\":1}", searchFailed, searchUnavailable, "call call_1 lookup@two {\"q\":1}", "completed call_1 1s lookup {\"q\":1}"},
			"lookup {\"q\":1}\n[search was unavailable; lookup answered in its place with the same arguments]"},
		"is unavailable itself, and nobody stands in for it": {map[string]error{"search": isUnavailable(true), "lookup": isUnavailable(true)},
			[]string{"call a search@one {\"q\":1}", searchFailed, searchUnavailable, "call call_1 lookup@two {\"q\":1}", "failed call_1 1s MCP service temporarily unavailable", searchUnavailable},
			"! MCP service temporarily unavailable\n[search was unavailable; lookup was called in its place with the same arguments]"},
		"is lost": {map[string]error{"search": isUnavailable(true), "lookup": unknown},
			[]string{"call a search@one {\"q\":1}", searchFailed, searchUnavailable, "call call_1 lookup@two {\"q\":1}", "unknown call_1 1s lost", "error tool_execution_failed lost"},
			"! lost. The call was sent, but whether it took effect is not known. Do not call it again; tell the user that the outcome is unknown.\n[search was unavailable; lookup was called in its place with the same arguments]"},
		"not after an unknown outcome": {map[string]error{"search": isUnavailable(false)},
			[]string{"call a search@one {\"q\":1}", "unknown a 1s MCP service temporarily unavailable", searchUnavailable},
			"! MCP service temporarily unavailable. The call was sent, but whether it took effect is not known. Do not call it again; tell the user that the outcome is unknown."},
		"not when it may have had an effect": {map[string]error{"search": &fault.Error{Type: fault.MCPUnavailable, Message: fault.MCPUnavailableMessage}},
			[]string{"call a search@one {\"q\":1}", searchFailed, searchUnavailable}, "! MCP service temporarily unavailable"},
		"not for the tool's own error": {map[string]error{"search": &fault.Error{Type: fault.ToolFailed, Message: "no", NoEffect: true}},
			[]string{"call a search@one {\"q\":1}", "failed a 1s no", "error tool_execution_failed no"}, "! no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := play(t, scene{
				answers: []answer{wants(call("a", "search", `{"q":1}`)), says("x")},
				tools:   searchAndLookup, call: failing(tt.errs),
			})
			got.want(t, append(append([]string{"start m"}, tt.events...), "delta x", "done stop")...)
			if diff := cmp.Diff([]string{tt.result}, got.results(2)); diff != "" {
				t.Errorf("what the model is told (-want +got):\n%s", diff)
			}
			msgs := got.requests[1].Messages
			if r := msgs[len(msgs)-1].Parts[0].Result; r.ID != "a" || r.Name != "search" {
				t.Errorf("the result is that of %s %q", r.Name, r.ID)
			}
		})
	}
}

// After a substitute whose outcome is unknown neither tool is called again.
func TestNothingRunsAfterALostSubstitute(t *testing.T) {
	t.Parallel()
	lost := &fault.Error{Type: fault.ToolFailed, Message: "lost", Unknown: true}
	got := play(t, scene{
		answers: []answer{wants(call("a", "search", "{}")), wants(call("b", "search", "{}"), call("c", "lookup", "{ }")), says("x")},
		tools:   searchAndLookup, call: failing(map[string]error{"search": isUnavailable(true), "lookup": lost}),
	})
	if len(got.calls) != 2 {
		t.Errorf("%d calls ran, want 2: %v", len(got.calls), got.calls)
	}
}

// The results keep the order of the calls, and a substitute runs at the same time as the others.
func TestSubstituteNextToOtherCalls(t *testing.T) {
	t.Parallel()
	tools := &tool.Set{Specs: append([]tool.Spec{{Name: "slow", Server: "two"}}, searchAndLookup.Specs...)}
	got := play(t, scene{
		answers: []answer{wants(call("a", "search", "{}"), call("b", "slow", "{}")), says("x")}, tools: tools,
		call: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if c.Name == "slow" {
				time.Sleep(1500 * time.Millisecond)
			}
			return failing(map[string]error{"search": isUnavailable(true)})(ctx, c)
		},
	})
	got.want(t, "start m", "call a search@one {}", "call b slow@two {}", searchFailed, searchUnavailable, "call call_1 lookup@two {}",
		"completed call_1 1s lookup {}", "completed b 2.5s slow {}", "delta x", "done stop")
	want := []string{"lookup {}\n[search was unavailable; lookup answered in its place with the same arguments]", "slow {}"}
	if diff := cmp.Diff(want, got.results(2)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// A substitute that is unavailable as well is not offered, and so not called.
func TestSubstituteThatIsNotOffered(t *testing.T) {
	t.Parallel()
	got := play(t, scene{
		answers: []answer{wants(call("a", "search", "{}")), says("x")},
		tools:   &tool.Set{Specs: searchAndLookup.Specs[:1]}, call: failing(map[string]error{"search": isUnavailable(true)}),
	})
	got.want(t, "start m", "call a search@one {}", searchFailed, searchUnavailable, "delta x", "done stop")
}

func TestNoSubstituteWhenTheTurnIsOver(t *testing.T) {
	t.Parallel()
	s := scene{
		answers: []answer{wants(call("a", "search", "{}")), says("x")},
		tools:   searchAndLookup, call: failing(map[string]error{"search": isUnavailable(true)}),
	}
	s.timeout = 900 * time.Millisecond
	if got := play(t, s); len(got.calls) != 1 || got.done.Reason != "timeout" {
		t.Errorf("%d calls ran, reason %q", len(got.calls), got.done.Reason)
	}
}
