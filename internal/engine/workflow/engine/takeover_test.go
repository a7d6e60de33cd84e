package engine

import (
	"fmt"
	"strings"
	"testing"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// A process that takes a run over emits what the log lacks and the run has: ends that were not
// reported, the rest of a text, the end of an attempt that was cut. An attempt that was never
// reported keeps its number, and another one gets the next.
func TestTakeOverEmitsWhatTheLogLacks(t *testing.T) {
	t.Parallel()
	const text = `{"name":"p","entry_point":"first","max_iterations":9,"timeout":60000000000,` +
		`"nodes":[{"id":"first","type":"tool","tool":"s/echo"},{"id":"last","type":"tool","tool":"s/echo"}],"edges":[{"from":"first","to":"last"}]}`
	w, err := graph.Read([]byte(text), Kinds())
	if err != nil {
		t.Fatal(err)
	}
	run := func(node string, status stream.NodeStatus, attempt int) stream.Event {
		return &stream.NodeRun{NodeID: node, Status: status, Attempt: attempt}
	}
	says := func(node, text string) stream.Event {
		d := &stream.Delta{Text: text}
		d.NodeID = node
		return d
	}
	first := []stream.Event{&stream.Start{}, run("first", stream.NodeStarted, 1), run("first", stream.NodeCompleted, 1)}
	done := Ended{Node: "first", Outcome: outcomeCompleted, Followed: []int{0}, Result: 1}
	whole := []Ended{done, {Node: "last", Outcome: outcomeCompleted, Result: 2}}
	open := []Open{{Node: "last", Attempt: 1, Round: 1}}
	for name, tt := range map[string]struct {
		ended   []Ended
		open    []Open
		before  int // ends of an earlier turn
		emitted []stream.Event
		want    string
		attempt int // of the open node
	}{
		"an end":             {[]Ended{done}, open, 0, first[:2], "first completed 1", 1},
		"a whole node":       {[]Ended{done}, open, 0, first[:1], "first started 1, first completed 1", 1},
		"of an earlier turn": {[]Ended{done}, open, 1, first[:1], "", 1},
		"nothing":            {[]Ended{done}, open, 0, first, "", 1},
		"an attempt was cut": {[]Ended{done}, open, 0, append(first[:3:3], run("last", stream.NodeStarted, 1)), "last failed 1 turn_lost", 2},
		"a later one was":    {[]Ended{done}, open, 0, append(first[:3:3], run("last", stream.NodeStarted, 4)), "last failed 4 turn_lost", 5},
		"a skipped node":     {[]Ended{done, {Node: "last", Outcome: outcomeSkipped, Result: -1}}, nil, 0, first, "last skipped 1", 0},
		"that was told":      {[]Ended{done, {Node: "last", Outcome: outcomeSkipped, Result: -1}}, nil, 0, append(first[:3:3], run("last", stream.NodeSkipped, 1)), "", 0},
		"the rest of a text": {whole, nil, 0, append(first[:3:3], run("last", stream.NodeStarted, 1), says("last", "the whole")), `last says " text", last completed 1`, 0},
		"another attempt's":  {whole, nil, 0, append(first[:3:3], run("last", stream.NodeStarted, 1), says("last", "something else")), "last completed 1", 0},
		"a text was cut":     {[]Ended{done}, open, 0, append(first[:3:3], run("last", stream.NodeStarted, 1), says("last", "the w")), `last failed 1 turn_lost, last takes back to ""`, 2},
		"behind another's": {[]Ended{done}, open, 0, append(first[:3:3], run("last", stream.NodeStarted, 1), says("first", "One."), says("", " "), says("last", "the "), says("last", "w")),
			`last failed 1 turn_lost, last takes back to "One."`, 2},
		"that was itself begun again": {[]Ended{done}, open, 0, append(first[:3:3], run("last", stream.NodeStarted, 1), says("last", "a lie"), &stream.Reset{Reason: stream.ResetFallback, Attribution: stream.Attribution{NodeID: "last"}}, says("last", "the w")),
			`last failed 1 turn_lost, last takes back to ""`, 2},
		"all was told": {whole, nil, 0, append(first[:3:3], run("last", stream.NodeStarted, 1), says("last", "the whole text"), run("last", stream.NodeCompleted, 1)), "", 0},
	} {
		r := &Run{
			Header: Header{ID: "task_1", Definition: w.Sum()}, Ended: tt.ended, Progress: Progress{Status: StatusRunning, Retracts: true, Frontier: append([]Open(nil), tt.open...)},
			Messages: []Message{{Role: RoleUser, Content: "go"}, {Role: RoleTool, Node: "first", Content: "1"}, {Role: RoleTool, Node: "last", Content: "the whole text"}},
		}
		if err := r.Join(w); err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for _, ev := range r.TakeOver(func(string) *Entry { return nil }, tt.emitted, tt.before) {
			switch e := ev.(type) {
			case *stream.NodeRun:
				got = append(got, strings.TrimSpace(fmt.Sprint(e.NodeID, " ", e.Status, " ", e.Attempt, " ", e.ErrorType)))
			case *stream.Delta:
				got = append(got, fmt.Sprintf("%s says %q", e.NodeID, e.Text))
			case *stream.Reset:
				got = append(got, fmt.Sprintf("%s takes back to %q", e.NodeID, e.Accumulated))
			}
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: lacks %q, want %s", name, got, tt.want)
		}
		if len(tt.open) > 0 && r.Progress.Frontier[0].Attempt != tt.attempt {
			t.Errorf("%s: it goes on with attempt %d, want %d", name, r.Progress.Frontier[0].Attempt, tt.attempt)
		}
	}
}

// What an attempt had said when its process died is taken back, but for the steps that are kept;
// what is behind it goes on as if nothing had been said. Where that cannot be shown, it stays said.
func TestTakeOverOfACutText(t *testing.T) {
	t.Parallel()
	w, err := graph.Read([]byte(`{"name":"p","entry_point":"go","max_iterations":9,"timeout":60000000000,"nodes":[{"id":"go","type":"agent","agent":"a"}],"edges":[]}`), Kinds())
	if err != nil {
		t.Fatal(err)
	}
	of := stream.Attribution{NodeID: "go"}
	said := func(text string) stream.Event { return &stream.Delta{Text: text, Attribution: of} }
	var often []stream.Event
	for range stream.MaxResets {
		often = append(often, said("I"), &stream.Reset{Reason: stream.ResetTakenOver, Attribution: of})
	}
	for name, tt := range map[string]struct {
		events  []stream.Event
		kept    string
		silent  bool // who reads it cannot be shown that
		want    string
		resets  int
		long    int
		isBlock bool
	}{
		"all of it":           {[]stream.Event{said("I lö")}, "", false, "", 1, 0, false},
		"ended in good order": {[]stream.Event{said("I lo"), &stream.NodeRun{NodeID: "go", Type: "agent", Status: stream.NodeFailed, Attempt: 1, ErrorType: fault.ShuttingDown}}, "", false, "", 1, 0, false},
		"steps stay":          {[]stream.Event{said("I look. "), said("It is")}, "I look. ", false, "I look. ", 1, 8, true},
		"behind another's":    {[]stream.Event{&stream.Delta{Text: "Hm.", Attribution: stream.Attribution{NodeID: "other"}}, said("I look. "), said("It is")}, "I look. ", false, "Hm.I look. ", 1, 11, true},
		"all is kept":         {[]stream.Event{said("I look. ")}, "I look. ", false, "I look. ", 0, 8, true},
		"more is kept":        {[]stream.Event{said("I lo")}, "I look. ", false, "I lo", 0, 4, true},
		"it cannot be shown":  {[]stream.Event{said("I lo")}, "", true, "I lo", 0, 4, true},
		"it was shown often":  {append(often[:len(often):len(often)], said("I lo")), "", false, "I lo", stream.MaxResets, 4, true},
		"often, and no more":  {often, "", false, "", stream.MaxResets, 0, false},
		"it was shown before": {[]stream.Event{said("I"), &stream.Reset{Reason: stream.ResetTakenOver, Attribution: of}}, "", false, "", 1, 0, false},
	} {
		r := &Run{
			Header:   Header{ID: "task_1", Definition: w.Sum()},
			Progress: Progress{Status: StatusRunning, Retracts: !tt.silent, Frontier: []Open{{Node: "go", Attempt: 1, Round: 1}}, Long: 1, Tail: "I"},
			Messages: []Message{{Role: RoleUser, Content: "hi"}},
		}
		if err := r.Join(w); err != nil {
			t.Fatal(name, err)
		}
		emitted := append([]stream.Event{&stream.Start{}, &stream.NodeRun{NodeID: "go", Type: "agent", Status: stream.NodeStarted, Attempt: 1}}, tt.events...)
		lacks := r.TakeOver(func(string) *Entry { return &Entry{Round: 1, Text: tt.kept} }, emitted, 0)
		guard, fold, resets := stream.NewGuard(silence{}), new(stream.Fold), 0
		for _, ev := range append(emitted, lacks...) {
			if err := guard.Emit(ev); err != nil {
				t.Fatal(name, err)
			}
			fold.Add(ev)
			if _, ok := ev.(*stream.Reset); ok {
				resets++
			}
		}
		if p := r.Progress; fold.Text() != tt.want || resets != tt.resets || p.Long != tt.long || p.Block != tt.isBlock || p.Frontier[0].Attempt != 2 {
			t.Errorf("%s: %q after %d resets; %+v", name, fold.Text(), resets, p)
		}
		if over := name == "it was shown often"; r.Overdone() != over {
			t.Errorf("%s: the run is over: %t, want %t", name, r.Overdone(), over)
		}
	}
}

type silence struct{}

func (silence) Emit(stream.Event) error { return nil }
func (silence) Flush() error            { return nil }

// A node that ended while another one spoke is reported when the run continues, without the
// steps in which it has called tools and said nothing: an empty delta breaks the grammar.
func TestSilentStepsAreNotReported(t *testing.T) {
	t.Parallel()
	w, err := graph.Read([]byte(`{"name":"p","entry_point":"go","max_iterations":9,"timeout":60000000000,"nodes":[{"id":"go","type":"tool","tool":"s/echo"},`+
		`{"id":"a","type":"agent","agent":"a"},{"id":"b","type":"agent","agent":"b"}],"edges":[{"from":"go","to":"a"},{"from":"go","to":"b"}]}`), Kinds())
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{
		Header: Header{ID: "task_1", Definition: w.Sum()},
		Ended: []Ended{{Node: "go", Outcome: outcomeCompleted, Followed: []int{0, 1}, Result: 1},
			{Node: "b", Outcome: outcomeCompleted, Result: 4}},
		Progress: Progress{Status: StatusRunning, Frontier: []Open{{Node: "a", Attempt: 1, Round: 1}}},
		Messages: []Message{{Role: RoleUser, Content: "go"}, {Role: RoleTool, Node: "go", Content: "1"},
			{Role: RoleAssistant, Node: "b", ToolCalls: []ToolCall{{ID: "c"}}}, {Role: RoleTool, Node: "b", Content: "r"}, {Role: RoleAssistant, Node: "b", Content: "B."}},
	}
	if err := r.Join(w); err != nil {
		t.Fatal(err)
	}
	runner := &Runner{cfg: Config{Workflow: w}}
	x := newExecution(t.Context(), runner, new(chat.Request), r, nil)
	defer x.stop(nil)
	if got := x.voice.Lines[x.voice.line[w.Node("b")]].Pending; len(got) != 1 || got[0] != "B." {
		t.Errorf("%q wait to be told", got)
	}
}
