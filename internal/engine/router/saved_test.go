package router_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/router"
	paused "sluice/internal/engine/run"
	"sluice/internal/turn/chat"
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

func (*savings) Confirm() error     { return nil }
func (*savings) Begin() func()      { return func() {} }
func (*savings) Together(f func())  { f() }
func (*savings) IsHandedOver() bool { return false }

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

// elsewhere is an agent somewhere else: it saves its task, speaks, and does not come to its end.
// Where the turn goes on it has all of its text.
type elsewhere struct{ resumed []string }

// Run implements stream.Runner.
func (e *elsewhere) Run(_ context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	if req.Resumed != nil {
		e.resumed = append(e.resumed, req.Resumed.By)
		_ = sink.Emit(&stream.Delta{Text: "It "})
		return stream.Result{Reason: stream.Stop}, sink.Emit(&stream.Delta{Text: "rains."})
	}
	e.resumed = append(e.resumed, "")
	if s := req.Facts.Saving; s != nil {
		p, _ := paused.Pause(chat.PausedRemote, map[string]string{"task": "t"})
		s.Save(s.Part, p.Encode())
		_ = sink.Emit(&stream.Delta{Text: "It "})
		s.Save(s.Part, p.Encode()) // again, now behind a piece of its text
	}
	return stream.Result{}, errors.New("it was cut")
}

// An agent somewhere else whose task is known goes on with that, and its whole text is the
// task's; one of which nothing is known, or that is another one by now, has failed with an outcome
// that nobody knows, and is not asked.
func TestAgentsElsewhereGoOn(t *testing.T) {
	t.Parallel()
	task, _ := paused.Pause(chat.PausedRemote, map[string]string{"task": "t"})
	state, _ := paused.Pause(chat.PausedAgent, map[string]string{})
	join := func([][]byte) ([]byte, error) { return state.Encode(), nil }
	for name, tt := range map[string]struct {
		saved *paused.Paused // of its agent; nil: nothing
		local bool           // it is here by now
		begun bool
		runs  []string // how it is asked, in order
		text  string
		lost  bool
	}{
		"its task is known":            {saved: task, begun: true, runs: []string{chat.PausedRemote}, text: "It rains."},
		"its task is not known":        {begun: true, text: "", lost: true},
		"it had not begun":             {runs: []string{""}},
		"it was here":                  {saved: state, begun: true, lost: true},
		"it is here by now":            {saved: task, begun: true, local: true, lost: true},
		"it is here, and was":          {saved: state, begun: true, local: true, runs: []string{chat.PausedAgent}, text: "It rains."},
		"it is here, and begins again": {begun: true, local: true, runs: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := router.Defaults()
			cfg.Off, cfg.Dispatch.Retries, cfg.Agents = true, 0, []router.Agent{{ID: "a", Remote: true, Runner: new(elsewhere)}}
			saved := &savings{parts: map[string][][]byte{}}
			req := &chat.Request{Input: "hi", Facts: chat.Facts{Saving: &chat.Saving{Saver: saved}}}
			_, _ = router.New(cfg).Run(t.Context(), req, new(listening))
			parts := map[string][][]byte{router.SavedPart: saved.parts[router.SavedPart][:1]} // as it stood while the agent worked
			switch tt.saved {
			case task:
				parts["a"] = saved.parts["a"]
			case state:
				parts["a"] = [][]byte{[]byte(`{"state":` + string(state.Encode()) + `}`)}
			}
			joined, err := router.Join(parts, join)
			if err != nil {
				t.Fatal(err)
			}
			a := new(elsewhere)
			cfg.Agents = []router.Agent{{ID: "a", Remote: !tt.local, Runner: a}}
			again, sink := *req, new(listening)
			again.Facts.Saving = nil
			again.Resumed = &chat.Resumed{By: chat.PausedTeam, State: joined, TakenOver: true}
			if tt.begun {
				again.Resumed.Emitted = []chat.PendingCall{{AgentID: "a"}}
			}
			_, err = router.New(cfg).Run(t.Context(), &again, sink)
			if diff := cmp.Diff(tt.runs, a.resumed); diff != "" {
				t.Errorf("how it is asked (-want +got):\n%s", diff)
			}
			f := fault.From(err)
			if lost := err != nil && f.Type == fault.AgentFailed && f.Unknown; lost != tt.lost {
				t.Errorf("lost: %t, want %t: %v", lost, tt.lost, err)
			}
			if tt.text != "" && (sink.text.String() != tt.text || err != nil) {
				t.Errorf("%q, %v; want %q", &sink.text, err, tt.text)
			}
		})
	}
}
