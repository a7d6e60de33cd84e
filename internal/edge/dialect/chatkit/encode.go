package chatkit

import (
	"fmt"
	"strings"
	"time"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// encoder encodes a turn: a pure function of the turn and its events. It leaves changes of the
// store to keeper, as effects.
//
// A workflow shows the model's thoughts and calls until the model writes text; then the workflow is
// done and a message begins. Later thoughts and calls end the message and begin another workflow,
// so that a thread keeps the order of events. Only if a call is still open when the model speaks
// are both open at once.
type encoder struct {
	turn      *turn
	turnID    string        // of a stored turn
	taskID    string        // of its task
	stored    int           // bytes of the items that were stored
	seed      []byte        // of the ids; nil: not made yet
	ids       uint64        // made so far
	now       time.Duration // of the event at hand, since the turn began
	effects   []effect      // on the Store, not yet carried out
	begun     bool
	ended     bool
	flow      *workflow // nil: none is open
	answer    *message  // nil: none is open
	spoke     bool
	completed []completedItem // items of the turn that are complete, in order
	missing   map[string]bool // services whose absence was reported
	reported  stream.Phase    // the last one
}

// Encode appends the frames of ev. Extensions add nothing, except for the phases of an answer that
// is checked.
func (e *encoder) Encode(dst []byte, s stream.Stamp, ev stream.Event) []byte {
	e.now = s.At
	switch ev := ev.(type) {
	case *stream.Delta:
		return e.addDelta(dst, ev.Text)
	case *stream.Reset:
		return e.resetText(dst, len(ev.Accumulated))
	case *stream.Start:
		e.begun = true
		e.useTurnIDs(ev)
		return e.beginStream(dst)
	case *stream.Thinking:
		return e.addThought(dst, ev.Content)
	case *stream.ToolStarted:
		dst = e.openWorkflow(dst)
		return e.flow.addCall(dst, ev)
	case *stream.ToolProgress:
		return e.flow.showProgress(dst, ev)
	case *stream.ToolCompleted:
		return e.flow.completeCall(dst, ev)
	case *stream.ToolFailed:
		return e.flow.failCall(dst, ev)
	case *stream.ToolUnknown:
		return e.flow.markUnknown(dst, ev)
	case *stream.Approval:
		return e.addQuestion(dst, ev.Prompt)
	case *stream.Error:
		return e.reportError(dst, ev)
	case *stream.Quality:
		return e.reportPhase(dst, ev)
	case *stream.Done:
		return e.endTurn(dst, ev.Reason)
	}
	return dst
}

// Heartbeat returns a frame that changes nothing.
func (e *encoder) Heartbeat() []byte { return []byte(options) }

// addDelta appends a piece of the answer. The first one opens the message, and ends the
// workflow unless a call is still open in it.
func (e *encoder) addDelta(dst []byte, text string) []byte {
	if e.flow != nil && len(e.flow.open) == 0 {
		dst = e.closeWorkflow(dst)
	}
	if e.answer == nil {
		e.answer, e.spoke = newMessage(e.newBase("msg", "assistant_message")), true
		dst = e.answer.begin(dst)
	}
	return e.answer.addDelta(dst, text)
}

// addQuestion appends the prompt of a question to a person as a message, the only form that the
// component has for it. A person answers the question elsewhere.
func (e *encoder) addQuestion(dst []byte, prompt string) []byte {
	if prompt == "" {
		return dst
	}
	return e.closeMessage(e.addDelta(e.closeMessage(dst), prompt))
}

// reportPhase says how far an answer is that is held back, once for each phase that takes time.
func (e *encoder) reportPhase(dst []byte, ev *stream.Quality) []byte {
	text := map[stream.Phase]string{
		stream.Planning: "Planning", stream.Composing: "Writing", stream.Validating: "Checking", stream.Refining: "Improving",
	}[ev.Phase]
	if text == "" || e.reported == ev.Phase {
		return dst
	}
	e.reported = ev.Phase
	return appendFrame(dst, progressEvent{"progress_update", text + "…"})
}

// addThought appends a thought, as a task of the workflow.
func (e *encoder) addThought(dst []byte, text string) []byte {
	if strings.TrimSpace(text) == "" {
		return dst
	}
	dst = e.openWorkflow(dst)
	return e.flow.addThought(dst, text)
}

// openWorkflow opens a workflow, unless one is open already.
func (e *encoder) openWorkflow(dst []byte) []byte {
	if e.flow != nil {
		return dst
	}
	dst = e.closeMessage(dst)
	e.flow = newWorkflow(e.newBase("wf", "workflow"), e.now)
	return e.flow.begin(dst)
}

// closeWorkflow ends the workflow.
func (e *encoder) closeWorkflow(dst []byte) []byte {
	if e.flow == nil {
		return dst
	}
	dst, item := e.flow.end(dst, e.now)
	e.completeItem(item.ID, item, 0)
	e.flow = nil
	return dst
}

// closeMessage ends the message.
func (e *encoder) closeMessage(dst []byte) []byte {
	if e.answer == nil {
		return dst
	}
	dst, item := e.answer.end(dst)
	e.completeItem(item.ID, item, len(e.answer.text))
	e.answer = nil
	return dst
}

// reportError reports a fatal error. The task of a tool reports its other errors. A notice reports
// unavailable tools, once for each service.
func (e *encoder) reportError(dst []byte, ev *stream.Error) []byte {
	if ev.Fatal {
		dst = e.closeMessage(e.closeWorkflow(dst))
		return appendFrame(dst, errorEvent{"error", "custom", withRetryAdvice(ev), ev.Recoverable})
	}
	if ev.Type != fault.MCPUnavailable || e.missing[ev.Service] {
		return dst
	}
	if e.missing == nil {
		e.missing = map[string]bool{}
	}
	e.missing[ev.Service] = true
	return appendNotice(dst, "warning", "Some tools are unavailable", ev.Message+serverOf(ev.Service)+". The answer is written without them.")
}

// serverOf returns the name of an MCP server in brackets; "" for other services.
func serverOf(service string) string {
	server, ok := strings.CutPrefix(service, "mcp:")
	if !ok {
		return ""
	}
	return " (" + server + ")"
}

// withRetryAdvice returns the error's message, with the time of the next try if the error has one.
func withRetryAdvice(ev *stream.Error) string {
	if !ev.Recoverable || ev.RetryAfter <= 0 {
		return ev.Message
	}
	seconds := (ev.RetryAfter + time.Second - 1) / time.Second
	return fmt.Sprintf("%s. Try again in %d s.", strings.TrimSuffix(ev.Message, "."), seconds)
}

// appendNotice appends a notice. The component shows it next to the thread.
func appendNotice(dst []byte, level, title, message string) []byte {
	return appendFrame(dst, noticeEvent{"notice", level, message, title})
}

// endTurn ends the open message and workflow. A notice gives the reason if the turn ended before
// its answer, since the protocol lacks a field for it.
func (e *encoder) endTurn(dst []byte, reason stream.FinishReason) []byte {
	e.ended = true
	dst = e.closeMessage(e.closeWorkflow(dst))
	switch {
	case reason == stream.MaxTokens:
		return appendNotice(dst, "info", "Cut short", "The answer has reached its greatest length.")
	case reason == stream.MaxSteps:
		return appendNotice(dst, "info", "Stopped early", "The model was not done, but has reached the number of steps that a turn may have.")
	case reason == stream.Stop && !e.spoke:
		return appendNotice(dst, "info", "No answer", "The model has said nothing.")
	}
	return dst
}
