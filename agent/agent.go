// Package agent runs the tool-calling loop of a chat turn: it asks a Model, runs
// the tools that the model calls, asks again, and tells what happens as events.
package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
)

// Model streams one answer of a language model.
type Model interface {
	// Name is the model's name for the start event.
	Name() string
	// Stream makes one model call and hands each chunk to yield, on the caller's
	// goroutine. A chunk is valid until yield returns; its strings may be kept. An
	// error of yield ends the call and is returned as it is; other errors are
	// *fault.Error. An answer that the model botched, which is worth asking for
	// again, has a cause with a method MalformedCall() bool that says true.
	Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error
}

// Tools runs tools. Both methods return soon after ctx has ended.
type Tools interface {
	// Tools returns what can be called now; never nil.
	Tools(ctx context.Context) *chat.ToolSet
	// Call runs one tool, at most once unless it is safe to repeat. Its errors are
	// *fault.Error: ToolFailed, MCPUnavailable, Timeout or Overloaded, with Unknown set
	// if the outcome was lost and the tool is not safe to repeat, and NoEffect if it
	// is proven that the call changed nothing; anything else is a bug. Overloaded, a
	// shortage of the gateway's own, ends the turn. Progress goes to
	// chat.ReportOf(ctx).
	Call(ctx context.Context, call chat.ToolCall) (chat.ToolResult, error)
}

// Config describes an Agent. Model and Tools are required.
type Config struct {
	Model Model
	Tools Tools
	// Prompt is the system prompt's first part; empty means the built-in one. Date,
	// weekday and time zone are added to either.
	Prompt string
	// Location is the time zone of requests that name none; nil means UTC.
	Location *time.Location
	// Timeout bounds the whole turn; 0 means 30 s.
	Timeout time.Duration
	// MaxSteps is how many model calls a turn may have; 0 means 8. On the last one
	// the model must answer without tools.
	MaxSteps int
	// LogPayloads puts tool arguments and results into the log.
	LogPayloads bool
}

// Agent runs turns. It is safe for concurrent use.
type Agent struct {
	cfg      Config
	prompt   atomic.Pointer[datedPrompt] // the last one made
	narrowed atomic.Pointer[narrowed]    // the last one made
}

// New returns an Agent.
func New(cfg Config) *Agent {
	if cfg.Prompt == "" {
		cfg.Prompt = builtinPrompt
	}
	if cfg.Location == nil {
		cfg.Location = time.UTC
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.MaxSteps == 0 {
		cfg.MaxSteps = 8
	}
	return &Agent{cfg: cfg}
}

// Run runs one turn and tells it to sink, from Start to Done, whatever happens.
// It returns an error only when the telling ended early: sink failed, or the
// client is gone.
func (a *Agent) Run(ctx context.Context, req chat.Request, sink stream.Sink) error {
	ctx, cancel := context.WithTimeoutCause(ctx, a.cfg.Timeout, &fault.Error{
		Type: fault.Timeout, Message: "The request took too long and was stopped",
	})
	defer cancel()
	t := &turn{agent: a, ctx: ctx, req: req, sink: sink, log: zerolog.Ctx(ctx)}
	return t.finish(t.recovered())
}

// recovered runs the turn and makes an error of a panic: the stream has begun,
// and a client that is cut off learns nothing.
func (t *turn) recovered() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = newPanicked(p)
		}
	}()
	return t.run()
}

// panicked is what a panic becomes: a bug, whatever else goes on.
type panicked struct {
	value any
	stack []byte
}

func newPanicked(value any) *panicked { return &panicked{value, debug.Stack()} }

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// finish closes the turn as its grammar asks for.
func (t *turn) finish(err error) error {
	if t.told != nil {
		return t.told
	}
	if _, bug := errors.AsType[*panicked](err); err != nil && !bug && t.ctx.Err() != nil {
		err = fault.Cause(t.ctx) // whatever broke, broke because of this
	}
	if errors.Is(err, fault.ErrClientGone) {
		return err
	}
	if err != nil {
		t.fail(err, true)
		t.reason = stream.ReasonFor(err)
	}
	t.emit(&stream.Done{Reason: t.reason, Usage: t.usage, Model: t.models, Tools: t.timings})
	t.flush()
	return t.told
}
