// This file closes a turn that no process can continue: it completes its log, and gives its task a
// last state.

package task

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/state/store"
	"sluice/internal/state/task/conversation"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// turnCloser closes turns that no process runs.
type turnCloser struct{ *turnStore }

// endLost closes a task that no process runs. run is the remaining part of its turn, or nil.
func (s *turnCloser) endLost(ctx context.Context, id string, task store.Task, run Run) error {
	owned := task.Holder == s.holder
	kept, err := s.readAll(ctx, task.Turn)
	if err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	doc, begun := readDocument(id, task), readDocument(id, task)
	c := store.Closing{Task: task}
	var said answer
	lost := lostOrUnavailable(owned)
	if plain, ok := run.(*plainRun); ok {
		kept.claims, c.Side = plain.all+1, store.Side{Key: store.TurnKey(task.Turn), Drop: true}
		if lost = lostOrUnavailable(false); task.Cancel {
			lost = cancelledFault()
		}
	}
	if err != nil {
		c.State = Failed
		said.addEvent(stream.NewError(lost, true))
	} else {
		silent, err := s.silenceOf(ctx, task.Turn)
		if err != nil {
			return s.recordOutage(err)
		}
		s.closeLog(kept, lost, kept.lastMoment()+silent, &said, &c)
	}
	doc.endTurn(c.State, &said, task.Turn, time.Now(), s.cfg.MaxHistory)
	var long []byte
	c.Doc, long = doc.encodeStored()
	c.Holder = store.Holder{}
	if c.TTL, err = s.scheduleRemoval(ctx, id, doc, said.longestWait()); err != nil {
		return err
	}
	if c.State == InputRequired && run != nil && kept.claims == 0 { // a run ends its wait itself
		c.TTL = 0
	}
	if err = s.storeLong(ctx, doc, long, c.TTL); err != nil {
		return err
	}
	if _, err = s.writeClosing(ctx, id, c, owned); err != nil {
		return err
	}
	s.traceLost(ctx, id, begun, task, kept, &c)
	s.appendLost(ctx, id, task, doc, kept, lost, &said)
	s.reportLost(ctx, id, task, kept.claims, c.State)
	return nil
}

// appendLost appends the turn to its conversation, now or when the store answers.
func (s *turnCloser) appendLost(ctx context.Context, id string, task store.Task, doc *document, kept stored, lost error, said *answer) {
	if s.cfg.Lost == nil || (chat.Principal{ID: chat.AnonymousID}).Owner("") == task.User {
		return
	}
	if full, err := s.longTexts(ctx, id); err == nil && !doc.isWhole() {
		doc.addLongTexts(full)
	}
	l := conversation.Lost{
		Tenant: task.Tenant, Owner: task.User, Conversation: task.Conversation, Turn: task.Turn, Task: id,
		Input: doc.lastInput().Content, Began: doc.beginOfTurn(task.Turn, task.Created), Takeovers: kept.claims, Reason: said.Reason(),
	}
	if !l.Reason.Success() {
		l.Err = lost
	}
	for _, logged := range kept.logged {
		l.Events = append(l.Events, logged.Event)
	}
	if err := s.cfg.Lost(ctx, l); err != nil {
		done := false
		s.addCheck(func(ctx context.Context) error {
			if done {
				return nil
			}
			err := s.cfg.Lost(ctx, l)
			done = err == nil
			return err
		})
	}
}

// reportLost logs and counts that a task was closed. before is the task before that.
func (s *turnCloser) reportLost(ctx context.Context, id string, before store.Task, claims int, state string) {
	if claims > 0 {
		s.reportClaimed(before, claims, state)
	}
	s.counts.lost.Inc()
	s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", id).Str("owner", before.Owner)).Msg("turn_lost")
	s.reportState(s.cfg.Log.WithContext(ctx), id, before.State, state)
}

// closeLog fills c with the events that complete the log of a lost turn, and with its state. It
// adds all events of the turn to said.
func (s *turnCloser) closeLog(kept stored, lost error, after time.Duration, said *answer, c *store.Closing) {
	for _, logged := range kept.logged {
		said.addEvent(logged.Event)
	}
	data, n := kept.closingEvents(lost, after, said)
	if c.State = Failed; said.Done != nil {
		c.State = stateOf(said.Reason())
	}
	if n > 0 {
		c.LogOf = c.Turn
		c.Log = store.Append{Entry: store.Entry{N: n, Data: data}, At: kept.last, TTL: s.cfg.EventTTL}
	}
}

// traceLost adds the turn of a dead process to the trace, from its log and from the closing events.
func (s *turnCloser) traceLost(ctx context.Context, id string, doc *document, t store.Task, k stored, c *store.Closing) {
	rec := s.newRecorder(t.Turn, doc.beginOfTurn(t.Turn, t.Created))
	for line := range bytes.Lines(c.Log.Data) {
		_ = stream.ReadStoredLine(line, func(at stream.Stamp, ev stream.Event) {
			k.logged = append(k.logged, Logged{at, ev})
		})
	}
	_ = s.pushTrace(ctx, id, k.recordEvents(rec).Part(true), c.TTL)
}

// writeClosing writes the closing c of a task and of its turn's log: for a process that continues
// it, or as its end. If owned is true, it writes as the holder of the task. gone is true if the log
// was full and was removed.
func (s *turnCloser) writeClosing(ctx context.Context, id string, c store.Closing, owned bool) (gone bool, err error) {
	if !owned {
		err = s.cfg.Store.CloseTask(ctx, id, c)
		if gone = errors.Is(err, store.ErrTooLarge); gone {
			c.LogOf = ""
			err = s.cfg.Store.CloseTask(ctx, id, c)
		}
		return gone, s.confirmWrite(ctx, id, c.Task, err)
	}
	if c.LogOf != "" {
		c.Log.Task, c.Log.Holder = id, s.holder
		err = s.cfg.Store.AppendLog(ctx, c.LogOf, c.Log)
		if gone = errors.Is(err, store.ErrTooLarge); err != nil && !gone {
			return gone, err
		}
	}
	return gone, s.confirmWrite(ctx, id, c.Task, s.cfg.Store.UpdateTask(ctx, id, c.Task, c.TTL))
}

// reportClaimed logs and counts that this process continues a turn of another one, or closes it.
func (s *turnCloser) reportClaimed(task store.Task, takeovers int, outcome string) {
	why := "dead"
	if isLeft(task.Holder) {
		why = "handed_over"
	}
	s.counts.claims.Inc(why, outcome)
	s.cfg.Log.Info().Dict("details", zerolog.Dict().Str("owner", task.Owner).Int64("epoch", task.Epoch).Int("takeovers", takeovers).
		Str("turn_id", task.Turn).Str("outcome", outcome)).Msg("turn_claimed")
}
