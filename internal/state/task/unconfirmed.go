// This file settles writes whose answer was lost. After store.ErrUnavailable a write may have
// happened, or may still happen: its command can be on its way. So the outcome is read at once.
// If the store does not answer that either, the keeper undoes the write as soon as it does.

package task

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/internal/state/store"
)

const (
	// maxUnconfirmed bounds the writes that the keeper has to look at. Each is one command that
	// was sent, and the breaker of the store stops those soon.
	maxUnconfirmed = 4096
	// closeWait is how long Close waits for the outcome of writes. It is longer than the breaker
	// of the store stays open.
	closeWait = 6 * time.Second
	// longestWait is how long an approval waits for a person at most.
	longestWait = 30 * day
)

// unconfirmed is a write whose outcome is not known.
type unconfirmed struct {
	since time.Time
	// seen is true once check has had an answer. From then on the keeper only looks for a command
	// that arrives late.
	seen bool
	// check reads what became of the write and undoes it. Its error says that the store did not
	// answer. It may be called again.
	check func(context.Context) error
}

// checkLater has the keeper call check until it had an answer, and until a lease has passed. It does
// nothing if err is the error of a command that was not sent.
func (s *Service) checkLater(err error, check func(context.Context) error) {
	if errors.Is(err, store.ErrNotSent) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unconfirmed) < maxUnconfirmed {
		s.unconfirmed = append(s.unconfirmed, &unconfirmed{since: time.Now(), check: check})
	}
}

// checkUnconfirmed looks at the writes whose outcome is not known. With late it also looks again
// at those that had an answer, and forgets the ones that are older than a lease.
func (s *Service) checkUnconfirmed(late bool) {
	s.mu.Lock()
	all := s.unconfirmed
	s.mu.Unlock()
	for _, u := range all {
		if u.seen && !late {
			continue
		}
		switch err := s.recordOutage(u.check(s.ctx)); {
		case errors.Is(err, store.ErrUnavailable), s.ctx.Err() != nil:
			return
		case errors.Is(err, store.ErrFull): // the next one may be shorter
			continue
		}
		s.mu.Lock()
		u.seen = true
		s.mu.Unlock()
	}
	if late {
		s.forgetConfirmed()
	}
}

// forgetConfirmed removes the writes that had an answer and are older than a lease.
func (s *Service) forgetConfirmed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []*unconfirmed
	for _, u := range s.unconfirmed {
		if !u.seen || time.Since(u.since) <= s.cfg.Lease {
			open = append(open, u)
		}
	}
	s.unconfirmed = open
}

// awaitConfirmed waits until the outcome of every write is known, and the store has the end of every
// turn, for closeWait at most. The keeper must run.
func (s *Service) awaitConfirmed() {
	for began := time.Now(); s.hasUnconfirmed() && time.Since(began) < closeWait; {
		time.Sleep(lookEvery / 10)
	}
}

// hasUnconfirmed reports whether the outcome of a write is not known, or an end is not in the store.
func (s *Service) hasUnconfirmed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.unsettled) > 0 || slices.ContainsFunc(s.unconfirmed, func(u *unconfirmed) bool { return !u.seen })
}

// checkClosing writes ends that an outage has delayed, if this process ends: the next process would
// take such a turn for a lost one.
func (s *Service) checkClosing() {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		s.settle()
	}
}

// undoCreate returns a check that removes the task of a turn that did not begin.
func (s *Service) undoCreate(id, turn string) func(context.Context) error {
	return func(ctx context.Context) error {
		there, err := s.cfg.Store.Task(ctx, id)
		switch {
		case err == nil && !s.isMine(there, turn):
			return nil
		case err == nil:
			err = s.cfg.Store.DeleteTask(ctx, id)
		}
		if err == nil || errors.Is(err, store.ErrNotFound) {
			err = errors.Join(s.cfg.Store.DeleteList(ctx, store.TurnKey(turn)), s.cfg.Store.DeleteList(ctx, store.LongKey(id)))
		}
		return err
	}
}

// undoUpdate returns a check that writes before in place of the task that turn took up, for ttl.
func (s *Service) undoUpdate(id, turn string, before store.Task, ttl time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		there, err := s.cfg.Store.Task(ctx, id)
		if err != nil || !s.isMine(there, turn) {
			return err
		}
		before.Version = there.Version
		return s.cfg.Store.UpdateTask(ctx, id, before, ttl)
	}
}

// undoKey returns a check that removes the idempotency key of a turn that did not begin.
func (s *Service) undoKey(key, turn string) func(context.Context) error {
	return func(ctx context.Context) error {
		v, err := s.cfg.Store.Value(ctx, key)
		if err != nil {
			return err
		}
		if used, err := readKeyed(v.Data); err != nil || used.Turn != turn {
			return nil
		}
		return s.cfg.Store.DeleteValue(ctx, key)
	}
}
