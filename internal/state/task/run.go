package task

import (
	"context"
	"errors"
	"time"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Runs knows the runs that this process can continue for a dead one.
type Runs interface {
	// Open returns the run of a task, or nil for a task without a run. The error of a run that this
	// process cannot continue with is ErrNotHere.
	Open(ctx context.Context, task string) (Run, error)
	// Due returns up to limit tasks whose wait is over.
	Due(ctx context.Context, now time.Time, limit int) ([]string, error)
	// Finish says that a task is over.
	Finish(ctx context.Context, task string) error
}

// Run is a run that was read. Only one goroutine uses it.
type Run interface {
	// TakeOver prepares the run to continue. emitted are the logged events of the turn, or nil. It
	// returns the events that the log lacks.
	TakeOver(emitted []stream.Event) []stream.Event
	// TimeOut decides the questions that nobody has answered in time.
	TimeOut(now time.Time)
	// Unseen says that the client can have seen nothing of the run's last turn but its Start.
	Unseen() bool
	// Frame returns the frame that runs it, and the request for that.
	Frame(ctx context.Context, task, turn string) (*stream.Frame, *chat.Request)
}

// ErrNotHere says that another process must continue with a run.
var ErrNotHere = errors.New("this process cannot go on with the run")

// Turns runs the rest of turns that other processes began.
type Turns interface {
	// Continue returns the frame that runs the rest of a turn, with its time limit. States are
	// those that were saved of each part of the turn, in their order; without any it begins again.
	// before are the events of the turn that count. The request gets its Resumed, if need be. The
	// error says that the turn cannot go on here, or ErrNotHere that another process may.
	Continue(req *chat.Request, states map[string][][]byte, before []stream.Event) (*stream.Frame, error)
	// ContinuesText reports whether the model of an agent is configured to continue a text that broke
	// off, also where it could be taken back. agent is empty without a team.
	ContinuesText(req *chat.Request, agent string) bool
}
