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

// Bounds of what is done about a message whose reply does not come in one piece.
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

// Run implements stream.Runner. Of a message that provably did not arrive the error is
// fault.AgentUnavailable and can be tried again; of any other its Unknown is set. A request whose
// turn another process began sends none: it goes on with the task that the message had begun.
func (a *Agent) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	select {
	case <-a.tried:
	case <-ctx.Done():
		return stream.Result{}, fault.Cause(ctx)
	}
	if req.Hops >= chat.MaxHops {
		return stream.Result{}, a.lost(loopMessage, errors.New("the request came through too many gateways"))
	}
	task, err := a.taskOf(req)
	if err != nil {
		return stream.Result{}, err
	}
	card, done, err := a.reach(ctx, task)
	if err != nil {
		return stream.Result{}, err
	}
	c := &call{agent: a, card: card, hops: req.Hops + 1, sink: sink, retracts: req.Facts.Retracts, saving: req.Facts.Saving,
		task: task, kept: task != "" && req.Facts.Saving != nil, answer: answer{artifacts: map[sdk.ArtifactID]*artifact{}}}
	c.ctx = (&exchange{hops: c.hops}).within(ctx)
	reason, err := c.run(req)
	verdict, cause := c.verdict(err)
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
	// retracts says that what was shown can be taken back.
	retracts bool
	// saving keeps the task; nil: nothing does. kept says that it has, and named, if it is set, is
	// to be called once the task is known.
	saving *chat.Saving
	kept   bool
	named  func()

	task    sdk.TaskID // empty: not known
	answer  answer
	delta   stream.Delta
	sinkErr error
	// over says that the reply is complete; then reason is how the agent ended, or err
	// why it failed.
	over   bool
	reason stream.FinishReason
	err    error
	// blame says that the failure is the other side's, and not that of this request.
	blame bool
}

// run sends the message, unless its task is known, and reads the reply.
func (c *call) run(req *chat.Request) (stream.FinishReason, error) {
	err := c.read(req)
	tooLarge := errors.Is(err, errTooLarge) || errors.Is(c.err, errTooLarge)
	if c.task != "" && (tooLarge || !c.over && (c.ctx.Err() != nil || c.sinkErr != nil)) && !c.isLeft() {
		c.agent.cancel(c.card, c.task)
	}
	switch cause := fault.Cause(c.ctx); {
	case c.sinkErr != nil:
		return "", c.sinkErr
	case c.over:
		return c.reason, c.err
	case cause != nil:
		return "", cause
	}
	return "", err
}

// read reads the reply to its end, whichever way it comes.
func (c *call) read(req *chat.Request) error {
	if c.task != "" {
		if c.card.streaming {
			return c.resume(nil)
		}
		return c.poll()
	}
	c.begins()
	defer c.isNamed()
	message := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(messageOf(req)))
	send := &sdk.SendMessageRequest{Tenant: c.card.tenant, Message: message, Config: &sdk.SendMessageConfig{}}
	if c.card.streaming {
		return c.stream(send)
	}
	return c.send(send)
}

// verdict is what the breaker receives.
func (c *call) verdict(err error) (breaker.Verdict, error) {
	cause := fault.Cause(c.ctx)
	switch {
	case err == nil || c.over && !c.blame:
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

// params name the version that is spoken.
func (c *call) params() sdkclient.ServiceParams {
	return sdkclient.ServiceParams{sdk.SvcParamVersion: {c.card.version}}
}

// stream asks for a stream, and takes it up again when it is cut.
func (c *call) stream(req *sdk.SendMessageRequest) error {
	x := exchange{hops: c.hops}
	err := c.follow(c.card.transport.SendStreamingMessage(x.watched(c.ctx), c.params(), req))
	if done, err := c.ended(err); done {
		return err
	}
	if c.task == "" {
		return c.unsent(err, &x)
	}
	return c.resume(err)
}

// resume follows a task whose stream has ended with err before the task did, or whose stream
// another process read.
func (c *call) resume(err error) error {
	for n := range resumes {
		if !pause(c.ctx, resumeWait<<n) {
			return nil
		}
		c.answer.resumed()
		err = c.follow(c.card.transport.SubscribeToTask(c.ctx, c.params(), &sdk.SubscribeToTaskRequest{Tenant: c.card.tenant, ID: c.task}))
		if done, err := c.ended(err); done {
			return err
		}
		if c.answer.blind || err != nil { // it may have ended in the meantime
			if task, err := c.get(); err == nil && c.accept(task) {
				return nil
			}
		}
	}
	c.blame = true
	return c.agent.lost(lostMessage, causeOf(err))
}

// ended says whether there is nothing to take up after a stream: it is complete, nobody
// waits for it, or what the agent sends is too much.
func (c *call) ended(err error) (bool, error) {
	if c.over || c.sinkErr != nil || c.ctx.Err() != nil {
		return true, nil
	}
	if errors.Is(err, errTooLarge) {
		c.blame = true
		return true, c.agent.lost(brokenMessage, errTooLarge)
	}
	return false, nil
}

// follow reads a stream to its end. The error is why it was cut; nil: it just ended.
func (c *call) follow(events iter.Seq2[sdk.Event, error]) error {
	for ev, err := range events {
		if err != nil {
			return err
		}
		if c.accept(ev) {
			return nil
		}
	}
	return nil
}

// send asks for the whole answer, and then for the task until it has ended.
func (c *call) send(req *sdk.SendMessageRequest) error {
	x := exchange{hops: c.hops}
	ev, err := c.card.transport.SendMessage(x.watched(c.ctx), c.params(), req)
	if err != nil {
		if c.ctx.Err() != nil {
			return nil
		}
		return c.unsent(err, &x)
	}
	if c.accept(ev) {
		return nil
	}
	return c.poll()
}

// poll asks for the task until it has ended.
func (c *call) poll() error {
	var err error
	for failures := 0; failures < resumes && c.task != ""; {
		if !pause(c.ctx, pollWait) {
			return nil
		}
		var task *sdk.Task
		if task, err = c.get(); err != nil {
			failures++
			continue
		}
		failures = 0
		if c.accept(task) {
			return nil
		}
	}
	c.blame = true
	return c.agent.lost(lostMessage, causeOf(err))
}

// get asks for the task.
func (c *call) get() (*sdk.Task, error) {
	return c.card.transport.GetTask(c.ctx, c.params(), &sdk.GetTaskRequest{Tenant: c.card.tenant, ID: c.task})
}

// unsent returns the failure of a message that has got no reply.
func (c *call) unsent(err error, x *exchange) error {
	a := c.agent
	_, answered := errors.AsType[*sdk.Error](err)
	cause := causeOf(err)
	switch {
	case !x.sent.Load():
		c.blame = true
		return a.unavailable(cause)
	case x.refused():
		c.blame = true
		f := a.unavailable(cause)
		f.RetryAfter = x.retryAfter
		return f
	case x.status >= 400 && x.status < 500, answered && x.status < 300 && !errors.Is(err, sdk.ErrInternalError):
		return a.lost(refusedMessage, cause)
	case x.status == 0:
		c.blame = true
		return a.lost(lostMessage, cause)
	}
	c.blame = true
	return a.lost(brokenMessage, cause)
}

// fail ends the reply with a failure.
func (c *call) fail(message string, cause error, blame bool) {
	c.over, c.blame, c.err = true, blame, c.agent.lost(message, cause)
}

// causeOf returns what may be logged of an error: nothing that the agent wrote.
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

// pause lets d pass, and says whether there is still somebody to continue for.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// cancel has the agent cancel a task whose turn is over, which does not wait for it.
func (a *Agent) cancel(c *card, task sdk.TaskID) {
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
