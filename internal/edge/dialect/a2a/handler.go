package a2a

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// cancelTime is how long a cancel waits for the turn's end.
const cancelTime = time.Second

// handler implements a2asrv.RequestHandler. What becomes a turn it leaves in the call.
type handler struct{ *Server }

// SendMessage implements a2asrv.RequestHandler.
func (h handler) SendMessage(ctx context.Context, req *sdk.SendMessageRequest) (sdk.SendMessageResult, error) {
	return nil, callOf(ctx).accept(h.send(callOf(ctx), req, false))
}

// SendStreamingMessage implements a2asrv.RequestHandler.
func (h handler) SendStreamingMessage(ctx context.Context, req *sdk.SendMessageRequest) iter.Seq2[sdk.Event, error] {
	return failing(callOf(ctx).accept(h.send(callOf(ctx), req, true)))
}

// SubscribeToTask implements a2asrv.RequestHandler.
func (h handler) SubscribeToTask(ctx context.Context, req *sdk.SubscribeToTaskRequest) iter.Seq2[sdk.Event, error] {
	c := callOf(ctx)
	if err := c.charge(dialect.Read); err != nil {
		return failing(err)
	}
	return failing(c.accept(h.subscribe(ctx, c, req.ID)))
}

// accept keeps what a call became. It returns what the transport receives.
func (c *call) accept(x *dialect.Exchange, err error) error {
	if err == nil {
		c.turn = x
		return errHandled
	}
	return c.pass(err)
}

// pass returns an error that the transport words. One that has to be worded with a status
// of HTTP, or is a bug, it does not get.
func (c *call) pass(err error) error {
	if _, theirs := err.(*sdk.Error); theirs {
		return err
	}
	switch f := fault.From(err); f.Type {
	case fault.NotFound:
		return sdk.NewError(sdk.ErrTaskNotFound, f.Message)
	case fault.TaskNotCancelable:
		return sdk.NewError(sdk.ErrTaskNotCancelable, f.Message)
	}
	c.err = err
	return errHandled
}

// charge charges a call for its use, once the use is known. It returns the error for the transport.
func (c *call) charge(use dialect.Use) error {
	if err := dialect.ChargeFor(c.request.Context(), use); err != nil {
		return c.pass(err)
	}
	return nil
}

// failing is a stream that is nothing but an error.
func failing(err error) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) { yield(nil, err) }
}

// GetTask implements a2asrv.RequestHandler.
func (h handler) GetTask(ctx context.Context, req *sdk.GetTaskRequest) (*sdk.Task, error) {
	if req.HistoryLength != nil && *req.HistoryLength < 0 {
		return nil, invalid("historyLength must not be negative")
	}
	c := callOf(ctx)
	if err := c.charge(dialect.Read); err != nil {
		return nil, err
	}
	task, err := h.find(c, req.ID)
	if err != nil {
		return nil, c.pass(err)
	}
	task.History = last(task.History, req.HistoryLength)
	return task, nil
}

// ListTasks implements a2asrv.RequestHandler.
func (h handler) ListTasks(ctx context.Context, req *sdk.ListTasksRequest) (*sdk.ListTasksResponse, error) {
	c := callOf(ctx)
	if err := c.charge(dialect.Read); err != nil {
		return nil, err
	}
	list, err := h.list(ctx, c, req)
	if err != nil {
		return nil, c.pass(err)
	}
	return list, nil
}

// CancelTask implements a2asrv.RequestHandler.
func (h handler) CancelTask(ctx context.Context, req *sdk.CancelTaskRequest) (*sdk.Task, error) {
	c := callOf(ctx)
	if err := c.charge(dialect.Free); err != nil {
		return nil, err
	}
	task, err := h.cancel(ctx, c, req.ID)
	if err != nil {
		return nil, c.pass(err)
	}
	return task, nil
}

// noSuchTask is the error for a task that is not there, or not the caller's.
func noSuchTask() error {
	return sdk.NewError(sdk.ErrTaskNotFound, "There is no such task; it may have expired")
}

// find returns a task.
func (s *Server) find(c *call, id sdk.TaskID) (*sdk.Task, error) {
	t, err := s.findTurn(c, id)
	return t.Task, err
}

// found is a task with what else is known of it.
type found struct {
	*sdk.Task
	turn  string   // its last one, if that is kept
	asked []string // ids of the questions to people that it waits for
}

// findTurn returns a task. The message of one that waits for people has the questions that
// the caller may answer.
func (s *Server) findTurn(c *call, id sdk.TaskID) (found, error) {
	if !chat.IsTaskID(string(id)) {
		return found{}, noSuchTask()
	}
	if a := s.running.get(id); a != nil {
		return found{Task: a.shown()}, nil
	}
	if s.cfg.Tasks == nil {
		return found{}, noSuchTask()
	}
	doc, turn, err := s.cfg.Tasks.Task(c.request.Context(), c.who, string(id))
	if err != nil {
		return found{}, err
	}
	task, asked, err := readTask(doc)
	if err != nil || len(asked) == 0 {
		return found{task, turn, nil}, err
	}
	questions, err := s.cfg.Tasks.Questions(c.request.Context(), c.who, asked)
	c.wire.addQuestions(task.Status.Message, questions)
	return found{task, turn, asked}, err
}

// cancel cancels a task and waits a moment for its end.
func (s *Server) cancel(ctx context.Context, c *call, id sdk.TaskID) (*sdk.Task, error) {
	if a := s.running.get(id); a != nil {
		return a.stop(ctx), nil
	}
	task, err := s.find(c, id)
	switch {
	case err != nil:
		return nil, err
	case task.Status.State.Terminal():
		return nil, sdk.NewError(sdk.ErrTaskNotCancelable, "The task has ended; there is nothing to cancel")
	}
	if err := s.cfg.Tasks.Cancel(ctx, c.who, string(id)); err != nil {
		return nil, err
	}
	for wait, waited := 10*time.Millisecond, time.Duration(0); ; wait *= 2 {
		if task, err = s.find(c, id); err != nil || task.Status.State.Terminal() || waited >= cancelTime {
			return task, err
		}
		select {
		case <-ctx.Done():
			return task, nil
		case <-time.After(wait):
			waited += wait
		}
	}
}

// ended is the error of a subscription to what is over.
func ended() error {
	return sdk.NewError(sdk.ErrUnsupportedOperation, "The task has ended; there is nothing to subscribe to")
}

// subscribe reports a task as it is, and then what follows.
func (s *Server) subscribe(ctx context.Context, c *call, id sdk.TaskID) (*dialect.Exchange, error) {
	t, err := s.findTurn(c, id)
	task, kept := t.Task, t.turn
	switch {
	case err != nil:
		return nil, err
	case task.Status.State.Terminal():
		return nil, ended()
	case task.Status.State == sdk.TaskStateInputRequired:
		return s.waiting(c, task, kept), nil
	}
	e := s.follower(c, &turn{envelope: c.envelope, task: string(task.ID), context: task.ContextID, began: time.Now()})
	e.resumed = true
	x := &dialect.Exchange{Refuse: c.refuse, Encoder: e}
	if kept == "" {
		return x, s.listen(x, e, id)
	}
	return x, s.read(ctx, x, e, task, kept)
}

// lookEvery is how often a stream looks whether the task that it is about continues. It may
// continue in another process, and hours later.
const lookEvery = time.Second

// waiting is the stream about a task that waits for a person: it stays open until the task
// continues, and then has the rest (A2A 1.0, 3.1.6).
func (s *Server) waiting(c *call, task *sdk.Task, before string) *dialect.Exchange {
	e := s.follower(c, &turn{envelope: c.envelope, task: string(task.ID), context: task.ContextID, began: time.Now()})
	e.resumed = true
	x := &dialect.Exchange{Refuse: c.refuse, Encoder: e}
	x.Follow = func(ctx context.Context, out dialect.Frames) bool {
		for out.WriteFrame(e.event(nil, task)) == nil && out.Flush() == nil {
			var ok bool
			if task, before, ok = s.goesOn(ctx, c, task.ID, before); !ok {
				return false
			}
			if !task.Status.State.Terminal() && task.Status.State != sdk.TaskStateInputRequired && s.read(ctx, x, e, task, before) == nil {
				return x.Follow(ctx, out)
			}
			if task.Status.State.Terminal() {
				return out.WriteFrame(e.event(nil, task)) == nil && out.Flush() == nil
			}
		}
		return false
	}
	return x
}

// goesOn waits until a task has another state or another turn than that which asked. false:
// the client has left, or the task can no longer be read.
func (s *Server) goesOn(ctx context.Context, c *call, id sdk.TaskID, asked string) (*sdk.Task, string, bool) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, "", false
		case <-look.C:
		}
		t, err := s.findTurn(c, id)
		switch {
		case err != nil && !fault.IsStoreUnavailable(err):
			return nil, "", false
		case err == nil && (t.turn != asked || t.Status.State != sdk.TaskStateInputRequired):
			return t.Task, t.turn, true
		}
	}
}

// listen follows a turn that is not kept.
func (s *Server) listen(x *dialect.Exchange, e *teller, id sdk.TaskID) error {
	a := s.running.get(id)
	if a == nil {
		return ended()
	}
	x.Follow = func(ctx context.Context, out dialect.Frames) bool {
		a.mu.Lock()
		task := a.now()
		e.Fold, e.Pieces, e.resets = a.Fold, slices.Clip(a.Pieces), a.resets
		a.mu.Unlock()
		return out.WriteFrame(e.event(nil, task)) == nil && out.Flush() == nil && a.follow(ctx, e, out)
	}
	return nil
}

// read follows a turn that is kept. What its log has already is part of the task.
func (s *Server) read(ctx context.Context, x *dialect.Exchange, e *teller, task *sdk.Task, kept string) error {
	log, err := s.cfg.Tasks.Log(ctx, kept)
	over := false
	if err == nil {
		over, err = log.Past(ctx, e.Skip)
	}
	switch {
	case errors.Is(err, ErrGone):
		return sdk.NewError(sdk.ErrUnsupportedOperation, "The task's events are not kept; ask for the task")
	case err != nil:
		return err
	case over:
		return ended()
	}
	now := e.snapshot(sdk.TaskStateWorking, 0)
	task.Artifacts = now.Artifacts
	x.Followed = kept
	x.Follow = func(ctx context.Context, out dialect.Frames) bool {
		if out.WriteFrame(e.event(nil, task)) != nil || out.Flush() != nil {
			return false
		}
		done := false
		err := log.Rest(ctx, func(stamp stream.Stamp, ev stream.Event) {
			_ = out.WriteFrame(e.Encode(nil, stamp, ev)) // its error is that of Flush
			_, is := ev.(*stream.Done)
			done = done || is
		}, out.Flush)
		return err == nil && done
	}
	return nil
}
