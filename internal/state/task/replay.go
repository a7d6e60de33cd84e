// This file answers an idempotency key that comes again: with the log of the turn that it was
// used for. A turn that begins has no log yet, since its first event is written after its key
// was claimed. Only a turn that is over is said to be over: an EventSource would give up.

package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// beginTime is how long a repeated key waits for the log of a turn that begins.
const beginTime = 2 * time.Second

// Replay is the error of Begin for a request whose idempotency key was used with the
// same body: Turn runs, or has run.
type Replay struct {
	Turn string
	key  string // of the store
}

// It is not a failure: the caller reads the turn's log instead of running it.
func (*Replay) Error() string { return "the turn of this idempotency key runs or has run" }

// keyed is what the store keeps of an idempotency key.
type keyed struct {
	Turn string `json:"turn"`
	Body []byte `json:"body"`
	// Owner and Epoch name the process that runs the turn. They are left out for a run: another process
	// continues with it.
	Owner string `json:"owner,omitempty"`
	Epoch int64  `json:"epoch,omitempty"`
	Over  bool   `json:"over,omitempty"` // the turn has ended
}

// encode returns k as it is stored.
func (k keyed) encode() []byte {
	data, _ := json.Marshal(k) // plain values: cannot fail
	return data
}

// readKeyed reads what encode wrote, or an older version of this program.
func readKeyed(data []byte) (k keyed, err error) {
	if err := json.Unmarshal(data, &k); err != nil || !chat.IsTurnID(k.Turn) {
		return keyed{}, store.ErrDamaged
	}
	return k, nil
}

// claim is the idempotency key that a turn holds from its begin to its end. Its zero value is
// that of a turn without one.
type claim struct {
	key string // of the store; empty: none
	keyed
}

// release notes that the turn of the key is over: its memory begins to run out.
func (c *claim) release(of *identity) {
	if c.key == "" {
		return
	}
	c.Over = true
	_, err := of.store.cfg.Store.PutValue(of.ctx, c.key, store.Value{Data: c.encode(), Version: 1}, keyMemory)
	_ = of.store.recordOutage(err)
}

// Reopen is OpenLog for a request that repeats a key. If the turn has no log and is not over,
// Reopen calls waits, and then waits for the log to begin. ErrGone says that the turn is over
// and cannot be reported; a fault of type DuplicateRequest with RetryAfter, that it did not
// begin in time.
func (s *Service) Reopen(ctx context.Context, r *Replay, waits func()) (*Log, error) {
	log, err := s.OpenLog(ctx, r.Turn)
	if !errors.Is(err, ErrGone) {
		return log, err
	}
	if over, err := s.isOver(ctx, r); err != nil {
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
	if over, err := s.isOver(ctx, r); err != nil {
		return nil, err
	} else if over {
		return s.OpenLog(ctx, r.Turn) // it may have got its log since the last look
	}
	return nil, &fault.Error{Type: fault.DuplicateRequest, RetryAfter: time.Second,
		Message: "The turn of this idempotency key begins; send the request again in a moment to read it"}
}

// isOver says whether the turn of a key has ended. That of a dead process has, unless something
// of it was saved, so that another one goes on with it: who closes a turn adds to a log that is
// there, and makes none.
func (s *Service) isOver(ctx context.Context, r *Replay) (bool, error) {
	v, err := s.cfg.Store.Value(ctx, r.key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // the request that claimed it was refused, or its time is over
	}
	if err != nil {
		return false, unavailable(s.recordOutage(err))
	}
	used, err := readKeyed(v.Data)
	switch {
	case err != nil || used.Turn != r.Turn:
		return false, nil
	case used.Over || used.Owner == "" || s.uncertain():
		return used.Over, nil
	}
	alive, err := s.cfg.Store.LeasesAlive(ctx, store.Holder{Owner: used.Owner, Epoch: used.Epoch})
	if err != nil {
		return false, unavailable(s.recordOutage(err))
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
