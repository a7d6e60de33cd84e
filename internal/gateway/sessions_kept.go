package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/store"
	"sluice/stream"
	"sluice/workflow"
)

// With a store a session has a record, of its own, so that what an agent did for another one can be
// read later: GET /tasks/{id}/sessions/{id}. The record is written when the session
// begins, waits and ends. It is for people: the turn goes on from its own state, and goes
// on also if the record cannot be written.

// recordTime bounds each write of a record.
const recordTime = 2 * time.Second

// unfinished is how much longer than its task's TTL a record of a plain turn is kept while
// that has not ended: longer than a turn may run and a person be asked.
const unfinished = 32 * 24 * time.Hour

// sessionRecords are where the sessions of agents are kept. A nil one keeps nothing.
type sessionRecords struct {
	*workflow.Sessions
	// durable says that records stay until retention removes them with their task: those of
	// runs, and all where the file has the section retention.
	durable bool
}

// keptBy has sessions kept, if there is a store. It works on nil.
func (d *delegation) keptBy(s *state, durable bool) *delegation {
	if d != nil && s != nil {
		d.records = &sessionRecords{s.runs.sessions, durable}
	}
	return d
}

// finish says that the turn of req has ended or waits. It works on nil.
func (d *delegation) finish(ctx context.Context, req *chat.Request, waits bool) {
	if d == nil || d.records == nil || d.records.durable || waits || begunIn(ctx) == 0 || !chat.IsTaskID(req.Task) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	_ = d.records.Finish(ctx, req.Task) // they expire later than they need
}

// keptSession is the record of a session that runs. nil: there is none. One goroutine uses
// it.
//
// Its methods but write work on nil, so that a session need not ask whether it is kept.
type keptSession struct {
	in     *sessionRecords
	record workflow.SubAgentSession
	said   workflow.Transcript
	failed bool // to be written once: that is logged once
}

// of returns the record of a session of a task; nil if it is not kept.
func (r *sessionRecords) of(task string) *keptSession {
	if r == nil || !chat.IsTaskID(task) {
		return nil
	}
	return &keptSession{in: r, record: workflow.SubAgentSession{ParentTaskID: task}}
}

// begin keeps that a session runs. What is kept of one that goes on is gone on with.
func (k *keptSession) begin(ctx context.Context, s *delegateSession) {
	if k == nil {
		return
	}
	if s.req.Resumed != nil {
		if before, err := k.in.Get(ctx, s.session); err == nil {
			k.record, k.said.Messages = *before, before.MessageHistory
			k.write(ctx)
			return
		}
	}
	k.record.SessionID, k.record.AgentName, k.record.TaskDescription = s.session, s.id, s.req.Input
	k.record.Status, k.record.CreatedAt = workflow.SessionRunning, time.Now().UTC()
	k.said.AddTask(s.req.Input)
	k.write(ctx)
}

// note takes an event of the agent's own, as it was before it was told as a session's.
func (k *keptSession) note(ev stream.Event) {
	if k != nil {
		k.said.Note(ev)
	}
}

// seal says that a step has ended; asked is what waits in it, nil: nothing. id gives calls
// the ids of their events.
func (k *keptSession) seal(asked *chat.Question, id func(string) string) {
	if k == nil {
		return
	}
	if asked != nil {
		k.said.Leave(asked, id)
	}
	k.said.Seal()
}

// end keeps how a session has ended; or, if it waits, how far it has come.
//
// A session that waits stays running in its record.
func (k *keptSession) end(ctx context.Context, summary string, ok, waits bool, millis int64) {
	if k == nil {
		return
	}
	k.said.Seal()
	switch {
	case waits:
	case ok:
		k.record.Status, k.record.Summary = workflow.SessionCompleted, summary
	default:
		k.record.Status = workflow.SessionFailed
	}
	k.write(ctx)
	if !waits {
		zerolog.Ctx(ctx).Info().Int64("duration_ms", millis).Dict("details", zerolog.Dict().Str("task_id", k.record.ParentTaskID).
			Str("session_id", k.record.SessionID).Str("agent_id", k.record.AgentName).Str("status", k.record.Status).
			Int("messages", len(k.said.Messages))).Msg("session_completed")
	}
}

// write keeps the record as it is, also of a turn that is being cancelled.
//
// It waits for the store, recordTime at most: a session is long compared to that.
func (k *keptSession) write(ctx context.Context) {
	k.record.MessageHistory = k.said.Messages
	ttl := k.in.TTL
	if ttl += unfinished; k.in.durable || k.in.TTL == 0 {
		ttl = 0
	}
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	err := k.in.Put(short, &k.record, ttl)
	if err != nil && !k.failed && !errors.Is(err, store.ErrUnavailable) { // which the store itself logs
		k.failed = true
		zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().Str("session_id", k.record.SessionID).AnErr("cause", err)).Msg("session_not_kept")
	}
}

// Forget is a task.Forget. A run's sessions are kept as long as its other records.
func (r *runs) Forget(ctx context.Context, task string) error {
	return errors.Join(r.RunStore.Forget(ctx, task), r.sessions.Forget(ctx, task))
}
