package chatkit

import (
	"fmt"
	"strings"
	"time"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// encoder encodes a turn: a pure function of the turn and its events. What is to be kept it
// leaves to keeper, as effects.
//
// A workflow shows what the model thinks and calls until it says something; then the
// workflow is done and a message begins. Thoughts and calls after that end the message
// and begin another workflow, so a thread shows everything in the order in which it
// came. Only if a call is still open when the model speaks are both open at once.
type encoder struct {
	turn     *turn
	seed     []byte        // of the ids; nil: not made yet
	ids      uint64        // made so far
	now      time.Duration // of the event at hand, since the turn began
	effects  []effect      // on the Store, not yet carried out
	begun    bool
	over     bool
	flow     *workflow // nil: none is open
	said     *message  // nil: none is open
	spoke    bool
	shown    []shown         // items of the turn that are complete, in order
	missing  map[string]bool // services whose absence was reported
	reported stream.Phase    // the last one
}

// Encode appends the frames of ev. An extension has none, but for the phases of an answer
// that is checked.
func (e *encoder) Encode(dst []byte, s stream.Stamp, ev stream.Event) []byte {
	e.now = s.At
	switch ev := ev.(type) {
	case *stream.Delta:
		return e.delta(dst, ev.Text)
	case *stream.Reset:
		return e.reset(dst, len(ev.Accumulated))
	case *stream.Start:
		e.begun = true
		e.named(ev)
		return e.begin(dst)
	case *stream.Thinking:
		return e.thought(dst, ev.Content)
	case *stream.ToolStarted:
		dst = e.work(dst)
		return e.flow.call(dst, ev)
	case *stream.ToolProgress:
		return e.flow.progress(dst, ev)
	case *stream.ToolCompleted:
		return e.flow.completed(dst, ev)
	case *stream.ToolFailed:
		return e.flow.failed(dst, ev)
	case *stream.ToolUnknown:
		return e.flow.unknown(dst, ev)
	case *stream.Approval:
		return e.question(dst, ev.Prompt)
	case *stream.Error:
		return e.failure(dst, ev)
	case *stream.Quality:
		return e.phase(dst, ev)
	case *stream.Done:
		return e.done(dst, ev.Reason)
	}
	return dst
}

// Heartbeat returns a frame that changes nothing.
func (e *encoder) Heartbeat() []byte { return []byte(options) }

// delta appends a piece of the answer. The first one opens the message, and ends the
// workflow unless a call is still open in it.
func (e *encoder) delta(dst []byte, text string) []byte {
	if e.flow != nil && len(e.flow.open) == 0 {
		dst = e.rest(dst)
	}
	if e.said == nil {
		e.said, e.spoke = newMessage(e.base("msg", "assistant_message")), true
		dst = e.said.begin(dst)
	}
	return e.said.delta(dst, text)
}

// question appends the prompt of a question to a person as a message, the only form that the
// component has for it. A person answers the question elsewhere.
func (e *encoder) question(dst []byte, prompt string) []byte {
	if prompt == "" {
		return dst
	}
	return e.fallSilent(e.delta(e.fallSilent(dst), prompt))
}

// phase says how far an answer is that is held back, once for each phase that takes time.
func (e *encoder) phase(dst []byte, ev *stream.Quality) []byte {
	text := map[stream.Phase]string{
		stream.Planning: "Planning", stream.Composing: "Writing", stream.Validating: "Checking", stream.Refining: "Improving",
	}[ev.Phase]
	if text == "" || e.reported == ev.Phase {
		return dst
	}
	e.reported = ev.Phase
	return frame(dst, progressEvent{"progress_update", text + "…"})
}

// thought appends a thought, as a task of the workflow.
func (e *encoder) thought(dst []byte, text string) []byte {
	if strings.TrimSpace(text) == "" {
		return dst
	}
	dst = e.work(dst)
	return e.flow.thought(dst, text)
}

// work sees to it that a workflow is open.
func (e *encoder) work(dst []byte) []byte {
	if e.flow != nil {
		return dst
	}
	dst = e.fallSilent(dst)
	e.flow = newWorkflow(e.base("wf", "workflow"), e.now)
	return e.flow.begin(dst)
}

// rest ends the workflow.
func (e *encoder) rest(dst []byte) []byte {
	if e.flow == nil {
		return dst
	}
	dst, item := e.flow.end(dst, e.now)
	e.complete(item.ID, item, 0)
	e.flow = nil
	return dst
}

// fallSilent ends the message.
func (e *encoder) fallSilent(dst []byte) []byte {
	if e.said == nil {
		return dst
	}
	dst, item := e.said.end(dst)
	e.complete(item.ID, item, len(e.said.text))
	e.said = nil
	return dst
}

// failure reports a fatal error. One that is not is reported by the task of its tool, and tools
// that are all unavailable once in a notice.
func (e *encoder) failure(dst []byte, ev *stream.Error) []byte {
	if ev.Fatal {
		dst = e.fallSilent(e.rest(dst))
		return frame(dst, errorEvent{"error", "custom", advice(ev), ev.Recoverable})
	}
	if ev.Type != fault.MCPUnavailable || e.missing[ev.Service] {
		return dst
	}
	if e.missing == nil {
		e.missing = map[string]bool{}
	}
	e.missing[ev.Service] = true
	return notice(dst, "warning", "Some tools are unavailable", ev.Message+serverOf(ev.Service)+". The answer is written without them.")
}

// serverOf returns the name of an MCP server in brackets; "" for other services.
func serverOf(service string) string {
	server, ok := strings.CutPrefix(service, "mcp:")
	if !ok {
		return ""
	}
	return " (" + server + ")"
}

// advice adds when another try makes sense, for which the protocol has no field.
func advice(ev *stream.Error) string {
	if !ev.Recoverable || ev.RetryAfter <= 0 {
		return ev.Message
	}
	seconds := (ev.RetryAfter + time.Second - 1) / time.Second
	return fmt.Sprintf("%s. Try again in %d s.", strings.TrimSuffix(ev.Message, "."), seconds)
}

// notice appends a notice, which the component shows next to the thread.
func notice(dst []byte, level, title, message string) []byte {
	return frame(dst, noticeEvent{"notice", level, message, title})
}

// done ends what is open. A turn that ended before its answer did gets a notice that says
// why: the protocol has no field for it.
func (e *encoder) done(dst []byte, reason stream.FinishReason) []byte {
	e.over = true
	dst = e.fallSilent(e.rest(dst))
	switch {
	case reason == stream.MaxTokens:
		return notice(dst, "info", "Cut short", "The answer has reached its greatest length.")
	case reason == stream.MaxSteps:
		return notice(dst, "info", "Stopped early", "The model was not done, but has reached the number of steps that a turn may have.")
	case reason == stream.Stop && !e.spoke:
		return notice(dst, "info", "No answer", "The model has said nothing.")
	}
	return dst
}
