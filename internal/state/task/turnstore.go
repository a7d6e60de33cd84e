// This file has the common fields of a turn's parts: the store they write to, and the ids of the
// turn.

package task

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"sluice/internal/state/store"
)

// turnStore is where the turns of a process write: the store, with the checks of lost answers, and
// the buffers of events that the store does not have yet. It is safe for concurrent use.
type turnStore struct {
	*turnLogs
	unconfirmedWrites
	buffers  buffers
	detached atomic.Int64 // turns that continue without the client that began them
}

// withdrawQuestions empties questions that can no longer be answered. They hold words of the user and of
// the model, maybe for longer than the task is kept. If the store does not answer, the keeper does
// it later.
func (s *turnStore) withdrawQuestions(ctx context.Context, ids []string) {
	for _, id := range ids {
		empty := func(ctx context.Context) error {
			v, err := s.cfg.Store.Value(ctx, store.ApprovalKey(id))
			if data := store.Withdraw(v.Data); err == nil && !bytes.Equal(v.Data, data) {
				v.Data = data
				_, err = s.cfg.Store.PutValue(ctx, store.ApprovalKey(id), v, s.cfg.TTL)
			}
			return s.recordOutage(err)
		}
		if err := empty(ctx); errors.Is(err, store.ErrUnavailable) {
			s.checkLater(nil, empty)
		}
	}
}

// identity says which turn of which task something belongs to. It does not change while the
// turn runs.
type identity struct {
	store    *turnStore
	id, task string
	began    time.Time
	ctx      context.Context // for the store: it does not end with the turn
	durable  bool            // it is a run, with which another process can continue
	saves    bool            // it saves the data that another process needs to continue it
}

// dropSaved returns the change that removes the saved states of a turn, with the last state of its
// task.
func (of *identity) dropSaved() store.Side {
	if !of.saves {
		return store.Side{}
	}
	return store.Side{Key: store.TurnKey(of.id), Drop: true}
}
