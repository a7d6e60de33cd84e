package handlers

import (
	"context"
	"sync"

	"sluice/fault"
)

// gate admits streams, counts them, and ends them when the process must stop.
type gate struct {
	max int

	mu       sync.Mutex // guards the fields below
	running  int
	draining bool
	empty    chan struct{} // closed when draining and no stream runs

	ctx  context.Context // ends the streams, with a cause
	stop context.CancelCauseFunc
}

func newGate(maxStreams int) *gate {
	ctx, stop := context.WithCancelCause(context.Background())
	return &gate{max: maxStreams, empty: make(chan struct{}), ctx: ctx, stop: stop}
}

// enter admits a stream or says why not. The context it returns ends with the
// request's, or with the cause given to abort. leave must be called once, last.
func (g *gate) enter(parent context.Context) (ctx context.Context, cancel context.CancelCauseFunc, leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining {
		return nil, nil, nil, &fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down; try again in a moment"}
	}
	if g.running >= g.max {
		return nil, nil, nil, &fault.Error{Type: fault.Overloaded, Message: "The gateway has all the streams it can take; try again in a moment"}
	}
	g.running++
	ctx, cancel = context.WithCancelCause(parent)
	unhook := context.AfterFunc(g.ctx, func() { cancel(context.Cause(g.ctx)) })
	return ctx, cancel, func() {
		unhook()
		cancel(nil)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running--
		g.signal()
	}, nil
}

// signal needs mu.
func (g *gate) signal() {
	if !g.draining || g.running > 0 {
		return
	}
	select {
	case <-g.empty:
	default:
		close(g.empty)
	}
}

func (g *gate) drain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.draining = true
	g.signal()
}

func (g *gate) abort(cause error) { g.stop(cause) }

func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) active() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

func (g *gate) isDraining() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.draining
}
