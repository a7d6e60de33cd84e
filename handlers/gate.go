package handlers

import (
	"context"
	"errors"
	"sync"
	"time"

	"sluice/internal/base/fault"
)

// readersOfTurn is how many readers of one turn have places of their own.
const readersOfTurn = 4

// gate admits streams, counts them, and ends them when the process must stop.
//
// A reader of a stored turn costs little, and the turn has its place. So readers have places
// besides those of turns, up to a bound. Beyond it they count as turns.
type gate struct {
	max, maxReaders int

	mu       sync.Mutex // guards the fields below
	running  map[*slot]struct{}
	byTurn   map[string]int // readers in places of readers
	reading  int            // all of them
	adaptive admission
	draining bool
	aborted  error         // why streams must end; nil: they need not
	empty    chan struct{} // closed when draining and no stream runs
}

// newGate returns a gate for so many streams at once. delay reports how long work waits
// for the CPU; nil means that only the number of streams counts.
func newGate(maxStreams int, delay func() time.Duration) *gate {
	return &gate{
		max: maxStreams, maxReaders: max(1, maxStreams/10), adaptive: newAdmission(delay),
		running: map[*slot]struct{}{}, byTurn: map[string]int{}, empty: make(chan struct{}),
	}
}

// slot is the place of a stream while it runs.
type slot struct {
	ctx    context.Context // ends with the request's, or with the cause given to abort
	cancel context.CancelCauseFunc
	leave  func() // gives the slot back: once, last
	end    func(cause error)
}

// admitStream admits a stream or says why not.
func (g *gate) admitStream(parent context.Context) (*slot, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.admitLocked(parent)
}

// admitLocked is admitStream. The caller must hold mu.
func (g *gate) admitLocked(parent context.Context) (*slot, error) {
	if err := g.refusal(); err != nil {
		return nil, err
	}
	g.adaptive.admitted++
	return g.addSlot(parent, func() { g.adaptive.ended++ }), nil
}

// admitReader is admitStream for a reader of a turn.
func (g *gate) admitReader(parent context.Context, turnID string) (*slot, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining || g.reading >= g.maxReaders || g.byTurn[turnID] >= readersOfTurn {
		return g.admitLocked(parent)
	}
	g.reading++
	g.byTurn[turnID]++
	return g.addSlot(parent, func() {
		g.reading--
		if g.byTurn[turnID]--; g.byTurn[turnID] == 0 {
			delete(g.byTurn, turnID)
		}
	}), nil
}

// addSlot adds a running stream. Its leave calls left under mu. The caller must hold mu.
func (g *gate) addSlot(parent context.Context, left func()) *slot {
	ctx, cancel := context.WithCancelCause(parent)
	in := &slot{ctx: ctx, cancel: cancel, end: cancel}
	g.running[in] = struct{}{}
	if g.aborted != nil {
		cancel(scatterRetry(g.aborted))
	}
	in.leave = func() {
		cancel(nil)
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.running, in)
		left()
		g.signalEmpty()
	}
	return in
}

// endBy sets end as the way to end a stream, besides its context. end must not wait.
func (g *gate) endBy(in *slot, end func(cause error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	in.end = end
	if g.aborted != nil {
		end(g.aborted)
	}
}

// admitTurnOfOthers admits a turn that another process began. The turn does not have a request
// here.
func (g *gate) admitTurnOfOthers(end func(cause error)) (leave func(), err error) {
	in, err := g.admitStream(context.Background())
	if err != nil {
		return nil, err
	}
	g.endBy(in, end)
	return in.leave, nil
}

// checkVacant returns why no stream would be admitted now, or nil. It reserves no place.
func (g *gate) checkVacant() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refusal()
}

// refusal returns why the gate refuses a new stream now, or nil if it admits one. During a drain the
// fault is shutting_down, so that the client tries another gateway. The caller must hold mu.
func (g *gate) refusal() error {
	if g.draining {
		return &fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down; try again in a moment"}
	}
	taken := len(g.running) - g.reading
	if taken >= g.max {
		return &fault.Error{Type: fault.Overloaded, Message: "The gateway has all the streams it can take; try again in a moment"}
	}
	if !g.adaptive.admitsNow(taken) {
		return &fault.Error{Type: fault.Overloaded, Message: "The gateway has more work than its machine can do; try again in a moment"}
	}
	return nil
}

// signalEmpty closes empty when the last stream of a drain has ended. The caller must hold mu.
func (g *gate) signalEmpty() {
	if !g.draining || len(g.running) > 0 {
		return
	}
	select {
	case <-g.empty:
	default:
		close(g.empty)
	}
}

// drain refuses new streams from now on. Running streams continue. It may be called again.
func (g *gate) drain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.draining = true
	g.signalEmpty()
}

// abort ends all streams, those included that enter later, with cause as the cause of
// their contexts. It does not wait for them.
func (g *gate) abort(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.aborted = cause
	for in := range g.running {
		in.end(scatterRetry(cause))
	}
}

// scatterRetry returns the cause of one stream's end, with a time of its own after which to come
// back if the process ends: otherwise all clients of a gateway would ask the next one at once.
func scatterRetry(cause error) error {
	f, isFault := errors.AsType[*fault.Error](cause)
	if !isFault || f.Type != fault.ShuttingDown {
		return cause
	}
	own := *f
	own.RetryAfter = comeBackAfter(f)
	return &own
}

// awaitEmpty returns nil when the gate drains and no stream runs, or the error of ctx if that
// ends first. Without a drain it waits for ctx.
func (g *gate) awaitEmpty(ctx context.Context) error {
	select {
	case <-g.empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// countActive returns how many streams run.
func (g *gate) countActive() int {
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
