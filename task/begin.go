package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"sluice/chat"
	"sluice/fault"
	"sluice/store"
)

// Request says what is to be kept of a turn.
type Request struct {
	Chat   *chat.Request
	TaskID string // that waits for the input; empty: a new one
	// Asked is the turn of TaskID that waits for a person, who has answered; empty: TaskID
	// waits for an input.
	Asked       string
	RequestID   string
	Accumulated bool
	Detached    bool // the turn goes on when its client leaves
	Durable     bool // and when its process does: it is a run of Config.Runs
	Key         string
	Body        *[32]byte // SHA-256 of what came with Key; nil without one
	// Cancel ends the turn.
	Cancel context.CancelCauseFunc
}

// Replay is the error of Begin for a request whose idempotency key was used with the
// same body: Turn runs, or has run.
type Replay struct{ Turn string }

func (*Replay) Error() string { return "the turn of this idempotency key runs or has run" }

// keyed is what is kept of an idempotency key.
type keyed struct {
	Turn string `json:"turn"`
	Body []byte `json:"body"`
}

// Begin begins to keep a turn. It returns nil if the store is unavailable and the turn can
// do without; a *Replay; a *fault.Error; a *chat.ValidationError if the task waits for
// no input. End must be called on the Turn.
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
	err := s.open(ctx, t, req)
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
func (s *Service) claim(ctx context.Context, t *Turn, req Request) error {
	key := store.IdempotencyKey(req.Chat.Principal.Tenant, owner(req.Chat), req.Key)
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
func (s *Service) open(ctx context.Context, t *Turn, req Request) error {
	if req.TaskID != "" {
		return s.takeUp(ctx, t, req)
	}
	t.doc = newDocument(t.task, req.Chat)
	t.doc.asked(t.id, req.Chat.Input, t.began, s.cfg.MaxHistory)
	return s.cfg.Store.CreateTask(ctx, t.task, store.Task{Doc: t.doc.encode(), Meta: store.Meta{
		Holder: s.holder, Tenant: req.Chat.Principal.Tenant, User: owner(req.Chat), Conversation: t.doc.ContextID,
		Turn: t.id, State: Working, Created: t.began,
	}}, s.working(t))
}

func (s *Service) takeUp(ctx context.Context, t *Turn, req Request) error {
	if req.Asked != "" {
		return s.goOn(ctx, t, req)
	}
	task, err := s.cfg.Store.Task(ctx, req.TaskID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	mine := task.Tenant == req.Chat.Principal.Tenant && task.User == owner(req.Chat)
	if err != nil || !mine || task.State != InputRequired {
		return noSuchTask()
	}
	if len(readDocument(t.task, task).Status.Approvals) > 0 {
		return waitsForApproval()
	}
	t.version = task.Version + 1
	t.doc = readDocument(t.task, task)
	t.doc.asked(t.id, req.Chat.Input, t.began, s.cfg.MaxHistory)
	task.Doc, task.Holder, task.Turn, task.State = t.doc.encode(), s.holder, t.id, Working
	err = s.cfg.Store.UpdateTask(ctx, t.task, task, s.cfg.TTL)
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return noSuchTask()
	}
	return err
}

// working is how long the task of a turn that runs is kept. That of a run does not expire.
func (s *Service) working(t *Turn) time.Duration {
	if t.durable {
		return 0
	}
	return s.cfg.TTL
}

func noSuchTask() error {
	e := new(chat.ValidationError)
	e.Add("/task_id", chat.NoSuchTask())
	return e
}

func (s *Service) newTurn(ctx context.Context, req Request) *Turn {
	t := &Turn{
		service: s, id: newID(chat.TurnPrefix), task: req.TaskID, version: 1, began: time.Now(),
		ctx: context.WithoutCancel(ctx), cancel: req.Cancel, detached: req.Detached, logging: true, durable: req.Durable && s.cfg.Runs != nil,
	}
	if t.task == "" {
		t.task = newID(chat.TaskPrefix)
	}
	t.pending = head{t.task, t.id, req.Chat.Principal.Tenant, req.RequestID, req.Accumulated}.append(nil)
	return t
}
