package a2a

import (
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// answer is the artifact that a turn makes.
const answer = "answer"

// turn is the state that the encoders of a turn share.
type turn struct {
	envelope
	task, context string
	id            string // of the turn; empty: it is not kept
	message       *sdk.Message
	history       *int // messages that the client wants; nil: all
	began         time.Time

	stream.Fold     // its Pieces their sender stores as well
	resets      int // how often text was taken back, of a turn that is not kept
}

// useIDs takes the ids of a turn that is kept.
func (t *turn) useIDs(ev *stream.Start) {
	if ev.TaskID != "" {
		t.task, t.id = ev.TaskID, ev.TurnID
	}
	if ev.ConversationID != "" {
		t.context = ev.ConversationID
	}
}

// addEvent adds the next event.
func (t *turn) addEvent(ev stream.Event) {
	if start, ok := ev.(*stream.Start); ok {
		t.useIDs(start)
	}
	t.Only = stream.Answer
	t.Add(ev)
}

// taskInfo returns the ids of the task and its context.
func (t *turn) taskInfo() sdk.TaskInfo {
	return sdk.TaskInfo{TaskID: sdk.TaskID(t.task), ContextID: t.context}
}

// taskStatus returns the task's status after at.
func (t *turn) taskStatus(state sdk.TaskState, at time.Duration) sdk.TaskStatus {
	when := t.began.Add(at).UTC().Truncate(time.Millisecond)
	status := sdk.TaskStatus{State: state, Timestamp: &when}
	text := t.Failure()
	switch state {
	case sdk.TaskStateSubmitted:
		text = chat.TaskSubmitted
	case sdk.TaskStateWorking:
		text = chat.TaskWorking
	case sdk.TaskStateInputRequired:
		if text = t.Text(); len(t.Questions) > 0 {
			text = promptOf(t.Questions)
		}
	}
	if text != "" {
		status.Message = t.agentMessage(":status", text)
	}
	if state == sdk.TaskStateInputRequired {
		t.wire.addQuestions(status.Message, t.Questions)
	}
	return status
}

// agentMessage returns a message of the agent.
func (t *turn) agentMessage(suffix, text string) *sdk.Message {
	id := t.id
	if id == "" {
		id = t.task
	}
	m := sdk.NewMessageForTask(sdk.MessageRoleAgent, t.taskInfo(), sdk.NewTextPart(text))
	m.ID = id + suffix
	return m
}

// snapshot returns the task with the answer so far.
func (t *turn) snapshot(state sdk.TaskState, at time.Duration) *sdk.Task {
	task := &sdk.Task{ID: sdk.TaskID(t.task), ContextID: t.context, Status: t.taskStatus(state, at)}
	if t.message != nil {
		asked := *t.message
		asked.TaskID, asked.ContextID = task.ID, t.context
		task.History = append(task.History, &asked)
	}
	if text := t.Text(); text != "" {
		task.Artifacts = []*sdk.Artifact{{ID: answer, Name: answer, Parts: sdk.ContentParts{sdk.NewTextPart(text)}}}
		if state != sdk.TaskStateWorking {
			task.History = append(task.History, t.agentMessage(":assistant", text))
		}
	}
	task.History = cutHistory(task.History, t.history)
	return task
}

// cutHistory returns the end of a history, as long as a client wants it.
func cutHistory(history []*sdk.Message, length *int) []*sdk.Message {
	if length == nil || *length >= len(history) {
		return history
	}
	return history[len(history)-*length:]
}

// stateOf returns the state of a task whose turn has ended so, as package task has it.
func stateOf(reason stream.FinishReason) sdk.TaskState {
	switch reason {
	case stream.InputRequired, "approval_required":
		return sdk.TaskStateInputRequired
	case stream.Cancelled:
		return sdk.TaskStateCanceled
	}
	if reason.Success() {
		return sdk.TaskStateCompleted
	}
	return sdk.TaskStateFailed
}

// collector is the encoder of a turn that is reported when it is over, or if early, at its
// first event.
type collector struct {
	*turn
	early bool
}

// Encode appends the reply.
func (c *collector) Encode(dst []byte, s stream.Stamp, ev stream.Event) []byte {
	c.addEvent(ev)
	switch ev := ev.(type) {
	case *stream.Start:
		if c.early {
			return c.appendReply(dst, c.snapshot(sdk.TaskStateWorking, s.At))
		}
	case *stream.Done:
		if !c.early {
			return c.appendReply(dst, c.snapshot(stateOf(ev.Reason), s.At))
		}
	}
	return dst
}

// appendReply writes the task as the one document of a blocking reply.
func (c *collector) appendReply(dst []byte, task *sdk.Task) []byte {
	result, err := c.wire.encodeTask(task)
	if err != nil { // plain values: cannot happen
		return dst
	}
	return c.appendDocument(dst, result)
}

// Heartbeat returns nil: a document cannot hold a comment.
func (*collector) Heartbeat() []byte { return nil }
