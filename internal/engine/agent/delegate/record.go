package delegate

import (
	"context"

	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Records stores what sessions do, for people to read it later. It is safe for concurrent
// use. A turn continues from its own state, and continues also if nothing can be stored.
type Records interface {
	// Record returns the record of a session of a task that has just begun or continues.
	Record(task string) Record
	// Finish says that nothing more comes to the sessions of a task.
	Finish(ctx context.Context, task string)
}

// Record is the record of one session. A single goroutine uses it.
type Record interface {
	// Begin says that a session of an agent begins, or continues; asked is its task.
	Begin(ctx context.Context, session, agent, asked string, again bool)
	// AddEvent gets an event of the agent's own; its text as a Delta.
	AddEvent(ev stream.Event)
	// Seal says that a step has ended; asked is the question that waits in it, or nil. of gives
	// calls the ids of their events.
	Seal(asked *chat.Question, of run.Owner)
	// End says how the session has ended; or, if it waits, that it continues later.
	End(ctx context.Context, summary string, ok, waits bool, millis int64)
}

// unrecorded is where nothing is stored.
type unrecorded struct{}

func (unrecorded) Record(string) Record                                { return unrecorded{} }
func (unrecorded) Finish(context.Context, string)                      {}
func (unrecorded) Begin(_ context.Context, _, _, _ string, _ bool)     {}
func (unrecorded) AddEvent(stream.Event)                               {}
func (unrecorded) Seal(*chat.Question, run.Owner)                      {}
func (unrecorded) End(_ context.Context, _ string, _, _ bool, _ int64) {}
