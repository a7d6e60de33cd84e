package router_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/engine/router"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// chaos is an agent that says its own words in order, calls tools, is slow, and fails
// as its seed has it.
type chaos struct {
	t        *testing.T
	id       string
	seed     uint64
	mu       *sync.Mutex // guards the fields below
	attempts *int
	changed  *bool // a tool ran that must not run again
}

func (c chaos) Run(ctx context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	c.mu.Lock()
	*c.attempts++
	attempt := *c.attempts
	again := *c.changed
	c.mu.Unlock()
	if again {
		c.t.Errorf("%s runs again after a tool that must not", c.id)
	}
	r := rand.New(rand.NewPCG(c.seed, uint64(attempt)))
	for i := range 1 + r.IntN(6) {
		if r.IntN(3) > 0 {
			select {
			case <-time.After(time.Duration(r.IntN(3000)) * time.Millisecond):
			case <-ctx.Done():
				return stream.Result{}, fault.Cause(ctx)
			}
		}
		var err error
		switch r.IntN(8) {
		case 0, 1, 2:
			err = sink.Emit(&stream.Delta{Text: fmt.Sprintf("<%s.%d.%d>", c.id, attempt, i)})
		case 3:
			err = sink.Emit(&stream.Thinking{Content: "hm"})
		case 4:
			err = c.call(sink, r, attempt, i)
		case 5:
			return stream.Result{}, &fault.Error{Type: fault.ModelUnavailable, Message: "away"}
		case 6:
			if r.IntN(2) == 0 {
				panic("a bug")
			}
			return stream.Result{}, &fault.Error{Type: fault.ModelError, Message: "broken"}
		}
		if err == nil {
			err = sink.Flush()
		}
		if err != nil {
			return stream.Result{}, err
		}
	}
	return stream.Result{Reason: stream.Stop}, nil
}

func (c chaos) call(sink stream.Sink, r *rand.Rand, attempt, i int) error {
	call := stream.Call{ID: fmt.Sprintf("call_%d", i+1), Tool: "t", Server: "s"}
	repeatable := r.IntN(2) == 0
	if err := sink.Emit(&stream.ToolStarted{Call: call, Repeatable: repeatable}); err != nil {
		return err
	}
	if !repeatable {
		c.mu.Lock()
		*c.changed = true
		c.mu.Unlock()
	}
	return sink.Emit(&stream.ToolCompleted{Call: call, Result: "ok"})
}

// watch notes what a client sees.
type watch struct {
	t      *testing.T
	slow   time.Duration
	open   map[string]bool
	text   strings.Builder
	speech []string // whose delta came, in order, without repetition
	routes int
	dones  int
	calls  map[string]int
	// unsafe says that the agent has run a tool that must not run again.
	unsafe map[string]bool
}

func (w *watch) Emit(ev stream.Event) error {
	time.Sleep(w.slow)
	switch ev := ev.(type) {
	case *stream.Route:
		w.routes++
	case *stream.AgentRun:
		switch ev.Status {
		case stream.AgentStarted:
			w.open[ev.AgentID] = true
		case stream.AgentRetrying:
			if slices.Contains(w.speech, ev.AgentID) {
				w.t.Errorf("%s is tried again after text of it was shown", ev.AgentID)
			}
			if w.unsafe[ev.AgentID] {
				w.t.Errorf("%s is tried again after a tool that must not run again", ev.AgentID)
			}
		default:
			if !w.open[ev.AgentID] {
				w.t.Errorf("%s ends twice", ev.AgentID)
			}
			w.open[ev.AgentID] = false
		}
	case *stream.Delta:
		w.text.WriteString(ev.Text)
		if ev.AgentID != "" && (len(w.speech) == 0 || w.speech[len(w.speech)-1] != ev.AgentID) {
			w.speech = append(w.speech, ev.AgentID)
		}
	case *stream.ToolStarted:
		if w.calls[ev.ID]++; w.calls[ev.ID] > 1 {
			w.t.Errorf("call id %s twice", ev.ID)
		}
		w.unsafe[ev.AgentID] = w.unsafe[ev.AgentID] || !ev.Repeatable
	case *stream.Done:
		w.dones++
		for id, open := range w.open {
			if open {
				w.t.Errorf("%s has not ended before done", id)
			}
		}
	}
	return nil
}

func (w *watch) Flush() error { return nil }

func TestAnyTurnOfATeam(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) { oneTurn(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func oneTurn(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	cfg := router.Defaults()
	cfg.Dispatch.Sequential = r.IntN(3) == 0
	var mu sync.Mutex
	var ids []string
	for i := range 2 + r.IntN(4) {
		id := fmt.Sprintf("a%d", i)
		ids = append(ids, id)
		cfg.Agents = append(cfg.Agents, router.Agent{ID: id, Description: id, Runner: chaos{t, id, r.Uint64(), &mu, new(int), new(bool)}})
	}
	chosen := ids[:1+r.IntN(len(ids))]
	chosen = chosen[:min(len(chosen), cfg.Dispatch.MaxAgents)]
	cfg.Asker = &asker{choose(chosen[0], 0.9, chosen[1:]...)}
	w := &watch{
		t: t, slow: time.Duration(r.IntN(2)*r.IntN(500)) * time.Millisecond,
		open: map[string]bool{}, calls: map[string]int{}, unsafe: map[string]bool{},
	}
	frame := stream.Frame{Runner: router.New(cfg), Model: "m", Timeout: time.Duration(1+r.IntN(60)) * time.Second}
	if err := frame.Run(t.Context(), &chat.Request{Input: "x"}, w); err != nil {
		t.Errorf("the turn: %v", err)
	}
	if w.dones != 1 || w.routes != 1 {
		t.Errorf("%d done, %d routes", w.dones, w.routes)
	}
	inOrder := slices.IsSortedFunc(w.speech, func(a, b string) int { return slices.Index(chosen, a) - slices.Index(chosen, b) })
	if !inOrder {
		t.Errorf("the agents spoke in the order %v, chosen are %v", w.speech, chosen)
	}
	seen := map[string]bool{}
	for piece := range strings.SplitSeq(w.text.String(), "<") {
		piece, _, marked := strings.Cut(piece, ">")
		if marked && seen[piece] {
			t.Errorf("text %q came twice", piece)
		}
		seen[piece] = true
	}
}
