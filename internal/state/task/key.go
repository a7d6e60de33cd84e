// This file reads and writes the store's record of an idempotency key.

package task

import (
	"context"
	"encoding/json"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// keyed is the stored record of an idempotency key.
type keyed struct {
	Turn string `json:"turn"`
	Body []byte `json:"body"`
	// Owner and Epoch name the process that runs the turn. They are left out for a run: another process
	// continues with it.
	Owner string `json:"owner,omitempty"`
	Epoch int64  `json:"epoch,omitempty"`
	Ended bool   `json:"over,omitempty"` // the turn has ended
}

// encode returns k as it is stored.
func (k keyed) encode() []byte {
	data, _ := json.Marshal(k) // plain values: cannot fail
	return data
}

// readKeyed reads the encoding of a keyed, also of an older version of this program.
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

// releaseKey records the end of the key's turn: from now on the store keeps the key for keyMemory.
func (c *claim) releaseKey(of *identity) {
	if c.key == "" {
		return
	}
	c.Ended = true
	_, err := of.store.cfg.Store.PutValue(of.ctx, c.key, store.Value{Data: c.encode(), Version: 1}, keyMemory)
	_ = of.store.recordOutage(err)
}

// Replay is the error of Begin for a request whose idempotency key was used with the
// same body: Turn runs, or has run.
type Replay struct {
	Turn string
	key  string // of the store
}

// Error implements error. A Replay is not a failure: the caller reads the turn's log instead of
// running it.
func (*Replay) Error() string { return "the turn of this idempotency key runs or has run" }

// undoKey returns a check that removes the idempotency key of a turn that did not begin.
func (s *taskStore) undoKey(key, turn string) func(context.Context) error {
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
