// This file finds out about writes whose answer was lost. After store.ErrUnavailable a write may
// have happened, or may still happen: its command can be on its way. So the outcome is read at
// once. If the store does not answer that either, the keeper undoes the write as soon as it does.

package task

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sluice/internal/state/store"
)

// maxUnconfirmed bounds the writes that the keeper has to look at. Each is one command that
// was sent, and the breaker of the store stops those soon.
const maxUnconfirmed = 4096

// unconfirmed is a write whose outcome is not known.
type unconfirmed struct {
	since time.Time
	// seen is true once check has had an answer. From then on the keeper only looks for a command
	// that arrives late.
	seen bool
	// check reads the outcome of the write and undoes it. Its error says that the store did not
	// answer. It may be called again.
	check func(context.Context) error
}

// unconfirmedWrites are the writes of a process whose outcome is not known, each with its check.
// It is safe for concurrent use.
type unconfirmedWrites struct {
	tasks  *taskStore
	mu     sync.Mutex // guards the field below
	writes []*unconfirmed
}

// checkLater has the keeper call check until it had an answer, and until a lease has passed. It does
// nothing if err is the error of a command that was not sent.
func (u *unconfirmedWrites) checkLater(err error, check func(context.Context) error) {
	if errors.Is(err, store.ErrNotSent) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.writes) < maxUnconfirmed {
		u.writes = append(u.writes, &unconfirmed{since: time.Now(), check: check})
	}
}

// addCheck is checkLater for a check that must not be dropped, however many there are.
func (u *unconfirmedWrites) addCheck(check func(context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.writes = append(u.writes, &unconfirmed{since: time.Now(), check: check})
}

// checkUnconfirmed looks at the writes whose outcome is not known. With late it also looks again
// at those that had an answer, and forgets the ones that are older than a lease.
func (u *unconfirmedWrites) checkUnconfirmed(ctx context.Context, late bool) {
	u.mu.Lock()
	all := u.writes
	u.mu.Unlock()
	for _, w := range all {
		if w.seen && !late {
			continue
		}
		switch err := u.tasks.recordOutage(w.check(ctx)); {
		case errors.Is(err, store.ErrUnavailable), ctx.Err() != nil:
			return
		case errors.Is(err, store.ErrFull): // the next one may be shorter
			continue
		}
		u.mu.Lock()
		w.seen = true
		u.mu.Unlock()
	}
	if late {
		u.forgetConfirmed()
	}
}

// forgetConfirmed removes the writes that had an answer and are older than a lease.
func (u *unconfirmedWrites) forgetConfirmed() {
	u.mu.Lock()
	defer u.mu.Unlock()
	var open []*unconfirmed
	for _, w := range u.writes {
		if !w.seen || time.Since(w.since) <= u.tasks.cfg.Lease {
			open = append(open, w)
		}
	}
	u.writes = open
}

// hasUnconfirmed reports whether the outcome of a write is not known.
func (u *unconfirmedWrites) hasUnconfirmed() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(u.writes, func(w *unconfirmed) bool { return !w.seen })
}

// undoCreate returns a check that removes the task of a turn that did not begin.
func (s *taskStore) undoCreate(id, turn string) func(context.Context) error {
	return func(ctx context.Context) error {
		there, err := s.cfg.Store.Task(ctx, id)
		switch {
		case err == nil && !s.isRunHere(there, turn):
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
func (s *taskStore) undoUpdate(id, turn string, before store.Task, ttl time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		there, err := s.cfg.Store.Task(ctx, id)
		if err != nil || !s.isRunHere(there, turn) {
			return err
		}
		before.Version = there.Version
		return s.cfg.Store.UpdateTask(ctx, id, before, ttl)
	}
}
