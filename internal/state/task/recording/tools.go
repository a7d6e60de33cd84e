package recording

import (
	"context"

	"sluice/internal/turn/tool"
)

// Tools are those of an agent.
type Tools interface {
	Tools(ctx context.Context) *tool.Set
	Call(ctx context.Context, call tool.Call) (tool.Result, error)
}

// Tools returns the tools of the agent or node named of, and records their offers and calls.
func (r *Recorder) Tools(of string, next Tools) Tools { return recordedTools{of, next} }

type recordedTools struct {
	of   string
	next Tools
}

// Tools implements Tools.
func (r recordedTools) Tools(ctx context.Context) *tool.Set {
	set := r.next.Tools(ctx)
	From(ctx).recordOffer(r.of, set)
	return set
}

// recordOffer records which tools were offered. It works on nil.
func (t *Turn) recordOffer(of string, set *tool.Set) {
	if t == nil {
		return
	}
	t.mu.Lock()
	e := Entry{Kind: kindOffer, Of: of, Set: t.sets[set]}
	if e.Set == 0 {
		if t.sets == nil {
			t.sets = map[any]int{}
		}
		e.Set, e.Tools = len(t.sets)+1, recordedSet(set)
		t.sets[set] = e.Set
	}
	t.mu.Unlock()
	t.addEntry(e)
}

// recordedSet returns a set as it is recorded.
func recordedSet(set *tool.Set) *Set {
	out := &Set{Specs: set.Specs}
	for _, u := range set.Unavailable {
		out.Unavailable = append(out.Unavailable, Unavailable{u.Server, *failureOf(u.Err)})
	}
	return out
}

// toolSet returns the set that was recorded.
func (s *Set) toolSet() *tool.Set {
	out := &tool.Set{Specs: s.Specs}
	for i := range s.Unavailable {
		u := &s.Unavailable[i]
		out.Unavailable = append(out.Unavailable, tool.UnavailableServer{Server: u.Server, Err: u.Failure.asError()})
	}
	return out
}

// Named returns the name that ask gives a server's tool, and records it.
func (r *Recorder) Named(ctx context.Context, server, name string, ask func() string) string {
	known := ask()
	From(ctx).addEntry(Entry{Kind: kindName, Of: server + "/" + name, Data: copyText([]byte(known))})
	return known
}

// Call implements Tools.
func (r recordedTools) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	t := From(ctx)
	if t == nil {
		return r.next.Call(ctx, call)
	}
	n := t.nextNumber(&t.calls)
	t.addEntry(Entry{Kind: kindCall, N: n, Of: r.of, Tool: call.Name, CallID: call.ID, Data: copyText(call.Arguments)})
	if report := tool.ReportOf(ctx); report != nil {
		ctx = tool.WithProgress(ctx, func(p tool.Progress) {
			t.addEntry(Entry{Kind: kindProgress, N: n, Progress: &p})
			report(p)
		})
	}
	result, err := r.next.Call(ctx, call)
	e := Entry{Kind: kindResult, N: n, Result: &result, Failure: failureOf(err)}
	if err != nil && ctx.Err() != nil {
		e.Lost = lostCancelled
	}
	t.addEntry(e)
	return result, err
}
