// Package agent runs the tool-calling loop of a chat turn: it asks a Model, runs
// the tools that the model calls, asks again, and emits what happens as events.
//
// An Agent is a stream.Runner: who runs it adds Start and Done. What the loop knows
// between two model calls is a State, a value that can be stored and continued.
//
// Run is Loop for a turn that begins and ends in one go. A step of Loop asks
// the model, then runs the calls of its answer: what the model says is emitted
// while it comes, and calls are kept until the answer is complete, because only
// then it is known that the answer counts. Calls are admitted one after the
// other (the ledger refuses what was made before and must not be repeated) and
// then run side by side, at most 8 at a time. Results go back in the order of
// the calls, whatever the order of their ends.
//
// All events of a turn are emitted by the goroutine that called Run or Loop.
// Tools run on goroutines of their own, which Run waits for, also after a
// panic; what they report of their progress waits in a mailbox for one report.
// So a client that reads slowly holds up no tool.
//
// Errors of the model end the turn. An error of a tool is a result that says
// so: the model decides what to make of it. A context that ends gives its
// cause, which is why callers cancel with one.
package agent

import (
	"context"
	"sync/atomic"
	"time"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
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
	Tools(ctx context.Context) *tool.Set
	// Call runs one tool, at most once unless it is safe to repeat. Its errors are
	// *fault.Error: ToolFailed, MCPUnavailable, Timeout or Overloaded, with Unknown set
	// if the outcome was lost and the tool is not safe to repeat, and NoEffect if it
	// is proven that the call changed nothing; anything else is a bug. Overloaded, a
	// shortage of the gateway's own, ends the turn. Progress goes to
	// tool.ReportOf(ctx).
	Call(ctx context.Context, call tool.Call) (tool.Result, error)
}

// Config describes an Agent. Model and Tools are required.
type Config struct {
	// Model is asked in each step, and Tools are what it may call. Both are
	// required, and shared by all turns.
	Model Model
	Tools Tools
	// Prompt is the system prompt's first part; empty means the built-in one.
	Prompt string
	// Role, if it is not empty, is the line that the prompt begins with.
	Role string
	// Location is the time zone of requests that name none; nil means UTC.
	Location *time.Location
	// MaxSteps is how many model calls a turn may have; 0 means defaultMaxSteps. On
	// the last one the model must answer without tools.
	MaxSteps int
	// Temperature and MaxTokens are asked for with each model call; their zero values
	// leave that to the model's configuration.
	Temperature *float64
	MaxTokens   int
	// Origin names the agent and its model: calls of earlier turns go back to their own
	// origin alone; see chat.Portable.
	Origin string
	// Keyed says that models are configured by key, so that all figures of the usage
	// are reported.
	Keyed bool
	// LogPayloads puts tool arguments and results into the log.
	LogPayloads bool
	// Hold says that a call must wait for an answer from outside before it runs; nil
	// means that none must. Run ends with them as Result.Paused if it can (chat.Facts.Pause).
	Hold func(call tool.Call, spec *tool.Spec) bool
	// AskLost says of a server whether a person is asked what became of a call of which nobody
	// knows that; nil: nobody is.
	AskLost func(server string) bool
}

// Agent runs turns. It is safe for concurrent use.
type Agent struct {
	cfg      Config
	callees  Callees                  // nil: no tool is an agent
	clock    chat.Clock               // of turns whose memory does not give the time
	narrowed atomic.Pointer[narrowed] // the last one made
}

// New returns an Agent.
func New(cfg Config) *Agent {
	if cfg.Prompt == "" {
		cfg.Prompt = builtinPrompt
	}
	if cfg.Role != "" {
		cfg.Prompt = cfg.Role + "\n" + cfg.Prompt
	}
	if cfg.MaxSteps == 0 {
		cfg.MaxSteps = defaultMaxSteps
	}
	callees, _ := cfg.Tools.(Callees)
	return &Agent{cfg: cfg, callees: callees, clock: chat.Clock{Zone: cfg.Location}}
}

// defaultMaxSteps is how many model calls a turn may have unless Config says otherwise.
const defaultMaxSteps = 8

// narrowed is a set of tools, and what of it a turn may call that must change
// nothing.
type narrowed struct{ full, readOnly *tool.Set }
