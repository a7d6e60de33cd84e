package engine

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// These interfaces are the needs of a Runner. The gateway implements them; package records
// implements Records.

// Agents gives the agents that workflows name. It is safe for concurrent use.
type Agents interface {
	// Begin opens a session of an agent for req. If req.Resumed is set, the session continues from
	// that State, with the decisions about its waiting calls. An agent that does not exist any more
	// is an error that wraps ErrGone.
	Begin(ctx context.Context, agent string, req *chat.Request, sink stream.Sink) (Session, error)
}

// Session is one agent's turn by steps. A single goroutine uses it.
type Session interface {
	// Step continues to the next State that is worth storing: after a model call, or after the
	// calls of its answer. It emits what happens, and returns the errors of a stream.Runner.
	Step(ctx context.Context, sink stream.Sink) error
	// IsOver reports whether the agent has answered.
	IsOver() bool
	// Waits returns the question that a person must answer before the next Step, or nil.
	Waits() *chat.Question
	// State returns the session as one JSON value, for Request.Resumed.
	State() (jsontext.Value, error)
	// Silent is State without the agent's texts next to its calls.
	Silent() (jsontext.Value, error)
	// Result returns the usage and timings of the session so far; its Reason is set once the
	// session is over.
	Result() stream.Result
}

// Tools runs the tools of tool nodes: those of all servers. It is agent.Tools.
type Tools interface {
	Tools(ctx context.Context) *tool.Set
	Call(ctx context.Context, call tool.Call) (tool.Result, error)
	// Named returns the name in the Set of a server's tool. It is empty if the server lacks the
	// tool or cannot be asked now.
	Named(ctx context.Context, server, name string) string
}

// Asker asks critics.
type Asker interface {
	// Ask asks the model of an agent, with the agent's prompt, for a JSON value that the
	// schema allows.
	Ask(ctx context.Context, agent, text string, schema jsontext.Value) (Reply, error)
}

// Reply is a critic's answer.
type Reply struct {
	JSON  jsontext.Value
	Usage chat.Usage
	Model string // the key of the model that answered
}

// Records stores a run, so that another process can continue it. A Runner gets its storage in this
// way:
//
//	r.Records = func(ctx context.Context, run *Run) (Records, error)
//
// is called once for each stream of a run, new or continued, and returns the Records of that run.
// The Runner calls Save after each important change of the Run. The next node, and the event that
// reports the change, wait until Save has returned. While an agent node runs, its goroutine calls
// Journal after each step of its session. Intend comes before each unsafe call and StoreOutcome
// after it, from any goroutine. Begin, Intend, StoreOutcome and Journal calls of several nodes come
// at the same time, Save calls one at a time.
//
// To continue a run of another process, its parts are read back and joined (Run.Join). TakeOver
// puts the last journal entry of each node into Open.Entry, and the caller calls Runner.Continue.
//
// An error of any method ends the run's stream, and no further node starts. It is
// store_unavailable, or turn_lost if another process has the run. It cancels the nodes that run.
type Records interface {
	// Save stores a checkpoint with the additions since the previous one.
	Save(ctx context.Context, c *Checkpoint) error
	// Wait keeps the progress of a run that is about to wait for people, and until when.
	Wait(ctx context.Context, p *Progress) error
	// Journal stores the present state of an agent node's session, in place of the node's previous
	// entry.
	Journal(ctx context.Context, e *Entry) error
	// Intend is called before a call that is not safe to repeat. If a process that is gone made the
	// call before with this key, it returns the stored result, or ErrUnknown without a stored
	// result. No call is made without a nil error.
	Intend(ctx context.Context, i *Intent) (*tool.Result, error)
	// StoreOutcome keeps the result of such a call, or that it failed without effect.
	StoreOutcome(ctx context.Context, i *Intent, result *tool.Result, err error) error
}

// ErrUnknown is wrapped by the error of Intend if the call was made and its result is unknown: a
// person must decide.
var ErrUnknown = errors.New("whether the call took effect is not known")

// ErrGone is wrapped where a run needs an agent, a tool or a definition that is not there
// any more.
var ErrGone = errors.New("is not there any more")
