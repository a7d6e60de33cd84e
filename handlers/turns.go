package handlers

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// turns takes a turn from its request to its runner: startTurn has the steps in between.
type turns struct {
	frame     stream.Frame                                              // of a turn that chooses nothing
	choose    func(*chat.Request) (stream.Runner, time.Duration, error) // nil: the frame's Runner answers
	retracts  bool                                                      // a model may begin answers again
	gate      *gate
	keys      *keyring
	repeats   *repeats
	limits    *limits
	senders   *senders
	catalogue *catalogue
	tasks     *task.Service // nil: turns end with their connections
	runner    *turnRunner
}

// serveTurn runs a turn, and replies with its events. An error means that nothing was sent: a
// *task.Replay names the turn that has used the key.
//
// A stored turn runs to its end on this goroutine, also without a client: so a drain waits for it
// as for any other turn.
func (ts *turns) serveTurn(w http.ResponseWriter, r *http.Request, t *turn) error {
	in, err := ts.startTurn(r, t)
	switch {
	case err != nil:
		return err
	case ts.tasks == nil:
		ts.runUnstored(in, w, r, t)
	case t.Mode == dialect.Unattended && t.stored != nil:
		return ts.runUnattended(in, w, r, t)
	case t.Mode == dialect.Early:
		return sendFirst(w, r, t, func() error { ts.runStored(in, nil, r, t); return nil })
	default:
		ts.runStored(in, w, r, t)
	}
	return nil
}

// startTurn takes a turn through the steps before its run. The undo of a step stands below it, and
// runs if a later step fails. With an error nothing runs.
func (ts *turns) startTurn(r *http.Request, t *turn) (_ *slot, err error) {
	if err = ts.chooseRunner(t); err != nil {
		return nil, err
	}
	if err = ts.repeats.rememberContent(r, t); err != nil {
		return nil, err
	}
	defer undoStep(&err, func() { ts.repeats.forgetFirst(r, t) })
	in, err := ts.gate.admitStream(ts.parentOf(r, t))
	if err != nil {
		return nil, err
	}
	started := false
	defer func() {
		if !started { // also after a panic
			t.endKey()
			in.leave()
		}
	}()
	if err = ts.reserveKey(t); err != nil {
		return nil, err
	}
	if err = ts.limits.chargeTurn(r, t); err != nil {
		return nil, err
	}
	defer undoStep(&err, t.undoCharge)
	if err = t.claimAnswer(in.ctx); err != nil {
		return nil, err
	}
	defer undoStep(&err, t.unclaimAnswer)
	if err = ts.storeTurn(in, r, t); err != nil {
		return nil, err
	}
	started = true
	return in, nil
}

// undoStep calls revert, which undoes a step, if a later step has failed.
func undoStep(err *error, revert func()) {
	if *err != nil {
		revert()
	}
}

// chooseRunner sets the frame of a turn: its Runner and its timeout. An error means that the
// request is refused. The frame is not returned: it is large, and would lie on the stack of open
// streams.
func (ts *turns) chooseRunner(t *turn) (err error) {
	req, frame := &t.Request, &t.frame
	req.Facts.CanRetract = t.route.Retracts
	req.Facts.Retracts = ts.retracts && t.route.Retracts
	if ts.retracts {
		req.Facts.Seams = new(chat.Seams)
	}
	*frame = ts.frame
	if req.Workflow != "" && req.Agent != "" {
		v := new(chat.ValidationError)
		v.Add("/agent", &chat.FieldError{Code: chat.CodeNotAllowed, Message: "must not stand beside a workflow"})
		return v
	}
	if ts.choose == nil {
		if req.Agent != "" {
			return unknownAgent()
		}
		if req.Workflow != "" {
			return UnknownWorkflow()
		}
		return nil
	}
	frame.Runner, frame.Timeout, err = ts.choose(req)
	frame.Late = ts.tasks != nil && isDurable(req)
	return err
}

// parentOf returns the parent of a turn's context. A stored turn may outlive its request.
func (ts *turns) parentOf(r *http.Request, t *turn) context.Context {
	if ts.tasks != nil && t.Mode != dialect.Attached {
		return context.WithoutCancel(r.Context())
	}
	return r.Context()
}

// reserveKey reserves the key of a turn, unless its task remembers it. Its undo is turn.endKey.
func (ts *turns) reserveKey(t *turn) (err error) {
	if ts.tasks == nil {
		t.releaseKey, err = ts.keys.reserveKey(&t.Request, t.Key)
	}
	return err
}

// storeTurn stores a turn, if the store is available and has room. A turn fails without a store if
// its client gets only its task.
func (ts *turns) storeTurn(in *slot, r *http.Request, t *turn) (err error) {
	if ts.tasks == nil {
		return nil
	}
	request := t.taskRequest(r, ts.catalogue.hasAgents(t.Request.Principal.Tenant))
	request.Cancel = in.cancel
	t.stored, err = ts.tasks.Begin(in.ctx, request)
	if errors.Is(err, task.ErrNoRoom) {
		t.noRoom, err = new(atomic.Bool), nil
		t.noRoom.Store(true)
	}
	if err != nil {
		return err
	}
	if t.stored != nil {
		ts.bindTask(in, t)
	} else if t.Mode == dialect.Early {
		return fault.NewStoreUnavailable(nil)
	}
	return nil
}

// bindTask binds a turn to its task, and has the gate hand the turn over when the process ends.
func (ts *turns) bindTask(in *slot, t *turn) {
	t.noRoom = t.stored.NoRoom()
	if t.askingTurn != "" {
		t.accepted.Decided(in.ctx)
	}
	t.Request.Task, t.Request.Turn = t.stored.Task(), t.stored.ID()
	if t.Request.Facts.Saving = t.stored.Saving(); t.Request.Facts.Saving != nil {
		ts.gate.endBy(in, t.stored.HandOver)
	}
}

// runUnstored runs a started turn without a store, and releases its slot.
func (ts *turns) runUnstored(in *slot, w http.ResponseWriter, r *http.Request, t *turn) {
	defer in.leave()
	defer t.releaseKey()
	ts.runner.runTurn(in, w, r, t)
}

// runStored runs a started turn of a gateway with a store, and releases its slot.
func (ts *turns) runStored(in *slot, w http.ResponseWriter, r *http.Request, t *turn) {
	defer in.leave()
	if t.stored == nil { // the store is unavailable: the turn ends with its connection
		defer context.AfterFunc(r.Context(), func() { in.cancel(fault.ErrClientGone) })()
		ts.runner.runTurn(in, w, r, t)
		return
	}
	defer t.stored.End()
	if t.identity != nil && w != nil && t.Mode != dialect.Attached && isDurable(&t.Request) { // its client only watches
		defer ts.senders.whileMay(t.identity, ruleOf(t.route), func(error) { breakReply(w, r) })()
	}
	if t.Mode != dialect.Unattended {
		defer context.AfterFunc(r.Context(), t.stored.ClientLeft)()
		if t.route.Resume != nil && t.Form == dialect.Streamed {
			t.Encoder = t.route.Resume(dialect.StoredTurn{TurnID: t.stored.ID(), RequestID: chat.RequestID(r.Context()), Accumulated: t.Accumulated,
				Dialect: t.route.Name(), Began: t.began, Facts: t.Facts})
		}
	}
	ts.runner.runTurn(in, w, r, t)
}

// runUnattended runs a stored turn without a reader, and replies with its task.
func (ts *turns) runUnattended(in *slot, w http.ResponseWriter, r *http.Request, t *turn) error {
	doc, err := ts.tasks.Show(in.ctx, task.Caller{Principal: t.Request.Principal, UserID: t.Request.UserID}, t.stored.Task())
	// Goroutine (runUnattended): runs the whole turn that goes on after an answer to a question,
	// without a reader.
	// Ends: the turn has its `done`.
	// Waits: `handlers`, which counts it for a drain as any turn.
	go func() { // the gate waits for it
		defer recoverPanic(in.ctx)
		ts.runStored(in, nil, r, t)
	}()
	if err == nil {
		writeBody(w, http.StatusAccepted, doc)
	}
	return err
}
