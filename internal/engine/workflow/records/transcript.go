// A transcript is for agents outside of nodes, such as one that another agent gave a task
// to. Workers make the messages of their nodes by the same rules (package engine), with the
// bounds of a run in place of these.

package records

import (
	"strings"
	"time"

	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Bounds of a transcript.
const (
	maxSaid       = 32 << 10 // bytes of one result, as the model is given them
	maxTranscript = 2 << 20  // bytes of all messages
)

// notKept stands in place of a message that exceeds the bound.
const notKept = "[not kept: the session is longer than 2 MiB]"

// transcript makes messages of the events of one agent: one of the assistant for each step, with
// its calls, and behind it the results in the order of the calls. The zero value is empty. A single
// goroutine uses it.
type transcript struct {
	// Messages are those of the steps that were sealed.
	Messages []engine.Message

	size int         // bytes of Messages
	step stream.Fold // the step at hand
}

// Add adds a message. If it exceeds the bound, notKept replaces its text.
//
// Its calls stay, so that results still follow their calls. Later messages that are shorter may fit
// again.
func (t *transcript) Add(role, text string, calls ...engine.ToolCall) {
	for _, c := range calls {
		t.size += len(c.Arguments)
	}
	if t.size += len(text); t.size > maxTranscript {
		t.size -= len(text)
		text = notKept
	}
	t.Messages = append(t.Messages, engine.Message{Role: role, Content: text, ToolCalls: calls, Timestamp: time.Now().UTC()})
}

// addTask adds the agent's task as the first message.
func (t *transcript) addTask(text string) { t.Add(engine.RoleUser, text) }

// AddEvent takes an event of the agent's own; only text and calls count.
func (t *transcript) AddEvent(ev stream.Event) {
	t.step.Only = stream.Answer | stream.Tools | stream.Payloads
	t.step.Add(ev)
}

// dropSuspended takes the calls out of the step within which somebody waits: see run.Leave.
func (t *transcript) dropSuspended(q *chat.Question, of run.Owner) {
	t.step.Calls = run.Leave(t.step.Calls, q, of)
}

// sealStep makes messages of the step that has ended. An empty step adds no message.
func (t *transcript) sealStep() {
	calls, text := t.step.Calls, t.step.Text()
	if len(calls) > 0 || strings.TrimSpace(text) != "" {
		t.Add(engine.RoleAssistant, text, engine.ToolCalls(calls)...)
	}
	for _, c := range calls {
		result, _ := chat.Truncate(c.Result, maxSaid)
		t.Add(engine.RoleTool, result)
	}
	t.step = stream.Fold{}
}
