// This file begins to keep a turn: it claims the idempotency key, then makes a task or
// takes up the one that waits. Nothing of the turn has run by then, so that every refusal
// is a plain reply. A turn that can do without a store runs without being kept if the store
// is unavailable.

package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"sluice/chat"
	"sluice/fault"
	"sluice/record"
	"sluice/store"
)

// Request says what is to be kept of a turn.
type Request struct {
	Chat   *chat.Request
	TaskID string // that waits for the input; empty: see Recall
	// Recall looks at the newest task of the conversation: the input answers its question, if
	// it has one, and Chat learns who answered last. Else the turn gets a task of its own.
	Recall bool
	// Asked is the turn of TaskID that waits for a person, who has answered; empty: TaskID
	// waits for an input.
	Asked string
	// RequestID is what frames carry. Accumulated is kept for readers of the
	// log, whose frames must be the same.
	RequestID   string
	Accumulated bool
	Detached    bool // the turn goes on when its client leaves
	Durable     bool // and when its process does: it is a run of Config.Runs
	// Key is the client's idempotency key; empty: none.
	Key  string
	Body *[32]byte // SHA-256 of what came with Key; nil without one
	// Cancel ends the turn.
	Cancel context.CancelCauseFunc
}

// Replay is the error of Begin for a request whose idempotency key was used with the
// same body: Turn runs, or has run.
type Replay struct{ Turn string }

// It is not a failure: the caller reads the turn's log instead of running it.
func (*Replay) Error() string { return "the turn of this idempotency key runs or has run" }

// keyed is what is kept of an idempotency key.
type keyed struct {
	Turn string `json:"turn"`
	Body []byte `json:"body"`
}

// Begin begins to keep a turn. It returns nil if the store is unavailable and the turn can
// do without; a *Replay; a *fault.Error; a *chat.ValidationError if the task waits for
// no input. It sets in Request.Chat which question its input answers. End must be called on the Turn.
//
// A turn cannot do without the store if the store is required, if the turn is a run, or if
// the request names a key or a task.
func (s *Service) Begin(ctx context.Context, req Request) (*Turn, error) {
	t := s.newTurn(ctx, req)
	err := s.begin(ctx, t, req)
	switch {
	case err == nil:
		return t, nil
	case !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrFull) && !errors.Is(err, store.ErrDamaged):
		return nil, err
	case s.cfg.Required || req.Durable || req.Key != "" || req.TaskID != "":
		return nil, unavailable(err)
	}
	return nil, nil
}

// begin claims the idempotency key, then the task, in this order: a key that is
// taken must leave nothing behind. A process that has lost its lease gets a new
// one first, with an epoch of its own.
func (s *Service) begin(ctx context.Context, t *Turn, req Request) error {
	if !s.leased.Load() {
		if err := s.renew(); err != nil {
			return err
		}
	}
	if req.Key != "" {
		if err := s.claim(ctx, t, req); err != nil {
			return s.note(err)
		}
	}
	err := s.open(ctx, t, &req)
	if err != nil {
		if t.key != "" {
			_ = s.cfg.Store.DeleteValue(context.WithoutCancel(ctx), t.key)
		}
		return s.note(err)
	}
	s.mu.Lock()
	s.running[t.task] = t
	s.mu.Unlock()
	return nil
}

// claim makes the idempotency key the turn's.
//
// Of two requests with one key the second gets a *Replay if its body is the same, and a
// fault if not.
func (s *Service) claim(ctx context.Context, t *Turn, req Request) error {
	key := store.IdempotencyKey(req.Chat.Principal.Tenant, req.Chat.Owner(), req.Key)
	data, _ := json.Marshal(keyed{t.id, req.Body[:]})
	there, err := s.cfg.Store.PutValue(ctx, key, store.Value{Data: data}, longestTurn+keyMemory)
	if err == nil {
		t.key = key
		return nil
	}
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	var used keyed
	if err := json.Unmarshal(there.Data, &used); err != nil || !chat.IsTurnID(used.Turn) {
		return store.ErrDamaged
	}
	if used.Turn == t.id { // a try before, whose answer was lost
		t.key = key
		return nil
	}
	if string(used.Body) != string(req.Body[:]) {
		return &fault.Error{Type: fault.KeyReused, Message: "This idempotency key was used with another request"}
	}
	return &Replay{used.Turn}
}

// open makes the task, or takes up the one that waits for the input.
//
// The head of the log waits in pending and is written with the first flush.
func (s *Service) open(ctx context.Context, t *Turn, req *Request) error {
	taken := false
	var err error
	switch {
	case req.Asked != "":
		taken, err = true, s.goOn(ctx, t, req)
	case req.TaskID != "":
		taken, err = true, s.takeUp(ctx, t, req)
	case req.Recall && req.Chat.ConversationID != "":
		taken, err = s.recall(ctx, t, req)
	}
	if err == nil && !taken {
		err = s.create(ctx, t, req)
	}
	t.borrow()
	t.pending = head{t.task, t.id, req.Chat.Principal.Tenant, req.RequestID, req.Accumulated}.append(t.room())
	return err
}

// create makes the turn a task of its own.
func (s *Service) create(ctx context.Context, t *Turn, req *Request) error {
	t.task = newID(chat.TaskPrefix)
	t.doc = newDocument(t.task, req.Chat)
	t.doc.Metadata.LastAgent = req.Chat.LastAgent
	t.doc.asked(t.id, req.Chat.Input, t.began, s.cfg.MaxHistory)
	return s.cfg.Store.CreateTask(ctx, t.task, store.Task{Doc: t.doc.encode(), Meta: store.Meta{
		Holder: s.holder, Tenant: req.Chat.Principal.Tenant, User: req.Chat.Owner(), Conversation: t.doc.ContextID,
		Turn: t.id, State: Working, Created: t.began,
	}}, s.working(t))
}

// working is how long the task of a turn that runs is kept. That of a run does not expire.
func (s *Service) working(t *Turn) time.Duration {
	if t.durable {
		return 0
	}
	return s.cfg.TTL
}

// newTurn makes a turn. Its context is not the request's: what is stored must be
// stored also when the client has gone.
func (s *Service) newTurn(ctx context.Context, req Request) *Turn {
	id, now := newID(chat.TurnPrefix), time.Now()
	return &Turn{
		service: s, id: id, version: 1, began: now, trace: record.New(s.cfg.Trace, id, now),
		ctx: context.WithoutCancel(ctx), cancel: req.Cancel, detached: req.Detached, logging: true, durable: req.Durable && s.cfg.Runs != nil,
	}
}
