package peers

import (
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// aiSDKSeen is what ai_sdk.mjs writes.
type aiSDKSeen struct {
	Turns         [][]string
	Messages      int
	Events, Calls []string
	Errors        []string
	Resent        struct {
		Requests, Messages int
		Parts              []string
	}
}

// What useChat stands on has a conversation with the gateway: the oldest version that takes
// what we send, which refuses any key that it does not know, and a newer one.
func TestAISDK(t *testing.T) {
	for _, name := range []string{"ai5", "ai6"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			installed(t, npmFolder+"/node_modules/"+name)
			g := startGateway(t, nil)
			out, err := exec.CommandContext(t.Context(), node(t), installed(t, npmFolder+"/ai_sdk.mjs"), name, g.base).Output()
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				t.Fatalf("%v: %s", err, exit.Stderr)
			}
			var seen aiSDKSeen
			if err := json.Unmarshal(out, &seen); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for i, tool := range []string{"create_todo", "list_todos", "update_todo"} {
				wantParts(t, seen.Turns[i], "reasoning  done **", "dynamic-tool "+tool+" output-available {", "step-start", "text  done ")
			}
			if seen.Messages != 6 || len(seen.Calls) > 0 || !slices.Contains(seen.Events, "done") {
				t.Errorf("%d messages, the client's calls %v, events %v", seen.Messages, seen.Calls, seen.Events)
			}
			if len(seen.Errors) != 1 || !strings.Contains(seen.Errors[0], "must hold more than white space (req_") {
				t.Errorf("errors: %q", seen.Errors)
			}
			if seen.Resent.Requests != 2 || seen.Resent.Messages != 2 {
				t.Errorf("the answer to a call of the page's: %+v", seen.Resent)
			}
			wantParts(t, seen.Resent.Parts, "dynamic-tool pick_color output-available red", "step-start", "text  done ")
		})
	}
}

// wantParts wants parts with these beginnings, in this order, among those of a message.
func wantParts(t *testing.T, parts []string, want ...string) {
	t.Helper()
	rest := parts
	for _, begin := range want {
		i := slices.IndexFunc(rest, func(part string) bool { return strings.HasPrefix(part, begin) })
		if i < 0 {
			t.Errorf("no part %q in its place in %q", begin, parts)
			return
		}
		rest = rest[i+1:]
	}
}
