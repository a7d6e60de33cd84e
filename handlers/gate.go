package handlers

import (
	"context"
	"sync"
	"time"

	"sluice/fault"
)

// gate admits streams, counts them, and ends them when the process must stop.
type gate struct {
	max int

	mu       sync.Mutex // guards the fields below
	running  map[*context.CancelCauseFunc]struct{}
	adaptive admission
	draining bool
	aborted  error         // why streams must end; nil: they need not
	empty    chan struct{} // closed when draining and no stream runs
}

// newGate returns a gate for so many streams at once. delay reports how long work waits
// for the CPU; nil means that only the number of streams counts.
func newGate(maxStreams int, delay func() time.Duration) *gate {
	return &gate{
		max: maxStreams, adaptive: newAdmission(delay),
		running: map[*context.CancelCauseFunc]struct{}{}, empty: make(chan struct{}),
	}
}

// enter admits a stream or says why not. The context it returns ends with the
// request's, or with the cause given to abort. leave must be called once, last.
func (g *gate) enter(parent context.Context) (ctx context.Context, cancel context.CancelCauseFunc, leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.refusal(); err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel = context.WithCancelCause(parent)
	g.running[&cancel] = struct{}{}
	g.adaptive.admitted++
	if g.aborted != nil {
		cancel(g.aborted)
	}
	return ctx, cancel, func() {
		cancel(nil)
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.running, &cancel)
		g.adaptive.ended++
		g.signal()
	}, nil
}

// vacant returns why no stream would be admitted now, or nil. It reserves no place.
func (g *gate) vacant() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refusal()
}

// refusal needs mu. It returns why a stream would be refused now, or nil. A drain comes
// first: its refusal sends the client to another gateway.
func (g *gate) refusal() error {
	if g.draining {
		return &fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down; try again in a moment"}
	}
	if len(g.running) >= g.max {
		return &fault.Error{Type: fault.Overloaded, Message: "The gateway has all the streams it can take; try again in a moment"}
	}
	if !g.adaptive.admits(len(g.running)) {
		return &fault.Error{Type: fault.Overloaded, Message: "The gateway has more work than its machine can do; try again in a moment"}
	}
	return nil
}

// signal needs mu. It closes empty when the last stream of a drain has ended.
func (g *gate) signal() {
	if !g.draining || len(g.running) > 0 {
		return
	}
	select {
	case <-g.empty:
	default:
		close(g.empty)
	}
}

// drain refuses new streams from now on. Those that run go on. It may be called again.
func (g *gate) drain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.draining = true
	g.signal()
}

// abort ends all streams, those included that enter later, with cause as the cause of
// their contexts. It does not wait for them.
func (g *gate) abort(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.aborted = cause
	for cancel := range g.running {
		(*cancel)(cause)
	}
}

// wait returns nil when the gate drains and no stream runs, or the error of ctx if that
// ends first. Without a drain it waits for ctx.
func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// active returns how many streams run.
func (g *gate) active() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.running)
}

// isDraining reports whether drain was called.
func (g *gate) isDraining() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.draining
}
