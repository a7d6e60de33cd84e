// This file stores the task that one agent gave to another one (SubAgentSession), for a task's
// export and for clients. It decides nothing about a run: a session that is lost is a gap in the
// record, and the task continues.

package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sluice/internal/engine/workflow/engine"
	"sluice/internal/state/store"
)

// sessionSchema is the version of a stored session. A session of a later version is left alone.
const sessionSchema = 1

// Statuses of a SubAgentSession. A session that waits for a person is still running.
const (
	SessionRunning   = "running"
	SessionCompleted = "completed"
	sessionFailed    = "failed"
)

// SubAgentSession is one task that an agent gave to another one: the task, the agent's messages and
// calls, and the summary for the caller. Its members are those of the contract, for a store and for
// clients alike.
type SubAgentSession struct {
	SessionID    string `json:"session_id"` // a UUID
	ParentTaskID string `json:"parent_task_id"`
	AgentName    string `json:"agent_name"` // its id in the file
	// TaskDescription is the task, its context included.
	TaskDescription string `json:"task_description"`
	// MessageHistory begins with the task. Messages beyond the bounds of the store are cut there,
	// with a note.
	MessageHistory []engine.Message `json:"message_history"`
	Summary        string           `json:"summary,omitempty"` // for the caller; empty before the end, or without an answer
	Status         string           `json:"status"`
	CreatedAt      time.Time        `json:"created_at"`
}

// storedSession is a SubAgentSession as a store has it.
type storedSession struct {
	Schema int `json:"schema"`
	SubAgentSession
}

// Sessions keeps sessions in a store: a value for each, and for each task the list of its
// sessions in the order of their begins. It is safe for concurrent use; of one session one
// process writes at a time.
type Sessions struct {
	// Store has them.
	Store interface {
		store.Values
		store.Lists
	}
	// TTL is how long Finish keeps sessions; 0: until Forget.
	TTL time.Duration
}

// Put stores a session in place of its earlier state, for ttl; 0 means until it is removed. The
// first Put adds it to the list of its task.
//
// Its error is the store's, store.ErrConflict among them if another process wrote the
// session since it was read here.
func (s *Sessions) Put(ctx context.Context, c *SubAgentSession, ttl time.Duration) error {
	data, err := json.Marshal(storedSession{sessionSchema, *c})
	if err != nil {
		return err
	}
	key := store.SessionKey(c.SessionID)
	there, err := s.Store.Value(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		// The list first: a session that it lacks nobody would ever remove.
		if err := s.Store.PushList(ctx, store.SessionsKey(c.ParentTaskID), []byte(c.SessionID), store.Bounds{}, ttl); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	_, err = s.Store.PutValue(ctx, key, store.Value{Data: data, Version: there.Version}, ttl)
	return err
}

// Get returns a session. Its error wraps store.ErrNotFound, ErrVersion, store.ErrDamaged or
// store.ErrUnavailable.
func (s *Sessions) Get(ctx context.Context, id string) (*SubAgentSession, error) {
	v, err := s.Store.Value(ctx, store.SessionKey(id))
	if err != nil {
		return nil, err
	}
	var kept storedSession
	if err := json.Unmarshal(v.Data, &kept); err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	if kept.Schema > sessionSchema {
		return nil, ErrVersion
	}
	return &kept.SubAgentSession, nil
}

// Of returns the ids of a task's sessions, in the order of their begins.
func (s *Sessions) Of(ctx context.Context, task string) (ids []string, err error) {
	items, err := s.Store.List(ctx, store.SessionsKey(task), 0, 0)
	for _, item := range items {
		ids = append(ids, string(item))
	}
	return ids, err
}

// Finish says that nothing more comes to a task, unless a person answers it: its sessions
// are kept for TTL from now on.
//
// It continues after an error and returns all of them joined. A session that has expired by then is
// not an error.
func (s *Sessions) Finish(ctx context.Context, task string) error {
	if s.TTL == 0 {
		return nil
	}
	ids, err := s.Of(ctx, task)
	for _, id := range ids {
		if kept := s.Store.KeepValue(ctx, store.SessionKey(id), s.TTL); kept != nil && !errors.Is(kept, store.ErrNotFound) {
			err = errors.Join(err, kept)
		}
	}
	return err
}

// Forget removes the sessions of a task, the list last: what fails in between is found
// again.
func (s *Sessions) Forget(ctx context.Context, task string) error {
	ids, err := s.Of(ctx, task)
	for _, id := range ids {
		err = errors.Join(err, s.Store.DeleteValue(ctx, store.SessionKey(id)))
	}
	if err == nil {
		err = s.Store.DeleteList(ctx, store.SessionsKey(task))
	}
	return err
}
