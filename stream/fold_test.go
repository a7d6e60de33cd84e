package stream_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// folded is each event that a Fold notes, with what it comes to.
func folded() map[stream.Event]func(*stream.Fold) any {
	call := stream.Call{ID: "c", Tool: "t"}
	return map[stream.Event]func(*stream.Fold) any{
		&stream.Delta{Text: "a"}:                                   func(f *stream.Fold) any { return f.Pieces },
		&stream.ToolRequired{Call: call}:                           func(f *stream.Fold) any { return f.Required },
		&stream.ToolStarted{Call: call}:                            func(f *stream.Fold) any { return f.Calls[1:] },
		&stream.ToolCompleted{Call: stream.Call{ID: "open"}}:       func(f *stream.Fold) any { return f.Calls[0].Outcome },
		&stream.ToolFailed{Call: stream.Call{ID: "open"}}:          func(f *stream.Fold) any { return f.Calls[0].Outcome },
		&stream.ToolUnknown{Call: stream.Call{ID: "open"}}:         func(f *stream.Fold) any { return f.Calls[0].Outcome },
		&stream.AgentRun{AgentID: "x", Status: stream.AgentFailed}: func(f *stream.Fold) any { return f.Runs },
		&stream.Route{AgentID: "x"}:                                func(f *stream.Fold) any { return f.Route },
		&stream.Error{Fatal: true}:                                 func(f *stream.Fold) any { return f.Fatal() },
		&stream.Approval{ID: "q"}:                                  func(f *stream.Fold) any { return f.Questions },
		&stream.Done{Reason: stream.Stop}:                          func(f *stream.Fold) any { return f.Done },
	}
}

// passedOver are the events that are of no summary.
func passedOver() []stream.Event {
	return []stream.Event{
		&stream.Start{}, &stream.Thinking{}, &stream.ToolProgress{}, &stream.InnerDelta{}, &stream.ModelChanged{}, &stream.Quality{}, &stream.ChannelMessage{}, &stream.NodeRun{},
	}
}

// Each event of the vocabulary is noted, or is one of those that are passed over.
func TestFoldReadsEveryEvent(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	add := func(ev stream.Event) *stream.Fold {
		f := &stream.Fold{Calls: stream.Calls{{Call: stream.Call{ID: "open"}}}}
		f.Add(ev)
		known[reflect.TypeOf(ev).Elem().Name()] = true
		return f
	}
	for ev, of := range folded() {
		if reflect.ValueOf(of(add(ev))).IsZero() {
			t.Errorf("%T is not noted", ev)
		}
	}
	for _, ev := range passedOver() {
		if diff := cmp.Diff(add(&stream.ToolProgress{}), add(ev)); diff != "" {
			t.Errorf("%T is noted (-want +got):\n%s", ev, diff)
		}
	}
	known["Reset"] = true // of a text that there is: see TestResetOfATurn
	files, _ := filepath.Glob("*.go")
	events := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func \(\w* ?\*?(\w+)\) markEvent\(\)`).FindAllSubmatch(text, -1) {
			events++
			if name := string(m[1]); !known[name] {
				t.Errorf("%s: a Fold neither notes %s nor passes it over: see folded and passedOver", file, name)
			}
		}
	}
	if events < 15 {
		t.Errorf("only %d events were found in the files of the package", events)
	}
}

// A Fold notes the parts that are wanted alone, and the ends of a turn always.
func TestFoldNotesItsPartsAlone(t *testing.T) {
	t.Parallel()
	parts := map[stream.Part]string{
		0: "answer calls payloads runs", stream.Ends: "", stream.Answer: "answer", stream.Tools: "calls", stream.Payloads: "",
		stream.Agents: "runs", stream.Tools | stream.Payloads | stream.Answer: "answer calls payloads",
	}
	for only, want := range parts {
		f := stream.Fold{Only: only}
		for _, ev := range []stream.Event{
			&stream.Delta{Text: "abc"}, &stream.ToolStarted{Call: stream.Call{ID: "open", Arguments: []byte(`{}`)}}, &stream.ToolCompleted{Call: stream.Call{ID: "open"}, Result: "good"},
		} {
			f.Add(ev)
		}
		for ev := range folded() {
			f.Add(ev)
		}
		var got []string
		note := func(part string, is bool) {
			if is {
				got = append(got, part)
			}
		}
		note("answer", f.Text() != "")
		note("calls", len(f.Calls) > 0)
		note("payloads", len(f.Calls) > 0 && f.Calls[0].Arguments != nil)
		note("runs", len(f.Runs) > 0)
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" || f.Size != 4 || f.Route == nil || f.Questions == nil || f.Reason() != stream.Stop || len(f.Errors) != 1 {
			t.Errorf("%b: %+v (-want +got):\n%s", only, f, diff)
		}
	}
}

// Calls stand in the order of their starts, whichever ends first, and none of their payloads
// is the sender's.
func TestCallsAreInTheirOrder(t *testing.T) {
	t.Parallel()
	var calls stream.Calls
	call := func(id string) stream.Call { return stream.Call{ID: id, Arguments: []byte(`{}`)} }
	arguments := []byte(`{"a":1}`)
	calls.Add(&stream.ToolStarted{Call: stream.Call{ID: "a", Arguments: arguments}, Repeatable: true})
	arguments[1] = 'x' // its sender uses it again
	for _, ev := range []stream.Event{
		&stream.Delta{Text: "none"}, &stream.ToolStarted{Call: call("b")}, &stream.ToolStarted{Call: call("c")}, &stream.ToolStarted{Call: call("d")},
		&stream.ToolUnknown{Call: call("c"), Message: "lost", Duration: 3}, &stream.ToolFailed{Call: call("b"), Message: "broken", Duration: 2},
		&stream.ToolCompleted{Call: call("a"), Result: "good", Duration: 1}, &stream.ToolCompleted{Call: call("else"), Result: "of nobody"},
	} {
		calls.Add(ev)
	}
	var got []string
	for _, c := range calls {
		got = append(got, fmt.Sprint(c.ID, " ", string(c.Arguments), " ", c.Outcome, " ", c.Result, " ", int(c.Duration), " ", c.Repeatable))
	}
	want := []string{`a {"a":1} completed good 1 true`, "b {} failed broken 2 false", "c {} unknown lost 3 false", "d {}   0 false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each part of an agent is one run, from its start to its end; one that begins again has
// another.
func TestRunsOfAgents(t *testing.T) {
	t.Parallel()
	var f stream.Fold
	yes, no := true, false
	for i, ev := range []stream.Event{
		&stream.AgentRun{AgentID: "a", Status: stream.AgentStarted}, &stream.Delta{Text: "four"},
		&stream.AgentRun{AgentID: "a", SessionID: "s", Status: stream.AgentStarted}, &stream.AgentRun{AgentID: "a", Status: stream.AgentRetrying},
		&stream.AgentRun{AgentID: "a", SessionID: "s", Status: stream.AgentFailed, Success: &no}, &stream.AgentRun{AgentID: "a", Status: stream.AgentCompleted, Success: &yes},
		&stream.AgentRun{AgentID: "a", Status: stream.AgentStarted},
	} {
		f.At = time.Duration(i)
		f.Add(ev)
	}
	var got []string
	for _, r := range f.Runs {
		got = append(got, fmt.Sprint(r.AgentID, r.SessionID, " ", r.Status, " ", int(r.Began), " ", r.From))
	}
	if diff := cmp.Diff([]string{"a completed 0 0", "as failed 2 4", "a started 6 4"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The answer is noted up to the piece that goes beyond the bound, and its size is that of all.
func TestFoldBoundsTheAnswer(t *testing.T) {
	t.Parallel()
	f := stream.Fold{Max: 3}
	for range 4 {
		f.Add(&stream.Delta{Text: "ab"})
	}
	if f.Text() != "abab" || f.Size != 8 {
		t.Errorf("%q of %d bytes", f.Text(), f.Size)
	}
}

// A turn has failed with its last error alone, and no reason before its end.
func TestFoldOfAFailure(t *testing.T) {
	t.Parallel()
	var f stream.Fold
	f.Add(&stream.Error{Type: fault.ToolFailed})
	if f.Fatal() != nil || f.Reason() != "" {
		t.Errorf("%+v, %q", f.Fatal(), f.Reason())
	}
	f.Add(&stream.Error{Type: fault.Timeout, Fatal: true})
	if f.Fatal() == nil || f.Fatal().Type != fault.Timeout {
		t.Errorf("%+v", f.Fatal())
	}
}

// Without the parts that cost an answer is counted, and nothing is allocated.
func TestFoldOfEndsAllocatesNothing(t *testing.T) {
	f, d := stream.Fold{Only: stream.Ends}, &stream.Delta{Text: "a piece"}
	if n := testing.AllocsPerRun(100, func() { f.Add(d) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
