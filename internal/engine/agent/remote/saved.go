// This file saves the task that a message has begun (chat.Saver). The process that continues the
// turn follows that task: a message is sent once, whichever process reads its reply.

package remote

import (
	"context"
	"errors"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/breaker"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
)

// maxTask bounds the id of a task that is kept, in bytes: the other side has written it.
const maxTask = 1 << 10

// stoppedMessage is the text for people where a turn goes on, and nobody knows the task.
const stoppedMessage = "The gateway stopped while the agent was at work: what it has done is not known"

// saved is the stored state of a call. It lacks the text of the reply: the task has all of it.
type saved struct {
	Task sdk.TaskID `json:"task"`
}

// taskOf returns the task that a request continues; empty if the request begins one.
func (a *Agent) taskOf(req *chat.Request) (sdk.TaskID, error) {
	if req.Resumed == nil {
		return "", nil
	}
	var s saved
	p, err := run.ReadPaused(chat.PausedRemote, req.Resumed.State)
	if err == nil {
		err = p.Into(&s)
	}
	if err == nil && s.Task == "" {
		err = errors.New("what was saved names no task")
	}
	if err != nil {
		return "", a.lostFailure(stoppedMessage, err)
	}
	return s.Task, nil
}

// awaitCard returns the card of an agent that may be asked now, and a function for the end of the
// call. If the request continues a task, it waits a moment: the card may have to be read first.
func (a *Agent) awaitCard(ctx context.Context, task sdk.TaskID) (*card, func(breaker.Verdict, error), error) {
	for n := 0; ; n++ {
		card, done, err := a.admitCall(ctx)
		if err == nil || task == "" {
			return card, done, err
		}
		if n == resumes || !waitFor(ctx, pollWait) {
			return nil, nil, a.lostFailure(lostMessage, err)
		}
	}
}

// admitCall returns the card, and a function for the end of the call.
func (a *Agent) admitCall(ctx context.Context) (*card, func(breaker.Verdict, error), error) {
	card := a.currentCard()
	if card == nil {
		return nil, nil, a.unavailableFault(errors.New("there is no card"))
	}
	done, err := a.cfg.Breaker.Allow(ctx)
	if err != nil {
		return nil, nil, a.unavailableFault(err)
	}
	return card, done, nil
}

// beginMessage records that a message without a known task is under way. A turn that is handed over
// waits a moment for it.
func (c *call) beginMessage() {
	if c.saving != nil {
		c.named = c.saving.Begin()
	}
}

// endNaming notes that the task is known, or never will be.
func (c *call) endNaming() {
	if c.named != nil {
		c.named()
		c.named = nil
	}
}

// storeTask stores the task at once: the agent's next event, which would store it too, may come
// late. Without the store the turn continues, and no other process can follow the task.
func (c *call) storeTask() {
	if c.saving != nil && len(c.task) <= maxTask {
		c.isStored = true
		_ = c.saveTask()
	}
	c.endNaming()
}

func (c *call) saveTask() error {
	p, err := run.Pause(chat.PausedRemote, saved{c.task})
	if err != nil { // a plain value: cannot happen
		return err
	}
	c.saving.Save(c.saving.Part, p.Encode())
	return c.saving.Confirm()
}

// isTakenOver reports whether another process reads the reply, or may: then the task is not this
// one's to cancel. The store decides, as a process that stood still for a while does not know of
// another owner.
func (c *call) isTakenOver() bool {
	return c.isStored && (c.saving.IsHandedOver() || c.saveTask() != nil || c.saving.IsHandedOver())
}
