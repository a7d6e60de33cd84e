// This file answers an idempotency key that comes again: with the log of the turn that it was used
// for. A turn that begins does not have a log yet: its first event is written after its key was
// claimed. Only a turn that is over is said to be over: an EventSource would give up.

package task

import (
	"context"
	"errors"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
)

// beginTime is how long a repeated key waits for the log of a turn that begins.
const beginTime = 2 * time.Second

// Reopen is OpenLog for a request that repeats a key. If the turn has not ended and lacks a log,
// Reopen calls waits, and then waits for the log to begin. ErrGone says that the turn is over and
// cannot be reported; a fault of type DuplicateRequest with RetryAfter, that it did not begin in
// time.
func (s *taskReader) Reopen(ctx context.Context, r *Replay, waits func()) (*Log, error) {
	log, err := s.OpenLog(ctx, r.Turn)
	if !errors.Is(err, ErrGone) {
		return log, err
	}
	if over, err := s.hasKeyEnded(ctx, r); err != nil {
		return nil, err
	} else if over {
		return s.OpenLog(ctx, r.Turn) // it may have got its log since the last look
	}
	waits()
	waiting, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	watch := s.cfg.Store.Watch(store.LogTopic(r.Turn))
	defer watch.Stop()
	for waiting.Err() == nil {
		select {
		case <-waiting.Done():
		case <-watch.C:
		case <-time.After(lookEvery):
		}
		if log, err = s.OpenLog(ctx, r.Turn); !errors.Is(err, ErrGone) {
			return log, err
		}
	}
	if over, err := s.hasKeyEnded(ctx, r); err != nil {
		return nil, err
	} else if over {
		return s.OpenLog(ctx, r.Turn) // it may have got its log since the last look
	}
	return nil, &fault.Error{Type: fault.DuplicateRequest, RetryAfter: time.Second,
		Message: "The turn of this idempotency key begins; send the request again in a moment to read it"}
}

// hasKeyEnded reports whether the turn of a key has ended. The turn of a dead process has ended, unless it
// has saved something for another process. The process that closes a turn adds to an existing log,
// and creates none.
func (s *taskReader) hasKeyEnded(ctx context.Context, r *Replay) (bool, error) {
	v, err := s.cfg.Store.Value(ctx, r.key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // the request that claimed it was refused, or its time is over
	}
	if err != nil {
		return false, storeUnavailable(s.recordOutage(err))
	}
	used, err := readKeyed(v.Data)
	switch {
	case err != nil || used.Turn != r.Turn:
		return false, nil
	case used.Ended || used.Owner == "" || s.lease.isUncertain():
		return used.Ended, nil
	}
	alive, err := s.cfg.Store.LeasesAlive(ctx, store.Holder{Owner: used.Owner, Epoch: used.Epoch})
	if err != nil {
		return false, storeUnavailable(s.recordOutage(err))
	}
	if alive[0] {
		return false, nil
	}
	_, err = s.savedFor(ctx, r.Turn)
	if errors.Is(err, ErrGone) {
		return true, nil
	}
	return false, err
}

// Repeated returns a *Replay if the request's idempotency key was used with the same
// body, and nil otherwise.
//
// Every failure of the store is nil: the caller then begins the turn, and Begin meets the
// key again.
func (s *taskReader) Repeated(ctx context.Context, req Request) error {
	key := req.keyName()
	v, err := s.cfg.Store.Value(ctx, key)
	if err != nil {
		return nil
	}
	used, err := readKeyed(v.Data)
	if err != nil || string(used.Body) != string(req.Body[:]) {
		return nil
	}
	return &Replay{Turn: used.Turn, key: key}
}

// KeyedTurn returns the turn that an owner's idempotency key was used for; empty: it is not known.
// Its error says that the store is unavailable.
func (s *taskReader) KeyedTurn(ctx context.Context, tenant, owner, key string) (string, error) {
	v, err := s.cfg.Store.Value(ctx, store.IdempotencyKey(tenant, owner, key))
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", storeUnavailable(s.recordOutage(err))
	}
	used, err := readKeyed(v.Data)
	if err != nil {
		return "", nil
	}
	return used.Turn, nil
}
