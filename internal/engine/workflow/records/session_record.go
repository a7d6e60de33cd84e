package records

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/engine/run"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// With a store a session has a record of its own, so that people can read an agent's work for
// another one later: GET /tasks/{id}/sessions/{id}. The record is written when the session begins,
// waits and ends. It is for people: the turn continues from its own state, and continues also if
// the record cannot be written.

// recordTime bounds each write of a record.
const recordTime = 2 * time.Second

// unfinished is added to the TTL of a record while its plain turn has not ended. It is longer than
// a turn may run and a person be asked.
const unfinished = 32 * 24 * time.Hour

// SessionRecords stores sessions while they run. nil stores nothing.
type SessionRecords struct {
	*Sessions
	// Durable says that records stay until retention removes them with their task: those of
	// runs, and all where the file has the section retention.
	Durable bool
}

// Record returns the record of a session of a task; nil if nothing is stored of it.
func (r *SessionRecords) Record(task string) *SessionRecord {
	if r == nil || !chat.IsTaskID(task) {
		return nil
	}
	return &SessionRecord{in: r, record: SubAgentSession{ParentTaskID: task}}
}

// Finish says that nothing more comes to the sessions of a task: records that are not
// durable expire earlier from now on.
func (r *SessionRecords) Finish(ctx context.Context, task string) {
	if r == nil || r.Durable || !chat.IsTaskID(task) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	_ = r.Sessions.Finish(ctx, task) // they expire later than they need
}

// SessionRecord is the record of a session that runs; nil without a record. A single goroutine uses
// it.
//
// Its methods but write work on nil, so that a session need not ask whether it is stored.
type SessionRecord struct {
	in         *SessionRecords
	record     SubAgentSession
	transcript transcript
	failed     bool // to be written once: that is logged once
}

// Begin stores that a session runs. If the session continues, its stored record is continued.
func (k *SessionRecord) Begin(ctx context.Context, session, agent, asked string, again bool) {
	if k == nil {
		return
	}
	if again {
		if before, err := k.in.Get(ctx, session); err == nil {
			k.record, k.transcript.Messages = *before, before.MessageHistory
			k.writeRecord(ctx)
			return
		}
	}
	k.record.SessionID, k.record.AgentName, k.record.TaskDescription = session, agent, asked
	k.record.Status, k.record.CreatedAt = SessionRunning, time.Now().UTC()
	k.transcript.addTask(asked)
	k.writeRecord(ctx)
}

// AddEvent notes an event of the agent's own, as it was before it became a session's.
func (k *SessionRecord) AddEvent(ev stream.Event) {
	if k != nil {
		k.transcript.AddEvent(ev)
	}
}

// Seal says that a step has ended; asked is the question that waits in it, or nil.
func (k *SessionRecord) Seal(asked *chat.Question, of run.Owner) {
	if k != nil {
		k.transcript.dropSuspended(asked, of)
		k.transcript.sealStep()
	}
}

// End stores how a session has ended; or, if it waits, how far it has come.
//
// A session that waits stays running in its record.
func (k *SessionRecord) End(ctx context.Context, summary string, ok, waits bool, millis int64) {
	if k == nil {
		return
	}
	k.transcript.sealStep()
	switch {
	case waits:
	case ok:
		k.record.Status, k.record.Summary = SessionCompleted, summary
	default:
		k.record.Status = sessionFailed
	}
	k.writeRecord(ctx)
	if !waits {
		zerolog.Ctx(ctx).Info().Int64("duration_ms", millis).Dict("details", zerolog.Dict().Str("task_id", k.record.ParentTaskID).
			Str("session_id", k.record.SessionID).Str("agent_id", k.record.AgentName).Str("status", k.record.Status).
			Int("messages", len(k.transcript.Messages))).Msg("session_completed")
	}
}

// writeRecord stores the record as it is, also of a turn that is being cancelled.
//
// It waits for the store, recordTime at most: a session is long compared to that.
func (k *SessionRecord) writeRecord(ctx context.Context) {
	k.record.MessageHistory = k.transcript.Messages
	ttl := k.in.TTL
	if ttl += unfinished; k.in.Durable || k.in.TTL == 0 {
		ttl = 0
	}
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	err := k.in.Put(short, &k.record, ttl)
	if err != nil && !k.failed && !errors.Is(err, store.ErrUnavailable) { // the store itself logs that
		k.failed = true
		zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().Str("session_id", k.record.SessionID).AnErr("cause", err)).Msg("session_not_kept")
	}
}
