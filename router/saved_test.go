package router_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"sluice/chat"
	"sluice/router"
	"sluice/stream"
)

// savings is a chat.Saver that keeps all parts.
type savings struct {
	mu    sync.Mutex // guards the field below
	parts map[string][][]byte
}

func (s *savings) Save(part string, state []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[part] = append(s.parts[part], bytes.Clone(state))
}

func (*savings) Confirm() error { return nil }
func (*savings) Begin() func()  { return func() {} }
func (*savings) Left() bool     { return false }

// speaker says a text, and counts how often it is asked.
type speaker struct {
	text string
	runs int
}

// Run implements stream.Runner.
func (s *speaker) Run(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	s.runs++
	return stream.Result{Reason: stream.Stop}, sink.Emit(&stream.Delta{Text: s.text})
}

// listening is a sink that keeps the text and counts the rest.
type listening struct {
	text   strings.Builder
	resets int
}

func (h *listening) Emit(ev stream.Event) error {
	switch e := ev.(type) {
	case *stream.Delta:
		h.text.WriteString(e.Text)
	case *stream.Reset:
		h.resets++
	}
	return nil
}

func (*listening) Flush() error { return nil }

// An agent that had ended does not run again where its team goes on, be it the only one; what it
// said is said as far as it was not out.
func TestEndedAgentsDoNotRunAgain(t *testing.T) {
	t.Parallel()
	a := &speaker{text: "Hello there."}
	cfg := router.Defaults()
	cfg.Off, cfg.Agents = true, []router.Agent{{ID: "a", Runner: a}}
	team, saved := router.New(cfg), &savings{parts: map[string][][]byte{}}
	req := &chat.Request{Input: "hi", Facts: chat.Facts{Saving: &chat.Saving{Saver: saved}}}
	if _, err := team.Run(t.Context(), req, new(listening)); err != nil {
		t.Fatal(err)
	}
	state, err := router.Join(saved.parts, nil)
	if err != nil {
		t.Fatal(err)
	}
	for out, want := range map[string]struct {
		text   string
		resets int
	}{"": {"Hello there.", 0}, "Hello ": {"there.", 0}, "Hello there.": {"", 0}, "Hello you": {"there.", 1}, "Hello there. And more": {"", 1}} {
		again, sink := *req, new(listening)
		again.Resumed = &chat.Resumed{By: chat.PausedTeam, State: state, TakenOver: true, Said: out}
		result, err := team.Run(t.Context(), &again, sink)
		if err != nil || result.Reason != stream.Stop || sink.text.String() != want.text || sink.resets != want.resets {
			t.Errorf("behind %q: %v, %s, %q, %d resets", out, err, result.Reason, &sink.text, sink.resets)
		}
	}
	if a.runs != 1 {
		t.Errorf("it runs %d times", a.runs)
	}
	for what, parts := range map[string]map[string][][]byte{"nothing": nil, "cut": {router.SavedPart: {[]byte(`{"schema":3`)}}, "no agents": {router.SavedPart: {[]byte(`{"schema":3,"paused":{}}`)}}} {
		if _, err := router.Join(parts, nil); err == nil {
			t.Errorf("%s is joined", what)
		}
	}
}
