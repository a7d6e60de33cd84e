package remote

import (
	"context"
	"errors"
	"iter"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	sdkclient "github.com/a2aproject/a2a-go/v2/a2aclient"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Bounds of the waits for a reply that does not come in one piece.
const (
	resumes     = 3
	resumeWait  = 100 * time.Millisecond // doubled each time
	pollWait    = time.Second
	cancelLimit = 2 * time.Second
)

// Texts for people.
const (
	failedMessage  = "The agent could not answer"
	refusedMessage = "The agent refused the request"
	lostMessage    = "The connection to the agent was lost, and it is not known what it has done"
	brokenMessage  = "The agent's reply could not be read"
	loopMessage    = "The request has come through too many gateways"
)

// Run implements stream.Runner. If the message provably did not arrive, the error is
// fault.AgentUnavailable and the message can be sent again; otherwise the error's Unknown is set. A
// request whose turn another process began sends none: it continues the task that the message had
// begun.
func (a *Agent) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	select {
	case <-a.tried:
	case <-ctx.Done():
		return stream.Result{}, fault.Cause(ctx)
	}
	if req.Hops >= chat.MaxHops {
		return stream.Result{}, a.lostFailure(loopMessage, errors.New("the request came through too many gateways"))
	}
	task, err := a.taskOf(req)
	if err != nil {
		return stream.Result{}, err
	}
	card, done, err := a.awaitCard(ctx, task)
	if err != nil {
		return stream.Result{}, err
	}
	c := &call{agent: a, card: card, hops: req.Hops + 1, sink: sink, retracts: req.Facts.Retracts, saving: req.Facts.Saving,
		task: task, isStored: task != "" && req.Facts.Saving != nil, answer: answer{artifacts: map[sdk.ArtifactID]*artifact{}}}
	c.ctx = (&exchange{hops: c.hops}).inContext(ctx)
	reason, err := c.runCall(req)
	verdict, cause := c.breakerVerdict(err)
	done(verdict, cause)
	return stream.Result{Reason: reason}, err
}

// call is one message and its reply.
type call struct {
	agent *Agent
	card  *card
	hops  int // of its requests: see exchange
	ctx   context.Context
	sink  stream.Sink
	// retracts says that emitted text can be taken back.
	retracts bool
	// saving saves the task; nil if the turn is not saved. isStored says that it has. named, if it
	// is set, must be called once the task is known.
	saving   *chat.Saving
	isStored bool
	named    func()

	task    sdk.TaskID // empty: not known
	answer  answer
	delta   stream.Delta
	sinkErr error
	// isComplete says that the reply is complete; then reason is how the agent ended, or err
	// why it failed.
	isComplete bool
	reason     stream.FinishReason
	err        error
	// blame says that the failure is the other side's, and not that of this request.
	blame bool
}

// runCall sends the message, unless its task is known, and reads the reply.
func (c *call) runCall(req *chat.Request) (stream.FinishReason, error) {
	err := c.readReply(req)
	tooLarge := errors.Is(err, errTooLarge) || errors.Is(c.err, errTooLarge)
	if c.task != "" && (tooLarge || !c.isComplete && (c.ctx.Err() != nil || c.sinkErr != nil)) && !c.isTakenOver() {
		c.agent.cancelTask(c.card, c.task)
	}
	switch cause := fault.Cause(c.ctx); {
	case c.sinkErr != nil:
		return "", c.sinkErr
	case c.isComplete:
		return c.reason, c.err
	case cause != nil:
		return "", cause
	}
	return "", err
}

// readReply reads the reply to its end, whichever way it comes.
func (c *call) readReply(req *chat.Request) error {
	if c.task != "" {
		if c.card.streaming {
			return c.resumeTask(nil)
		}
		return c.pollTask()
	}
	c.beginMessage()
	defer c.endNaming()
	message := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(messageOf(req)))
	send := &sdk.SendMessageRequest{Tenant: c.card.tenant, Message: message, Config: &sdk.SendMessageConfig{}}
	if c.card.streaming {
		return c.sendStreaming(send)
	}
	return c.sendMessage(send)
}

// breakerVerdict returns the call's verdict for the breaker.
func (c *call) breakerVerdict(err error) (breaker.Verdict, error) {
	cause := fault.Cause(c.ctx)
	switch {
	case err == nil || c.isComplete && !c.blame:
		return breaker.Success, nil
	case c.sinkErr != nil || fault.Shortage(err):
		return breaker.Neutral, nil
	case cause != nil && fault.From(cause).Type == fault.Timeout, cause == nil && c.blame:
		return breaker.Failure, errors.New(fault.LogText(err, false))
	case cause != nil:
		return breaker.Neutral, nil
	}
	return breaker.Success, nil
}

// versionParams name the version that is spoken.
func (c *call) versionParams() sdkclient.ServiceParams {
	return sdkclient.ServiceParams{sdk.SvcParamVersion: {c.card.version}}
}

// sendStreaming asks for a stream, and takes it up again when it is cut.
func (c *call) sendStreaming(req *sdk.SendMessageRequest) error {
	x := exchange{hops: c.hops}
	err := c.followStream(c.card.transport.SendStreamingMessage(x.inWatchedContext(c.ctx), c.versionParams(), req))
	if done, err := c.checkStreamEnd(err); done {
		return err
	}
	if c.task == "" {
		return c.sendFailure(err, &x)
	}
	return c.resumeTask(err)
}

// resumeTask follows a task whose stream has ended with err before the task did, or whose stream
// another process read.
func (c *call) resumeTask(err error) error {
	for n := range resumes {
		if !waitFor(c.ctx, resumeWait<<n) {
			return nil
		}
		c.answer.markResumed()
		err = c.followStream(c.card.transport.SubscribeToTask(c.ctx, c.versionParams(), &sdk.SubscribeToTaskRequest{Tenant: c.card.tenant, ID: c.task}))
		if done, err := c.checkStreamEnd(err); done {
			return err
		}
		if c.answer.blind || err != nil { // it may have ended in the meantime
			if task, err := c.getTask(); err == nil && c.acceptEvent(task) {
				return nil
			}
		}
	}
	c.blame = true
	return c.agent.lostFailure(lostMessage, causeOf(err))
}

// checkStreamEnd reports whether the stream need not be followed again: it is complete, its turn is
// over, or the agent sends too much.
func (c *call) checkStreamEnd(err error) (bool, error) {
	if c.isComplete || c.sinkErr != nil || c.ctx.Err() != nil {
		return true, nil
	}
	if errors.Is(err, errTooLarge) {
		c.blame = true
		return true, c.agent.lostFailure(brokenMessage, errTooLarge)
	}
	return false, nil
}

// followStream reads a stream to its end. The error is why it was cut; nil: it just ended.
func (c *call) followStream(events iter.Seq2[sdk.Event, error]) error {
	for ev, err := range events {
		if err != nil {
			return err
		}
		if c.acceptEvent(ev) {
			return nil
		}
	}
	return nil
}

// sendMessage asks for the whole answer, and then for the task until it has ended.
func (c *call) sendMessage(req *sdk.SendMessageRequest) error {
	x := exchange{hops: c.hops}
	ev, err := c.card.transport.SendMessage(x.inWatchedContext(c.ctx), c.versionParams(), req)
	if err != nil {
		if c.ctx.Err() != nil {
			return nil
		}
		return c.sendFailure(err, &x)
	}
	if c.acceptEvent(ev) {
		return nil
	}
	return c.pollTask()
}

// pollTask asks for the task until it has ended.
func (c *call) pollTask() error {
	var err error
	for failures := 0; failures < resumes && c.task != ""; {
		if !waitFor(c.ctx, pollWait) {
			return nil
		}
		var task *sdk.Task
		if task, err = c.getTask(); err != nil {
			failures++
			continue
		}
		failures = 0
		if c.acceptEvent(task) {
			return nil
		}
	}
	c.blame = true
	return c.agent.lostFailure(lostMessage, causeOf(err))
}

// getTask asks for the task.
func (c *call) getTask() (*sdk.Task, error) {
	return c.card.transport.GetTask(c.ctx, c.versionParams(), &sdk.GetTaskRequest{Tenant: c.card.tenant, ID: c.task})
}

// sendFailure returns the failure of a message that has got no reply.
func (c *call) sendFailure(err error, x *exchange) error {
	a := c.agent
	_, answered := errors.AsType[*sdk.Error](err)
	cause := causeOf(err)
	switch {
	case !x.sent.Load():
		c.blame = true
		return a.unavailableFault(cause)
	case x.wasRefused():
		c.blame = true
		f := a.unavailableFault(cause)
		f.RetryAfter = x.retryAfter
		return f
	case x.status >= 400 && x.status < 500, answered && x.status < 300 && !errors.Is(err, sdk.ErrInternalError):
		return a.lostFailure(refusedMessage, cause)
	case x.status == 0:
		c.blame = true
		return a.lostFailure(lostMessage, cause)
	}
	c.blame = true
	return a.lostFailure(brokenMessage, cause)
}

// failReply ends the reply with a failure.
func (c *call) failReply(message string, cause error, blame bool) {
	c.isComplete, c.blame, c.err = true, blame, c.agent.lostFailure(message, cause)
}

// causeOf returns the part of an error that may be logged: no text of the agent.
func causeOf(err error) error {
	switch e, ok := errors.AsType[*sdk.Error](err); {
	case err == nil:
		return errors.New("the stream ended before the task did")
	case ok:
		return errors.New("the agent replied " + sdk.ErrorReason(e.Err))
	case errors.Is(err, errTooLarge):
		return errTooLarge
	}
	if p := transportError(err); p != nil {
		return p
	}
	return errors.New("the reply is not what A2A has, or ended early")
}

// waitFor lets d pass, and says whether there is still somebody to continue for.
func waitFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// cancelTask has the agent cancel a task whose turn is over. The turn does not wait for that.
func (a *Agent) cancelTask(c *card, task sdk.TaskID) {
	ask := func() {
		ctx, stop := context.WithTimeout(context.Background(), cancelLimit)
		defer stop()
		params := sdkclient.ServiceParams{sdk.SvcParamVersion: {c.version}}
		_, _ = c.transport.CancelTask(ctx, params, &sdk.CancelTaskRequest{Tenant: c.tenant, ID: task})
	}
	a.mu.Lock()
	closed := a.closed
	if !closed {
		// Goroutine (cancel): asks the other side to cancel a task that this turn has left.
		// Ends: it is answered, within its limit.
		// Waits: `Agent.Close`.
		a.running.Go(ask)
	}
	a.mu.Unlock()
	if closed {
		ask()
	}
}
