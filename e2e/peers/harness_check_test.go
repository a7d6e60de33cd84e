package peers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The harness itself works: the gateway with what is built in, and no peer at all.
func TestHarness(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	tu := g.ask(t, "Add buy milk to my list")
	if diff := cmp.Diff([]string{"create_todo"}, tu.done().ToolsCalled); diff != "" || !tu.done().Success {
		t.Errorf("tools_called (-want +got):\n%s\n%v", diff, tu)
	}
}

// A scripted Gemini speaks for the model, one script for each marker.
func TestHarnessScripts(t *testing.T) {
	t.Parallel()
	g := startGateway(t, byMarker(t, map[string]string{
		"turn-a": "text a is here\nfinish STOP",
		"turn-b": "text b is here\nfinish STOP",
	}).env())
	for _, name := range []string{"a", "b"} {
		if got, want := g.ask(t, "turn-"+name).done().FinalOutput, name+" is here"; got != want {
			t.Errorf("turn %s: %q, want %q", name, got, want)
		}
	}
}
