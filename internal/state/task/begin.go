// This file begins to keep a turn: it claims the idempotency key, then makes a task or takes up the
// one that waits. The turn has run nothing by then, so every refusal is a plain reply. A turn that
// can do without a store runs without being kept if the store is unavailable.

package task

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// turnStarter begins to keep turns: it claims their keys and tasks. It is safe for concurrent use.
type turnStarter struct {
	*turnStore
	turns *openTurns
	lease *processLease
}

// ErrNoRoom says that a turn is not kept because the store is full.
var ErrNoRoom = errors.New("the store is full")

// Begin begins to keep a turn. It returns nil if the store is unavailable and the turn can
// do without, and ErrNoRoom if it is full; a *Replay; a *fault.Error; a *chat.ValidationError if the task waits for
// no input. It sets in Request.Chat which question its input answers. End must be called on the Turn.
//
// A turn needs the store if the store is required, if the turn is a run, or if the request names a
// key or a task. A key that was made of the request does not count.
func (s *turnStarter) Begin(ctx context.Context, req Request) (*Turn, error) {
	t := s.newTurn(ctx, req)
	err := s.beginStored(ctx, t, req)
	switch {
	case err == nil:
		return t, nil
	case !isOutage(err):
		return nil, err
	case s.cfg.Required || req.needsStore():
		return nil, storeUnavailable(err)
	case errors.Is(err, store.ErrFull):
		return nil, ErrNoRoom
	}
	return nil, nil
}

// isOutage reports whether the store cannot keep a turn now.
func isOutage(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrDamaged)
}

// needsStore reports whether a turn cannot do without the store.
func (r *Request) needsStore() bool {
	return r.Durable || r.Key != "" && !r.KeyMade || r.TaskID != ""
}

// beginStored claims the idempotency key, then the task, in this order: a key that is
// taken must leave nothing behind. A process that has lost its lease gets a new
// one first, with an epoch of its own.
func (s *turnStarter) beginStored(ctx context.Context, t *Turn, req Request) error {
	if !s.lease.leased.Load() {
		if err := s.lease.renewLease(); err != nil {
			return err
		}
	}
	if req.Key != "" {
		if err := s.claimKey(ctx, t, req); err != nil {
			return s.recordOutage(err)
		}
	}
	err := s.openTask(ctx, t, &req)
	if err != nil {
		if key := t.claim.key; key != "" && s.cfg.Store.DeleteValue(t.ctx, key) != nil {
			s.checkLater(nil, s.undoKey(key, t.id))
		}
		return s.recordOutage(err)
	}
	s.turns.add(t)
	return nil
}

// claimKey makes the idempotency key the turn's.
//
// The second of two requests with one key gets a *Replay if its body is the same, and a
// fault if not. If the store does not answer, a second try meets the key that the first one has
// written.
func (s *turnStarter) claimKey(ctx context.Context, t *Turn, req Request) error {
	key := req.keyName()
	mine := keyed{Turn: t.id, Body: req.Body[:]}
	if !t.durable {
		mine.Owner, mine.Epoch = s.holder.Owner, s.holder.Epoch
	}
	put := func() (store.Value, error) {
		return s.cfg.Store.PutValue(t.ctx, key, store.Value{Data: mine.encode()}, longestTurn+keyMemory)
	}
	there, err := put()
	if isUnknown(err) {
		if there, err = put(); errors.Is(err, store.ErrUnavailable) {
			s.checkLater(nil, s.undoKey(key, t.id))
		}
	}
	if err == nil {
		t.claim = claim{key, mine}
		return nil
	}
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	used, err := readKeyed(there.Data)
	if err != nil {
		return err
	}
	if used.Turn == t.id { // a try before, whose answer was lost
		t.claim = claim{key, mine}
		return nil
	}
	if string(used.Body) != string(req.Body[:]) {
		return &fault.Error{Type: fault.KeyReused, Message: "This idempotency key was used with another request"}
	}
	return &Replay{Turn: used.Turn, key: key}
}

// openTask makes the task, or takes up the one that waits for the input.
//
// The head of the log waits in pending and is written with the first flush.
func (s *turnStarter) openTask(ctx context.Context, t *Turn, req *Request) error {
	continued, adopter := false, taskAdopter{s.turnStore}
	var err error
	switch {
	case req.AskingTurn != "":
		continued, err = true, adopter.continueWithAnswer(ctx, t, req)
	case req.TaskID != "":
		continued, err = true, adopter.resumeTask(ctx, t, req)
	case req.mayRecall():
		continued, err = adopter.recallTask(ctx, t, req)
	}
	if err == nil && !continued {
		err = s.createTask(ctx, t, req)
	}
	t.answer.borrowBuffer(&s.buffers)
	t.log.beginLog(t.logHead(req))
	return err
}

// mayRecall reports whether the request may answer the question of a task of its conversation.
func (r *Request) mayRecall() bool {
	return r.Recall && r.Chat.ConversationID != "" && !r.Chat.Principal.IsAnonymous()
}

// createTask makes the turn a task of its own.
func (s *turnStarter) createTask(ctx context.Context, t *Turn, req *Request) error {
	t.task = newID(chat.TaskPrefix)
	t.end.stored.doc = newDocument(t.task, req.Chat)
	t.end.stored.doc.Metadata.LastAgent = req.Chat.LastAgent
	t.end.stored.doc.addInput(t.id, req, t.began, s.cfg.MaxHistory)
	doc, long := t.end.stored.doc.encodeStored()
	task := store.Task{Doc: doc, Side: t.beginSaving(req), Meta: store.Meta{
		Holder: s.holder, Tenant: req.Chat.Principal.Tenant, User: req.Chat.Owner(), Conversation: t.end.stored.doc.ContextID,
		Turn: t.id, State: Working, Created: t.began,
	}}
	undo := s.undoCreate(t.task, t.id)
	err := s.confirmWrite(t.ctx, t.task, task, s.cfg.Store.CreateTask(t.ctx, t.task, task, s.workingTTL(t.durable)))
	if errors.Is(err, store.ErrUnavailable) { // the turn runs without being kept, or not at all
		s.checkLater(err, undo)
	}
	if err != nil {
		return err
	}
	if err = s.storeLong(t.ctx, t.end.stored.doc, long, s.workingTTL(t.durable)); err != nil && undo(t.ctx) != nil {
		s.checkLater(nil, undo)
	}
	if err == nil {
		s.reportState(ctx, t.task, submitted, Working)
	}
	return err
}

// newTurn makes a turn. Its context is not the request's: the store must get the turn also when the
// client has left.
func (s *turnStarter) newTurn(ctx context.Context, req Request) *Turn {
	id, now := newID(chat.TurnPrefix), time.Now()
	t := &Turn{
		turns: s.turns, identity: identity{store: s.turnStore, id: id, began: now, ctx: context.WithoutCancel(ctx), durable: req.Durable && s.cfg.Runs != nil},
		cancel: req.Cancel, client: receiver{detached: req.Detached}, end: turnEnd{stored: storedTask{version: 1}},
		trace: tracing{Recorder: s.newRecorder(id, now)},
	}
	return t.connectParts()
}

// newDocument returns the document of a task that begins.
func newDocument(id string, req *chat.Request) *document {
	conversation := req.ConversationID
	if conversation == "" {
		conversation = newID("conv_")
	}
	d := &document{ID: id, SessionID: conversation, ContextID: conversation}
	d.Metadata.Workflow, d.Metadata.Kind, d.Metadata.RetentionDays = req.Workflow, req.Kind, req.RetentionDays
	d.Metadata.ParentTaskID = req.ParentTask
	if len(req.Context) > 0 {
		d.Metadata.Others = extras{}
		for _, entry := range req.Context {
			d.Metadata.Others[entry.Name], _ = jsontext.AppendQuote(nil, entry.Value)
		}
	}
	return d
}
