package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// Frame makes a complete turn of the events of a Runner: Start, its events within the time of a
// turn, a fatal Error if it failed, Done. Only Frame does this; a Runner inside another one has no
// Frame.
type Frame struct {
	Runner Runner
	// Model is the name that Start reports.
	Model string
	// Timeout bounds the turn; 0 turns the limit off.
	Timeout time.Duration
	// OnError receives, before the client, the error that ends a turn. May be nil.
	OnError func(context.Context, error)
	// OnReset receives each Reset that was emitted. May be nil.
	OnReset func(context.Context, *Reset)
	// Accumulated is the answer so far, of a turn that was taken over, and Seams are those in it.
	Accumulated string
	Seams       []Seam
	// Late holds Start back until the next event. So the Runner can first store the state for a
	// takeover, and nobody learns of the turn before that.
	Late bool
}

// Run runs one turn and emits it to sink, through a Guard. Whatever happens inside, a panic
// included, the turn gets its Done, unless its client is gone. The error is the
// reason why the client has not received all of it: sink's, or the cause of a context whose client
// left.
func (f *Frame) Run(ctx context.Context, req *chat.Request, sink Sink) error {
	ctx, cancel := f.withTimeout(ctx)
	defer cancel()
	guard := NewGuard(sink)
	if err := f.emitStart(req, guard); err != nil {
		return err
	}
	return f.runToEnd(ctx, req, guard)
}

// GoOn runs the remaining part of a turn that another process began. guard has seen the events so
// far, Start included.
func (f *Frame) GoOn(ctx context.Context, req *chat.Request, guard *Guard) error {
	ctx, cancel := f.withTimeout(ctx)
	defer cancel()
	return f.runToEnd(ctx, req, guard)
}

// withTimeout returns a context with the time of a turn, whose end names its reason.
func (f *Frame) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, f.Timeout, &fault.Error{
		Type: fault.Timeout, Message: "The request took too long and was stopped",
	})
}

// emitStart emits the Start. The head of a reply goes out below this call, in net/http, and needs
// nearly the deepest stack of a turn. So the large Result is not on the stack: it is passed by its
// address (docs/performance.md).
func (f *Frame) emitStart(req *chat.Request, guard *Guard) error {
	err := guard.Emit(&Start{ConversationID: req.ConversationID, UserID: req.UserID, Model: f.Model})
	if f.Late {
		return err
	}
	return guard.Flush()
}

// runToEnd runs the Runner and emits the end of the turn.
func (f *Frame) runToEnd(ctx context.Context, req *chat.Request, guard *Guard) error {
	err := f.runRecovered(ctx, req, f.sinkOf(ctx, req, guard), &guard.result)
	return f.emitEnd(ctx, guard, &guard.result, err)
}

// emitEnd emits the last events: the error of an incomplete turn, if any, and Done. After the sink
// has failed, nothing more is emitted.
func (f *Frame) emitEnd(ctx context.Context, guard *Guard, result *Result, err error) error {
	if guard.err != nil {
		return guard.err
	}
	switch {
	case err != nil:
	case result.Reason == "":
		err = errors.New("the runner returned before its answer was complete")
	default:
		err = guard.finishTurn(result)
	}
	if err == nil {
		return guard.Flush()
	}
	return f.failTurn(ctx, guard, result, err)
}

// failTurn ends a turn because of err.
func (f *Frame) failTurn(ctx context.Context, guard *Guard, result *Result, err error) error {
	if _, bug := errors.AsType[*Panic](err); !bug && ctx.Err() != nil {
		err = causeOf(fault.Cause(ctx), err) // whatever broke, broke because of this
	}
	if errors.Is(err, fault.ErrClientGone) {
		if ctx.Err() != nil {
			return err
		}
		err = fmt.Errorf("the runner gave up: %v", err) // the client is there: a bug
	}
	if f.OnError != nil {
		f.OnError(ctx, err)
	}
	return guard.failTurn(err, result)
}

// causeOf returns the cause of err. It keeps err's statement whether the same request may be sent
// again.
func causeOf(cause, err error) error {
	why, ok := errors.AsType[*fault.Error](cause)
	if f := fault.From(err); !ok || f == nil || !f.Acted {
		return cause
	}
	acted := *why
	acted.Acted = true
	return &acted
}

// runRecovered makes an error of a panic: the stream has begun, and a client that is
// cut off learns nothing.
func (f *Frame) runRecovered(ctx context.Context, req *chat.Request, sink Sink, result *Result) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = NewPanic(p)
		}
	}()
	if err := fault.Cause(ctx); err != nil {
		return err
	}
	*result, err = f.Runner.Run(ctx, req, sink)
	return err
}

// Panic is the error that a panic becomes: a bug, whatever else continues.
type Panic struct {
	value any
	stack []byte
}

// NewPanic returns the error of a panic with its stack. It must be called by the
// function that recovered.
func NewPanic(value any) *Panic { return &Panic{value, debug.Stack()} }

// Error returns the operator's text: value and stack.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }
