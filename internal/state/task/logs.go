// This file finds the logs of turns for their readers: a reader may have to wait for a log, since
// a turn that another process continues has none for a moment.

package task

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/task/record"
)

// turnLogs reads the logs of turns. It is safe for concurrent use.
type turnLogs struct {
	*taskStore
	// readers counts the readers that wait for a log, which may belong to another process.
	readers atomic.Int64
}

// silence is how long ago a turn has emitted its last event, by the clock of the store.
func (s *turnLogs) silence(ctx context.Context, turn string) (time.Duration, error) {
	left, err := s.cfg.Store.LogLeft(ctx, turn)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return max(0, s.cfg.EventTTL-left), err
}

// OpenLog returns the log of a turn, from its first event. The error is ErrGone, or a
// *fault.Error while the store is unavailable.
func (s *turnLogs) OpenLog(ctx context.Context, turn string) (*Log, error) {
	l := &Log{logs: s}
	if err := l.more(ctx, turn); err != nil {
		return nil, err
	}
	if l.Turn != turn {
		return nil, ErrGone
	}
	return l, nil
}

// stillRuns says whether a process runs a turn of a task. What its client received while the
// store was unavailable its log gets later.
func (s *turnLogs) stillRuns(ctx context.Context, id, turn string) (bool, error) {
	t, err := s.cfg.Store.Task(ctx, id)
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return false, unavailable(s.recordOutage(err))
	case err != nil:
		return false, nil
	}
	return t.Turn == turn && t.State == Working, nil
}

// Await is OpenLog for a reader who can wait. A turn that runs and has no log may get one when
// its owner reaches the store again, or when another process goes on with it: for that Await
// waits, for a lease and two sweeps at most. id is the turn's task; if it is empty, Await waits
// only for a turn of which something was saved.
func (s *turnLogs) Await(ctx context.Context, id, turn string) (*Log, error) {
	log, err := s.OpenLog(ctx, turn)
	if !errors.Is(err, ErrGone) {
		return log, err
	}
	if id == "" {
		if id, err = s.savedFor(ctx, turn); err != nil {
			return nil, err
		}
	}
	s.readers.Add(1) // who waits wants the turns of the dead to be found soon
	defer s.readers.Add(-1)
	waiting, cancel := context.WithTimeout(ctx, s.mayLackLog())
	defer cancel()
	watch := s.cfg.Store.Watch(store.LogTopic(turn))
	defer watch.Stop()
	for {
		runs, err := s.stillRuns(ctx, id, turn)
		if err != nil {
			return nil, err
		}
		// It may have got its log, and its end, since the last look.
		if log, err = s.OpenLog(ctx, turn); !errors.Is(err, ErrGone) || !runs {
			return log, err
		}
		select {
		case <-waiting.Done():
			return nil, ErrGone
		case <-watch.C:
		case <-time.After(lookEvery):
		}
	}
}

// mayLackLog returns how long a turn may be without a log: a lease and two sweeps. An older one is
// not continued: its process may have run it without keeping it.
func (s *turnLogs) mayLackLog() time.Duration { return s.cfg.Lease + 2*sweepEvery }

// savedFor returns the task of a turn of which something was saved, so that another process goes
// on with it. The error is ErrGone if nothing was.
func (s *turnLogs) savedFor(ctx context.Context, turn string) (string, error) {
	items, err := s.cfg.Store.List(ctx, store.TurnKey(turn), 0, 1)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(items) == 0 {
		return "", ErrGone
	}
	if err != nil {
		return "", unavailable(s.recordOutage(err))
	}
	saved, err := readSaved(items)
	var of head
	if err == nil {
		err = json.Unmarshal(saved.head, &of)
	}
	if err != nil || of.Task == "" {
		return "", ErrGone
	}
	return of.Task, nil
}

// readAll reads a log to its end.
func (s *turnLogs) readAll(ctx context.Context, turn string) (stored, error) {
	l, err := s.OpenLog(ctx, turn)
	for err == nil {
		before := l.last
		if err = l.more(ctx, turn); err == nil && l.last == before {
			return stored{logged: l.ready, last: l.last}, nil
		}
	}
	return stored{}, err
}

// hasNoLog reports whether a task is at work in a turn without a log. Such a turn has not run, and
// its process may still undo it.
func (s *turnLogs) hasNoLog(ctx context.Context, task store.Task) bool {
	if task.State != Working {
		return false
	}
	_, err := s.cfg.Store.LogLeft(ctx, task.Turn)
	return errors.Is(err, store.ErrNotFound)
}

// traceOf is Trace for a task that may be shown.
func (s *turnLogs) traceOf(ctx context.Context, id string, t store.Task) ([]byte, error) {
	items, err := s.cfg.Store.List(ctx, store.TraceKey(id), 0, 0)
	if err != nil {
		return nil, unavailable(s.recordOutage(err))
	}
	parts := readParts(items)
	doc := readDocument(id, t)
	for _, turn := range doc.Metadata.Turns {
		if slices.ContainsFunc(parts, func(p *record.Part) bool { return p.Turn == turn }) {
			continue
		}
		k, err := s.readAll(ctx, turn)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rec := k.record(record.New(s.cfg.Trace, turn, doc.began(turn, t.Created)))
		parts = append(parts, rec.Part(turn != t.Turn || t.State != Working))
	}
	return record.Join(id, parts).Encode(), nil
}

// readParts reads the parts of a record, without those that cannot be read.
func readParts(items [][]byte) (parts []*record.Part) {
	for _, item := range items {
		if p, err := record.Read(item); err == nil {
			parts = append(parts, p)
		}
	}
	return parts
}
