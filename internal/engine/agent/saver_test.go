package agent_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// savings is a chat.Saver that keeps all parts.
type savings struct {
	mu      sync.Mutex // guards the fields below
	parts   [][]byte
	unsafe  int
	refused error
}

func (s *savings) Save(_ string, state []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, bytes.Clone(state))
}

func (s *savings) Confirm() error { return s.refused }

func (s *savings) Begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsafe++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unsafe--
	}
}

func (*savings) Together(f func())    { f() }
func (s *savings) IsHandedOver() bool { return false }

// twoKinds has a tool that reads and one that must not run twice.
func twoKinds() *tool.Set {
	return &tool.Set{Specs: []tool.Spec{
		{Name: "look", Server: "todo", Annotations: tool.Annotations{ReadOnly: true, Idempotent: true}}, {Name: "add", Server: "todo"},
	}}
}

// steps asks for both tools, and then answers.
func steps() []answer {
	look, add := call("l", "look", `{}`), call("a", "add", `{"n":1}`)
	return []answer{chunks(text("First. "), chat.Chunk{Parts: []chat.Part{{Call: &look}, {Call: &add}}}, end(chat.FinishStop)), says("Done.")}
}

// A turn is saved before its calls run, and again when one has a result that must not run twice.
// A turn without calls saves nothing.
func TestTurnsAreSaved(t *testing.T) {
	t.Parallel()
	for want, answers := range map[int][]answer{0: {says("Hello")}, 2: steps()} {
		s := new(savings)
		got := play(t, scene{answers: answers, tools: twoKinds(), request: chat.Request{Facts: chat.Facts{Saving: &chat.Saving{Saver: s}}}})
		if len(s.parts) != want || got.err != nil || s.unsafe != 0 {
			t.Errorf("%d parts, want %d; %v; %d calls are under way", len(s.parts), want, got.err, s.unsafe)
		}
	}
}

// Without the store a call that must not run twice is not made, and the model learns why; others
// are. A turn that is another's makes none.
func TestCallsWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := &savings{refused: &fault.Error{Type: fault.StoreUnavailable, Message: "unavailable"}}
	got := play(t, scene{answers: steps(), tools: twoKinds(), request: chat.Request{Facts: chat.Facts{Saving: &chat.Saving{Saver: s}}}})
	if len(got.calls) != 1 || got.calls[0].Name != "look" || got.done.Reason != stream.Stop {
		t.Errorf("the calls are %v, the end is %+v", got.calls, got.done)
	}
	if r := got.requests[1].Messages[2].Parts[1].Result; !r.IsError || !strings.HasPrefix(r.Text, "Not executed: the store") {
		t.Errorf("the model is given %+v", r)
	}
	if !slices.ContainsFunc(got.faults, func(e stream.Error) bool { return e.Type == fault.StoreUnavailable && !e.Fatal }) {
		t.Errorf("the faults are %+v", got.faults)
	}
	s.refused = &fault.Error{Type: fault.TurnLost, Message: "lost"}
	if got = play(t, scene{answers: steps(), tools: twoKinds(), request: chat.Request{Facts: chat.Facts{Saving: &chat.Saving{Saver: s}}}}); len(got.calls) > 0 {
		t.Errorf("a turn that is another's makes %v", got.calls)
	}
}

// From each state that was saved the turn goes on: what has a result is not made again, what reads
// is, and of the rest the model learns that nobody knows, or a person is asked.
func TestTurnsGoOnFromWhatWasSaved(t *testing.T) {
	t.Parallel()
	s := new(savings)
	play(t, scene{answers: steps(), tools: twoKinds(), request: chat.Request{Facts: chat.Facts{Saving: &chat.Saving{Saver: s}}}})
	for n, want := range []string{"nobody knows", "it has run"} {
		state, err := agent.Join(s.parts[:n+1])
		if err != nil {
			t.Fatal(err)
		}
		req := chat.Request{Resumed: &chat.Resumed{By: chat.PausedAgent, State: state, TakenOver: true}}
		got := play(t, scene{answers: steps()[1:], tools: twoKinds(), request: req})
		if len(got.calls) != 1 || got.calls[0].Name != "look" {
			t.Errorf("%s: the calls are %v", want, got.calls)
		}
		result := got.requests[0].Messages[2].Parts[1].Result
		if unknown := strings.Contains(result.Text, "not known"); unknown != (n == 0) || result.IsError != (n == 0) {
			t.Errorf("%s: the model is given %+v", want, result)
		}
	}

	state, _ := agent.Join(s.parts[:1])
	var asked *chat.Paused
	req := chat.Request{Resumed: &chat.Resumed{By: chat.PausedAgent, State: state, TakenOver: true}}
	req.Facts.Ask = func(p *chat.Paused) string { asked = p; return "" }
	config := agent.Config{AskLost: func(server string) bool { return server == "todo" }}
	got := play(t, scene{Config: config, tools: twoKinds(), request: req})
	if asked == nil || asked.Questions[0].Kind != chat.AskOutcome || len(asked.Questions[0].Calls) != 1 || len(got.calls) != 1 {
		t.Fatalf("asked %+v; made %v", asked, got.calls)
	}
	for action, want := range map[chat.Action]string{chat.Approve: "ok", chat.Modify: "it was paid", chat.Reject: "A person says that this call was not carried out."} {
		d := chat.Decision{CallID: asked.Questions[0].Calls[0].ID, Action: action, Result: "it was paid"}
		again := chat.Request{Resumed: &chat.Resumed{By: chat.PausedAgent, State: asked.State, Decisions: []chat.Decision{d}}}
		got := play(t, scene{Config: config, answers: steps()[1:], tools: twoKinds(), request: again})
		if made := len(got.calls) == 1; made != (action == chat.Approve) {
			t.Errorf("%s: made %v", action, got.calls)
		}
		if r := got.requests[0].Messages[2].Parts[1].Result; r.Text != want || r.IsError != (action == chat.Reject) {
			t.Errorf("%s: the model is given %+v, want %q", action, r, want)
		}
	}
}

// Where the tools are not any more, no call is made again: the model learns that, and of one that
// must not be made twice that nobody knows what became of it.
func TestTurnsGoOnWithoutTheirTools(t *testing.T) {
	t.Parallel()
	s := new(savings)
	play(t, scene{answers: steps(), tools: twoKinds(), request: chat.Request{Facts: chat.Facts{Saving: &chat.Saving{Saver: s}}}})
	state, err := agent.Join(s.parts[:1])
	if err != nil {
		t.Fatal(err)
	}
	req := chat.Request{Resumed: &chat.Resumed{By: chat.PausedAgent, State: state, TakenOver: true}}
	got := play(t, scene{answers: steps()[1:], tools: &tool.Set{}, request: req})
	if len(got.calls) > 0 || got.err != nil || got.done.Reason != stream.Stop {
		t.Fatalf("the calls are %v, the end is %+v, %v", got.calls, got.done, got.err)
	}
	for i, want := range []string{"not available any more", "not known"} {
		if r := got.requests[0].Messages[2].Parts[i].Result; !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("the model is given %+v, want %q", r, want)
		}
	}
}
