package engine

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// What a Runner needs of others. The gateway puts agents, tools and models behind it, and
// what keeps runs behind Records.

// Agents gives the agents that workflows name. It is safe for concurrent use.
type Agents interface {
	// Begin opens a session of an agent, which answers req. If req.Resumed is set the
	// session continues from that State, with what was decided of the calls that wait. An agent
	// that does not exist any more is an error that wraps ErrGone.
	Begin(ctx context.Context, agent string, req *chat.Request, sink stream.Sink) (Session, error)
}

// Session is one agent's turn by steps. One goroutine uses it.
type Session interface {
	// Step goes on to the next point at which the State is worth keeping: behind a model
	// call, or behind the calls that it asked for. It emits what happens, and returns the
	// errors of a stream.Runner.
	Step(ctx context.Context, sink stream.Sink) error
	// IsOver says whether the agent has answered.
	IsOver() bool
	// Waits returns what a person must answer before the next Step; nil: nothing.
	Waits() *chat.Question
	// State returns the session as one JSON value, for Request.Resumed.
	State() (jsontext.Value, error)
	// Silent is State without what the agent has said next to its calls.
	Silent() (jsontext.Value, error)
	// Result returns what the session took so far; its Reason once it is over.
	Result() stream.Result
}

// Tools runs the tools of tool nodes: those of all servers. It is agent.Tools.
type Tools interface {
	Tools(ctx context.Context) *tool.Set
	Call(ctx context.Context, call tool.Call) (tool.Result, error)
	// Named returns the name in the Set of what a server calls name; empty: it has none
	// such, or cannot be asked now.
	Named(ctx context.Context, server, name string) string
}

// Asker asks critics.
type Asker interface {
	// Ask asks the model of an agent, with the agent's prompt, for a JSON value that the
	// schema allows.
	Ask(ctx context.Context, agent, text string, schema jsontext.Value) (Reply, error)
}

// Reply is what a critic answered.
type Reply struct {
	JSON  jsontext.Value
	Usage chat.Usage
	Model string // the key of the model that answered
}

// Records keeps a run, so that it can be continued in another process. It is how storage is
// attached to a Runner, in this way:
//
//	r.Records = func(ctx context.Context, run *Run) (Records, error)
//
// is called once for each stream of a run, new or continued, and gives what keeps it.
// The Runner then calls Save after each change of the Run that counts, and starts
// nothing that follows from the change until Save has returned: a checkpoint, then the
// next node, then the event that reports it. While an agent node runs, Journal is called after
// each step of its session, from the goroutine of the node; and around each call of a tool that
// is not safe to repeat Intend and StoreOutcome, from any goroutine. Begin, Intend, StoreOutcome and
// Journal calls of several nodes come at the same time, Save calls one at a time.
//
// Anyone who continues with a run that another process began reads its parts back, puts what
// Journal kept last of each node into Open.Entry, and calls Run.Join and Runner.Continue.
//
// An error of any method ends the run's stream with that error, and no node starts any
// more: *fault.Error of type store_unavailable if the store is unavailable, or that of a lease
// that another process has. What runs by then is cancelled.
type Records interface {
	// Save keeps a checkpoint with what has been added since the one before.
	Save(ctx context.Context, c *Checkpoint) error
	// Wait keeps the progress of a run that is about to wait for people, and until when.
	Wait(ctx context.Context, p *Progress) error
	// Journal keeps where a session of an agent node is, in place of what was kept of the
	// node before.
	Journal(ctx context.Context, e *Entry) error
	// Intend is called before a call that is not safe to repeat. If the call was made
	// before, with this key, by a process that is gone, it returns what is known: the
	// result, or ErrUnknown if none was kept. No call is made without a nil error.
	Intend(ctx context.Context, i *Intent) (*tool.Result, error)
	// StoreOutcome keeps the result of such a call, or that it failed without effect.
	StoreOutcome(ctx context.Context, i *Intent, result *tool.Result, err error) error
}

// ErrUnknown is wrapped by the error of Intend where a call was made of which no result
// is known: a person must say what became of it.
var ErrUnknown = errors.New("whether the call took effect is not known")

// ErrGone is wrapped where a run needs an agent, a tool or a definition that is not there
// any more.
var ErrGone = errors.New("is not there any more")
