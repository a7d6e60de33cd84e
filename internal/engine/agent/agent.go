// Package agent runs the tool-calling loop of a chat turn. It asks a Model, runs the tools that the
// model calls, asks again, and emits events.
//
// An Agent is a stream.Runner: its caller adds Start and Done. Between two model calls the loop's
// knowledge is a State, a value that can be stored and continued.
//
// Run is Loop for a turn that begins and ends in one go. A step of Loop asks the model, then runs
// the calls of its answer. The text is emitted while it comes. Calls wait until the answer is
// complete, because only a complete answer counts. Calls are admitted one after the other: the
// ledger refuses an unsafe call that was made before. The admitted calls run side by side, at most
// 8 at a time. Results go back in the order of the calls, whatever the order of their ends.
//
// All events of a turn are emitted by the goroutine that called Run or Loop. Tools run on
// goroutines of their own, and Run waits for these, also after a panic. A mailbox for one report
// holds the latest progress of a tool. So a client that reads slowly holds up no tool.
//
// Errors of the model end the turn. An error of a tool is a result that says so: the model decides
// what to make of it. If the context ends, its cause is the error: so callers cancel with a cause.
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
	// Stream makes one model call and hands each chunk to yield, on the caller's goroutine. A chunk
	// is valid until yield returns; its strings may be kept. An error of yield ends the call and is
	// returned as it is; other errors are *fault.Error. If the model's answer is malformed and
	// worth another request, the error has a cause with a method MalformedCall() bool that returns
	// true.
	Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error
}

// Tools runs tools. Both methods return soon after ctx has ended.
type Tools interface {
	// Tools returns the tools that can be called now; never nil.
	Tools(ctx context.Context) *tool.Set
	// Call runs one tool, at most once unless it is safe to repeat. Its errors are *fault.Error:
	// ToolFailed, MCPUnavailable, Timeout or Overloaded; anything else is a bug. Unknown is set if
	// the outcome was lost and the tool is not safe to repeat, and NoEffect if the call provably
	// changed nothing. Overloaded, a shortage of the gateway's own, ends the turn. Progress goes to
	// tool.ReportOf(ctx).
	Call(ctx context.Context, call tool.Call) (tool.Result, error)
}

// Config describes an Agent. Model and Tools are required.
type Config struct {
	// Model is asked in each step, and it may call Tools. Both are required, and shared by all
	// turns.
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
	// AskLost reports whether a person is asked about a server's calls with an unknown outcome. If
	// it is nil, only the model learns of it.
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
