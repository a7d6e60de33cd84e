// This file finds the logs of turns for their readers. A reader may have to wait, since a turn
// lacks a log while another process takes it over.

package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/task/record"
	"sluice/stream"
)

// turnLogs reads the logs of turns. It is safe for concurrent use.
type turnLogs struct {
	*taskStore
	// readers counts the readers that wait for a log, possibly of another process.
	readers atomic.Int64
}

// OpenLog returns the log of a turn, from its first event. The error is ErrGone, or a
// *fault.Error while the store is unavailable.
func (s *turnLogs) OpenLog(ctx context.Context, turn string) (*Log, error) {
	l := &Log{logs: s}
	if err := l.readPage(ctx, turn); err != nil {
		return nil, err
	}
	if l.Turn != turn {
		return nil, ErrGone
	}
	return l, nil
}

// stillRuns reports whether a process runs a turn of a task. Its log may then lack events that its
// client received during an outage, and gets them later.
func (s *turnLogs) stillRuns(ctx context.Context, id, turn string) (bool, error) {
	t, err := s.cfg.Store.Task(ctx, id)
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return false, storeUnavailable(s.recordOutage(err))
	case err != nil:
		return false, nil
	}
	return t.Turn == turn && t.State == Working, nil
}

// Await is OpenLog for a reader that can wait. If the turn runs without a log, Await waits for its
// owner to reach the store, or for a takeover: a lease and two sweeps at most. id is the turn's
// task. If id is empty, Await waits only for a turn that has saved something.
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
	s.readers.Add(1) // a waiting reader needs the turns of dead processes to be found soon
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
		return "", storeUnavailable(s.recordOutage(err))
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

// page is how many entries are read at once.
const page = 200

// Log is the log of one turn, in front of its reader. Its methods belong to one
// goroutine.
type Log struct {
	head
	logs  *turnLogs
	ready []Logged // read already
	last  int      // N of the last event that was read
	// ahead is the number of the last event that the reader has, if the log does not have it yet:
	// the client got the event during an outage. skipped gets the events up to it.
	ahead   int
	passed  int // N of the last event that was passed over
	skipped func(stream.Event)
}

// IsFor reports whether c may read the log, by the rule of the task that it belongs to.
func (l *Log) IsFor(c Caller) bool { return c.mayFind(l.Tenant, l.Owner) }

// readPage reads the next page.
func (l *Log) readPage(ctx context.Context, turn string) error {
	entries, err := l.logs.cfg.Store.ReadLog(ctx, turn, l.last, page)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && len(entries) == 0 && l.last == 0:
		return ErrGone
	case err != nil:
		return storeUnavailable(l.logs.recordOutage(err))
	}
	for _, e := range entries {
		logged, err := l.readEntry(e)
		if err != nil {
			return ErrGone
		}
		l.ready = append(l.ready, logged...)
		l.last = e.N
	}
	return nil
}

// readEntry takes an entry apart.
func (l *Log) readEntry(e store.Entry) (all []Logged, err error) {
	for line := range bytes.Lines(e.Data) {
		if l.Turn == "" {
			if err := json.Unmarshal(line, &l.head); err != nil {
				return nil, fmt.Errorf("%w: %w", stream.ErrStored, err)
			}
			continue
		}
		err := stream.ReadStoredLine(line, func(stamp stream.Stamp, ev stream.Event) {
			all = append(all, Logged{stamp, ev})
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Skip passes over the events up to number n, and calls skipped with each. It returns false if the
// turn has ended with these events, or if no process runs it. Events skips those that the log gets
// later. A reader that is ahead of a finished log gets only its Done.
func (l *Log) Skip(ctx context.Context, n int, skipped func(stream.Event)) (bool, error) {
	for {
		for i, logged := range l.ready {
			_, done := logged.Event.(*stream.Done)
			if logged.N > n || done && logged.N < n {
				l.ready = l.withCorrection(ctx, n, l.ready[i:])
				return true, nil
			}
			skipped(logged.Event)
			l.passed = logged.N
			if done {
				return false, nil
			}
		}
		l.ready = nil
		before := l.last
		if err := l.readPage(ctx, l.Turn); err != nil {
			return false, err
		}
		if l.last == before {
			if l.passed >= n {
				return true, nil
			}
			l.ahead, l.skipped = n, skipped
			if runs, err := l.logs.stillRuns(ctx, l.Task, l.Turn); runs || err != nil {
				return runs, err
			}
			// It may have got its end since the last look.
			if err := l.readPage(ctx, l.Turn); err != nil || l.last == before {
				return false, err
			}
		}
	}
}

// Past passes over the events that the log holds now, and calls use with each. It reports whether
// the turn has ended with them.
func (l *Log) Past(ctx context.Context, use func(stream.Event)) (ended bool, err error) {
	for {
		for _, t := range l.ready {
			use(t.Event)
		}
		if endsTurn(l.ready) {
			return true, nil
		}
		l.ready = nil
		before := l.last
		if err := l.readPage(ctx, l.Turn); err != nil {
			return false, err
		}
		if l.last == before {
			return false, nil
		}
	}
}

// Events returns the remaining events of the log and then new ones, up to Done. Events that came
// together are returned together. An error comes alone and last: ErrGone, or that of ctx.
func (l *Log) Events(ctx context.Context) iter.Seq2[[]Logged, error] {
	return func(yield func([]Logged, error) bool) {
		l.logs.readers.Add(1)
		defer l.logs.readers.Add(-1)
		if len(l.ready) > 0 && (!yield(l.ready, nil) || endsTurn(l.ready)) {
			return
		}
		l.ready = nil
		for e, err := range store.Follow(ctx, l.logs.cfg.Store, l.Turn, l.last) {
			var logged []Logged
			if err == nil {
				logged, err = l.readEntry(e)
			}
			if err != nil && ctx.Err() == nil {
				err = ErrGone
			}
			over := endsTurn(logged)
			if logged = l.dropSeen(ctx, logged); len(logged) == 0 && err == nil {
				continue
			}
			if !yield(logged, err) || err != nil || over {
				return
			}
		}
	}
}

// dropSeen returns those of some events that the reader does not have, and Done in any case.
func (l *Log) dropSeen(ctx context.Context, logged []Logged) []Logged {
	for len(logged) > 0 && logged[0].N <= l.ahead && !endsTurn(logged[:1]) {
		l.skipped(logged[0].Event)
		l.passed = logged[0].N
		logged = logged[1:]
	}
	if len(logged) > 0 {
		logged, l.ahead = l.withCorrection(ctx, l.ahead, logged), 0
	}
	return logged
}

// withCorrection returns rest, the events that are new to a reader that has n. A reader may have
// events that the log never got, because its gateway lost the store and another one continued the
// turn. The reader is first shown the valid text, under the number that it already has.
func (l *Log) withCorrection(ctx context.Context, n int, rest []Logged) []Logged {
	next := rest[0]
	if _, corrects := next.Event.(*stream.Reset); corrects || l.passed >= n || next.N <= n || next.N != gapAfter(l.passed)+1 || l.Dialect != "" {
		return rest
	}
	kept, err := l.logs.readAll(ctx, l.Turn)
	if err != nil {
		return rest
	}
	said := stream.Fold{Only: stream.Answer}
	for _, logged := range kept.logged {
		if logged.N < next.N {
			said.Add(logged.Event)
		}
	}
	reset := &stream.Reset{Accumulated: said.Text(), Reason: stream.ResetTakenOver}
	return append([]Logged{{stream.Stamp{N: n, At: next.At}, reset}}, rest...)
}

// readAll reads a log to its end.
func (s *turnLogs) readAll(ctx context.Context, turn string) (stored, error) {
	l, err := s.OpenLog(ctx, turn)
	for err == nil {
		before := l.last
		if err = l.readPage(ctx, turn); err == nil && l.last == before {
			return stored{logged: l.ready, last: l.last}, nil
		}
	}
	return stored{}, err
}

// silenceOf returns the time since a turn's last event, by the clock of the store.
func (s *turnLogs) silenceOf(ctx context.Context, turn string) (time.Duration, error) {
	left, err := s.cfg.Store.LogLeft(ctx, turn)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return max(0, s.cfg.EventTTL-left), err
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
		return nil, storeUnavailable(s.recordOutage(err))
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
		rec := k.recordEvents(s.newRecorder(turn, doc.beginOfTurn(turn, t.Created)))
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
