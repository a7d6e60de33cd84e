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

// handler implements a2asrv.RequestHandler. It leaves a request for a turn in the call.
type handler struct{ *Server }

// SendMessage implements a2asrv.RequestHandler.
func (h handler) SendMessage(ctx context.Context, req *sdk.SendMessageRequest) (sdk.SendMessageResult, error) {
	return nil, callOf(ctx).acceptExchange(h.openMessage(callOf(ctx), req, false))
}

// SendStreamingMessage implements a2asrv.RequestHandler.
func (h handler) SendStreamingMessage(ctx context.Context, req *sdk.SendMessageRequest) iter.Seq2[sdk.Event, error] {
	return failedStream(callOf(ctx).acceptExchange(h.openMessage(callOf(ctx), req, true)))
}

// SubscribeToTask implements a2asrv.RequestHandler.
func (h handler) SubscribeToTask(ctx context.Context, req *sdk.SubscribeToTaskRequest) iter.Seq2[sdk.Event, error] {
	c := callOf(ctx)
	if err := c.chargeUse(dialect.Read); err != nil {
		return failedStream(err)
	}
	return failedStream(c.acceptExchange(h.subscribeTo(ctx, c, req.ID)))
}

// acceptExchange stores the outcome of a call. It returns the error for the transport.
func (c *call) acceptExchange(x *dialect.Exchange, err error) error {
	if err == nil {
		c.turn = x
		return errHandled
	}
	return c.transportError(err)
}

// transportError returns an error that the transport words. Bugs, and errors that need a status of HTTP, stay
// in the call.
func (c *call) transportError(err error) error {
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

// chargeUse charges a call for its use, once the use is known. It returns the error for the transport.
func (c *call) chargeUse(use dialect.Use) error {
	if err := dialect.ChargeFor(c.request.Context(), use); err != nil {
		return c.transportError(err)
	}
	return nil
}

// failedStream returns a stream with only an error.
func failedStream(err error) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) { yield(nil, err) }
}

// GetTask implements a2asrv.RequestHandler.
func (h handler) GetTask(ctx context.Context, req *sdk.GetTaskRequest) (*sdk.Task, error) {
	if req.HistoryLength != nil && *req.HistoryLength < 0 {
		return nil, invalidParam("historyLength must not be negative")
	}
	c := callOf(ctx)
	if err := c.chargeUse(dialect.Read); err != nil {
		return nil, err
	}
	task, err := h.findTask(c, req.ID)
	if err != nil {
		return nil, c.transportError(err)
	}
	task.History = cutHistory(task.History, req.HistoryLength)
	return task, nil
}

// ListTasks implements a2asrv.RequestHandler.
func (h handler) ListTasks(ctx context.Context, req *sdk.ListTasksRequest) (*sdk.ListTasksResponse, error) {
	c := callOf(ctx)
	if err := c.chargeUse(dialect.Read); err != nil {
		return nil, err
	}
	list, err := h.listTasks(ctx, c, req)
	if err != nil {
		return nil, c.transportError(err)
	}
	return list, nil
}

// CancelTask implements a2asrv.RequestHandler.
func (h handler) CancelTask(ctx context.Context, req *sdk.CancelTaskRequest) (*sdk.Task, error) {
	c := callOf(ctx)
	if err := c.chargeUse(dialect.Free); err != nil {
		return nil, err
	}
	task, err := h.cancelTask(ctx, c, req.ID)
	if err != nil {
		return nil, c.transportError(err)
	}
	return task, nil
}

// noSuchTask is the error for a task that is not there, or not the caller's.
func noSuchTask() error {
	return sdk.NewError(sdk.ErrTaskNotFound, "There is no such task; it may have expired")
}

// findTask returns a task.
func (s *Server) findTask(c *call, id sdk.TaskID) (*sdk.Task, error) {
	t, err := s.findTurn(c, id)
	return t.Task, err
}

// found is a task with what else is known of it.
type found struct {
	*sdk.Task
	turn      string   // its last one, if that is kept
	questions []string // ids of the questions to people that it waits for
}

// findTurn returns a task. The message of one that waits for people has the questions that
// the caller may answer.
func (s *Server) findTurn(c *call, id sdk.TaskID) (found, error) {
	if !chat.IsTaskID(string(id)) {
		return found{}, noSuchTask()
	}
	if a := s.running.get(id); a != nil {
		return found{Task: a.snapshotNow()}, nil
	}
	if s.cfg.Tasks == nil {
		return found{}, noSuchTask()
	}
	doc, turn, err := s.cfg.Tasks.Task(c.request.Context(), c.principal, string(id))
	if err != nil {
		return found{}, err
	}
	task, asked, err := readTask(doc)
	if err != nil || len(asked) == 0 {
		return found{task, turn, nil}, err
	}
	questions, err := s.cfg.Tasks.Questions(c.request.Context(), c.principal, asked)
	c.wire.addQuestions(task.Status.Message, questions)
	return found{task, turn, asked}, err
}

// cancelTask cancels a task and waits a moment for its end.
func (s *Server) cancelTask(ctx context.Context, c *call, id sdk.TaskID) (*sdk.Task, error) {
	if a := s.running.get(id); a != nil {
		return a.cancelAndWait(ctx), nil
	}
	task, err := s.findTask(c, id)
	switch {
	case err != nil:
		return nil, err
	case task.Status.State.Terminal():
		return nil, sdk.NewError(sdk.ErrTaskNotCancelable, "The task has ended; there is nothing to cancel")
	}
	if err := s.cfg.Tasks.Cancel(ctx, c.principal, string(id)); err != nil {
		return nil, err
	}
	for wait, waited := 10*time.Millisecond, time.Duration(0); ; wait *= 2 {
		if task, err = s.findTask(c, id); err != nil || task.Status.State.Terminal() || waited >= cancelTime {
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

// endedError is the error of a subscription to a task that has ended.
func endedError() error {
	return sdk.NewError(sdk.ErrUnsupportedOperation, "The task has ended; there is nothing to subscribe to")
}

// subscribeTo reports a task as it is, and then its further events.
func (s *Server) subscribeTo(ctx context.Context, c *call, id sdk.TaskID) (*dialect.Exchange, error) {
	t, err := s.findTurn(c, id)
	task, kept := t.Task, t.turn
	switch {
	case err != nil:
		return nil, err
	case task.Status.State.Terminal():
		return nil, endedError()
	case task.Status.State == sdk.TaskStateInputRequired:
		return s.followWaiting(c, task, kept), nil
	}
	e := s.newFollower(c, &turn{envelope: c.envelope, task: string(task.ID), context: task.ContextID, began: time.Now()})
	e.resumed = true
	x := &dialect.Exchange{Refuse: c.refuse, Encoder: e}
	if kept == "" {
		return x, s.followRunning(x, e, id)
	}
	return x, s.followStored(ctx, x, e, task, kept)
}

// lookEvery is how often a stream looks whether the task that it is about continues. It may
// continue in another process, and hours later.
const lookEvery = time.Second

// followWaiting returns the stream of a task that waits for a person. It stays open until the task
// continues, and then has the further events (A2A 1.0, 3.1.6).
func (s *Server) followWaiting(c *call, task *sdk.Task, before string) *dialect.Exchange {
	e := s.newFollower(c, &turn{envelope: c.envelope, task: string(task.ID), context: task.ContextID, began: time.Now()})
	e.resumed = true
	x := &dialect.Exchange{Refuse: c.refuse, Encoder: e}
	x.Follow = func(ctx context.Context, out dialect.Frames) bool {
		for out.WriteFrame(e.appendEvent(nil, task)) == nil && out.Flush() == nil {
			var ok bool
			if task, before, ok = s.awaitContinuation(ctx, c, task.ID, before); !ok {
				return false
			}
			if !task.Status.State.Terminal() && task.Status.State != sdk.TaskStateInputRequired && s.followStored(ctx, x, e, task, before) == nil {
				return x.Follow(ctx, out)
			}
			if task.Status.State.Terminal() {
				return out.WriteFrame(e.appendEvent(nil, task)) == nil && out.Flush() == nil
			}
		}
		return false
	}
	return x
}

// awaitContinuation waits until the task has left its question, which the turn asked has raised. It
// returns false if the client has left, or if the task cannot be read any more.
func (s *Server) awaitContinuation(ctx context.Context, c *call, id sdk.TaskID, asked string) (*sdk.Task, string, bool) {
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

// followRunning follows a turn that is not kept.
func (s *Server) followRunning(x *dialect.Exchange, e *eventEncoder, id sdk.TaskID) error {
	a := s.running.get(id)
	if a == nil {
		return endedError()
	}
	x.Follow = func(ctx context.Context, out dialect.Frames) bool {
		a.mu.Lock()
		task := a.snapshotLocked()
		e.Fold, e.Pieces, e.resets = a.Fold, slices.Clip(a.Pieces), a.resets
		a.mu.Unlock()
		return out.WriteFrame(e.appendEvent(nil, task)) == nil && out.Flush() == nil && a.follow(ctx, e, out)
	}
	return nil
}

// followStored follows a turn that is kept. The events that its log has already are part of the task.
func (s *Server) followStored(ctx context.Context, x *dialect.Exchange, e *eventEncoder, task *sdk.Task, kept string) error {
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
		return endedError()
	}
	now := e.snapshot(sdk.TaskStateWorking, 0)
	task.Artifacts = now.Artifacts
	x.Followed = kept
	x.Follow = func(ctx context.Context, out dialect.Frames) bool {
		if out.WriteFrame(e.appendEvent(nil, task)) != nil || out.Flush() != nil {
			return false
		}
		done := false
		err := log.Follow(ctx, func(stamp stream.Stamp, ev stream.Event) {
			_ = out.WriteFrame(e.Encode(nil, stamp, ev)) // its error is that of Flush
			_, is := ev.(*stream.Done)
			done = done || is
		}, out.Flush)
		return err == nil && done
	}
	return nil
}
