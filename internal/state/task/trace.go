package task

import (
	"bytes"
	"context"
	"errors"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/task/record"
	"sluice/stream"
)

// tracing records a turn for the trace of its task, which gets the record once.
type tracing struct {
	*record.Recorder
	kept bool // the store has it, or never will
}

// keep adds what was recorded to the trace of the task, which is kept for ttl. It returns false
// if the store is unavailable.
func (t *tracing) keep(of *identity, ttl time.Duration) bool {
	if !t.kept {
		err := of.store.pushTrace(of.ctx, of.task, t.Part(true), ttl)
		t.kept = !errors.Is(err, store.ErrUnavailable)
	}
	return t.kept
}

// traceLost adds the turn of a dead process, from its log and from what closed it.
func (s *Service) traceLost(ctx context.Context, id string, doc *document, t store.Task, k stored, c *store.Closing) {
	rec := record.New(s.cfg.Trace, t.Turn, doc.began(t.Turn, t.Created))
	for line := range bytes.Lines(c.Log.Data) {
		_ = stream.ReadStoredLine(line, func(at stream.Stamp, ev stream.Event) {
			k.logged = append(k.logged, Logged{at, ev})
		})
	}
	_ = s.pushTrace(ctx, id, k.record(rec).Part(true), c.TTL)
}

// began returns when a turn began, as far as the document says.
func (d *document) began(turn string, created time.Time) time.Time {
	for _, m := range d.History {
		if m.TurnID == turn || m.MessageID == turn+":user" {
			if at, err := time.Parse(time.RFC3339, m.Timestamp); err == nil {
				return at
			}
		}
	}
	if len(d.Metadata.Turns) > 0 && d.Metadata.Turns[0] != turn { // a person's answer began it
		if at, err := time.Parse(time.RFC3339, d.Status.Timestamp); err == nil {
			return at
		}
	}
	return created
}
