package peers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// try is one call that the model makes, and how it is to end.
type try struct {
	call   string // NAME {ARGUMENTS}
	status string
	want   string // in the result or the error
}

const (
	completed = "completed"
	failed    = "failed"
)

// inOneStep is how many calls of one answer the gateway runs.
const inOneStep = 8

// script makes the model make all calls, as many in one step as are run, and then
// answer.
func script(tries []try) string {
	var b strings.Builder
	for step := range slices.Chunk(tries, inOneStep) {
		for _, c := range step {
			fmt.Fprintf(&b, "call %s\n", c.call)
		}
		b.WriteString("finish STOP\n---\n")
	}
	return b.String() + "text That is all.\nfinish STOP\n---\n"
}

// ends returns how each call ended, in the order in which they were made.
func (tu turn) ends() []event {
	var ends []event
	for _, begun := range tu.calls("in_progress") {
		for _, e := range tu.of("tool_call") {
			if e.CallID == begun.CallID && !inProgress(e) && e.Status != "progress" {
				ends = append(ends, e)
			}
		}
	}
	return ends
}

// reported returns what the model was given for each of its calls, in order.
func (g *gemini) reported(t *testing.T) (texts []string) {
	t.Helper()
	requests := g.Requests()
	var last struct {
		Contents []struct {
			Parts []struct {
				FunctionResponse *struct{ Response map[string]any }
			}
		}
	}
	if err := json.Unmarshal(requests[len(requests)-1].Body, &last); err != nil {
		t.Fatal(err)
	}
	for _, content := range last.Contents {
		for _, part := range content.Parts {
			if part.FunctionResponse != nil {
				texts = append(texts, fmt.Sprint(part.FunctionResponse.Response))
			}
		}
	}
	return texts
}

// conversation is one turn in which the model made calls, seen from both sides.
type conversation struct {
	gateway  *gateway
	ends     []event  // how each call ended, for the client
	reported []string // the same for the model
}

// lenient keeps the simulator from judging the declarations of tools, which is
// what TestServersTogether is for.
const lenient = "lenient\n"

// callAll runs one turn that makes all calls on one server, named peer.
func callAll(t *testing.T, server map[string]any, tries []try) conversation {
	t.Helper()
	return converse(t, scripted(t, script(tries)+lenient), map[string]any{"peer": server}, tries)
}

// callStrictly runs one turn that makes all calls, on any of the servers, with a
// model that refuses what the real one would refuse.
func callStrictly(t *testing.T, servers map[string]any, tries []try) conversation {
	t.Helper()
	return converse(t, scripted(t, script(tries)), servers, tries)
}

func converse(t *testing.T, model *gemini, servers map[string]any, tries []try) conversation {
	t.Helper()
	c := conversation{gateway: startWith(t, model, servers)}
	tu := c.gateway.ask(t, "go on")
	c.ends, c.reported = tu.ends(), model.reported(t)
	if len(c.ends) != len(tries) || len(c.reported) != len(tries) || !tu.done().Success || tu.done().FinalOutput != "That is all." {
		t.Fatalf("%d calls, and %d told, of %d:\n%v", len(c.ends), len(c.reported), len(tries), tu)
	}
	for i, try := range tries {
		if end := c.ends[i]; end.Status != try.status || !strings.Contains(c.reported[i], try.want) {
			t.Errorf("%s: %s, want %s with %q\n%.2000s\n%.2000s", try.call, end.Status, try.status, try.want, c.reported[i], end.raw)
		}
		if end := c.ends[i]; end.Status == completed && !end.Truncated && !strings.Contains(end.Result, try.want) {
			t.Errorf("%s: the client is shown %s", try.call, end.raw)
		}
	}
	return c
}
