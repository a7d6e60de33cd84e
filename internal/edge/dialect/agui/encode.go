package agui

import (
	"strconv"
	"time"

	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/jsonline"
	"sluice/internal/edge/dialect/native"
	"sluice/internal/turn/chat"
	"sluice/stream"
	"sluice/stream/sse"
)

// maxResult is how many bytes of a tool's result an event carries, as in the native protocol.
const maxResult = 2 << 10

// kind is the content of a stretch.
type kind int

const (
	noStretch kind = iota
	text
	thought
)

// encoder writes a turn as the protocol's events. Its output depends only on the request's ids, the
// time at which it began, and the events. At most one stretch of text or thoughts is open, and a
// call never is: clients refuse calls that overlap.
type encoder struct {
	requestID   string
	began       time.Time
	thread, run string
	model       string
	hasFailed   bool // an error has ended the run

	seed string // of the ids
	ids  int    // made so far

	open    kind
	id      string             // of the open stretch
	content []byte             // a frame of the open stretch, up to the delta
	speaker stream.Attribution // of the last stretch

	lastText string                       // the text that has just ended; empty: something followed it
	steps    map[stream.Attribution]*step // the calls of each speaker that are open

	earlierCalls map[string]dialect.Before // calls that an earlier run of the thread has reported
	hasQuestion  bool                      // a question is in the outcome
	interrupt    []byte                    // the interrupts of the outcome

	native native.Data
	delta  stream.Delta // the one that is written, without its speaker
}

// step is an agent's calls that follow each other without a word.
type step struct {
	parent string
	open   int
}

func newEncoder(requestID string, began time.Time, f facts) *encoder {
	return &encoder{requestID: requestID, began: began, thread: f.Thread, run: f.Run, earlierCalls: f.Calls()}
}

// Heartbeat returns a comment.
func (e *encoder) Heartbeat() []byte { return sse.Ping() }

// Encode appends the frames of ev.
func (e *encoder) Encode(dst []byte, _ stream.Stamp, ev stream.Event) []byte {
	switch ev := ev.(type) {
	case *stream.Delta:
		dst = append(e.openStretch(dst, text, &ev.Attribution), e.content...)
		e.delta.Text = ev.Text
		dst, _ = e.native.Append(dst, &e.delta)
		return append(dst, "}\n\n"...)
	case *stream.Thinking:
		dst = append(e.openStretch(dst, thought, &ev.Attribution), e.content...)
		return append(jsonline.String(append(dst, `,"delta":`...), ev.Content), "}\n\n"...)
	case *stream.Start:
		return e.startRun(dst, ev)
	case *stream.ToolStarted:
		return e.startCall(dst, ev)
	case *stream.ToolRequired:
		return e.appendCall(dst, &ev.Call)
	case *stream.ToolProgress:
		return e.appendCustom(dst, "tool_progress", ev)
	case *stream.ToolCompleted:
		shown, _ := chat.Truncate(ev.Result, maxResult)
		return e.endCall(dst, &ev.Call, shown, ev)
	case *stream.ToolFailed:
		return e.endCall(dst, &ev.Call, ev.Message, ev)
	case *stream.ToolUnknown:
		return e.endCall(dst, &ev.Call, ev.Message, ev)
	case *stream.Approval:
		return e.appendQuestion(dst, ev)
	case *stream.AgentRun:
		return e.appendAgent(dst, ev)
	case *stream.Error:
		if ev.Fatal {
			return e.failRun(dst, ev)
		}
	case *stream.Done:
		return e.endRun(dst, ev)
	}
	return e.appendCustom(dst, stream.Name(ev), ev)
}

// startRun begins the run under the client's own ids.
func (e *encoder) startRun(dst []byte, ev *stream.Start) []byte {
	e.seed, e.model = chat.CallSeed(ev.TurnID, e.requestID, e.began), ev.Model
	return e.appendCustom(append(e.ofRun(dst, "RUN_STARTED"), "}\n\n"...), "start", ev)
}

// ofRun begins an event of the run as a whole.
func (e *encoder) ofRun(dst []byte, event string) []byte {
	dst = appendMember(beginFrame(dst, event), "threadId", e.thread)
	return appendMember(dst, "runId", e.run)
}

// beginFrame begins a frame.
func beginFrame(dst []byte, event string) []byte {
	return append(append(append(dst, `data: {"type":"`...), event...), '"')
}

// appendMember appends a member that names something. The member's own name must not need escapes.
func appendMember(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return jsonline.Name(dst, value)
}

// appendNamed appends an event that consists of its type and one id.
func appendNamed(dst []byte, event, name, id string) []byte {
	return append(appendMember(beginFrame(dst, event), name, id), "}\n\n"...)
}

// messagePrefix begins the ids of messages.
const messagePrefix = "msg_"

// newID makes an id that is unique in the thread.
func (e *encoder) newID() string {
	e.ids++
	return messagePrefix + e.seed + "_" + strconv.Itoa(e.ids)
}

// appendCustom appends an event that the protocol lacks, with the native data as its value. It ends
// nothing: drafts are such events, and no log has them.
func (e *encoder) appendCustom(dst []byte, name string, ev stream.Event) []byte {
	before := len(dst)
	dst = append(append(beginFrame(dst, "CUSTOM"), `,"name":"sluice.`...), name...)
	dst = jsonline.Name(append(dst, `","value":{"request_id":`...), e.requestID)
	dst, ok := e.native.Append(dst, ev)
	if !ok {
		return dst[:before]
	}
	return append(dst, "}}\n\n"...)
}

// openStretch opens a stretch of a kind and a speaker, unless it is open already. A piece without a
// speaker continues the last one's: it joins the texts of agents.
func (e *encoder) openStretch(dst []byte, k kind, by *stream.Attribution) []byte {
	if *by == (stream.Attribution{}) {
		by = &e.speaker
	}
	if e.open == k && *by == e.speaker {
		return dst
	}
	dst = e.endStretch(dst)
	e.open, e.speaker, e.id, e.lastText = k, *by, e.newID(), ""
	delete(e.steps, *by)
	event := "TEXT_MESSAGE_CONTENT"
	if k == thought {
		event = "REASONING_MESSAGE_CONTENT"
		dst = appendNamed(dst, "REASONING_START", "messageId", e.id)
		dst = appendMember(beginFrame(dst, "REASONING_MESSAGE_START"), "messageId", e.id)
		dst = append(dst, ",\"role\":\"reasoning\"}\n\n"...)
	} else {
		dst = appendMember(beginFrame(dst, "TEXT_MESSAGE_START"), "messageId", e.id)
		dst = append(dst, ",\"role\":\"assistant\"}\n\n"...)
	}
	e.content = appendMember(beginFrame(e.content[:0], event), "messageId", e.id)
	return dst
}

// endStretch ends the stretch that is open.
func (e *encoder) endStretch(dst []byte) []byte {
	switch e.open {
	case text:
		e.lastText = e.id
		dst = appendNamed(dst, "TEXT_MESSAGE_END", "messageId", e.id)
	case thought:
		dst = appendNamed(dst, "REASONING_MESSAGE_END", "messageId", e.id)
		dst = appendNamed(dst, "REASONING_END", "messageId", e.id)
	}
	e.open = noStretch
	return dst
}

// startCall appends a call that the gateway runs. A call that an earlier run has reported is not
// opened twice: clients look calls up in the whole thread.
func (e *encoder) startCall(dst []byte, ev *stream.ToolStarted) []byte {
	switch e.earlierCalls[ev.ID] {
	case dialect.Waited:
		e.native.Skip(ev)
		return dst
	case dialect.Closed:
		return e.appendCustom(dst, stream.Name(ev), ev)
	}
	e.native.Skip(ev)
	return e.appendCall(dst, &ev.Call)
}

// endCall appends the end of a call, with content as its result.
func (e *encoder) endCall(dst []byte, c *stream.Call, content string, ev stream.Event) []byte {
	if e.earlierCalls[c.ID] == dialect.Closed {
		return e.appendCustom(dst, stream.Name(ev), ev)
	}
	return e.appendResult(dst, c, content)
}

// appendCall appends a call as a whole.
func (e *encoder) appendCall(dst []byte, c *stream.Call) []byte {
	dst = e.endStretch(dst)
	dst = appendMember(beginFrame(dst, "TOOL_CALL_START"), "toolCallId", c.ID)
	dst = appendMember(dst, "toolCallName", c.Tool)
	dst = append(appendMember(dst, "parentMessageId", e.parentMessage(&c.Attribution)), "}\n\n"...)
	dst = append(appendMember(beginFrame(dst, "TOOL_CALL_ARGS"), "toolCallId", c.ID), `,"delta":`...)
	dst = append(jsonline.String(dst, string(jsonline.Object(nil, c.Arguments))), "}\n\n"...)
	return appendNamed(dst, "TOOL_CALL_END", "toolCallId", c.ID)
}

// parentMessage returns the id of the message that a call belongs to. It is the text of its agent
// that has just ended, or else one for all calls of the step.
func (e *encoder) parentMessage(by *stream.Attribution) string {
	s := e.steps[*by]
	if s == nil {
		s = &step{parent: e.lastText}
		if e.lastText == "" || *by != e.speaker {
			s.parent = e.newID()
		}
		if e.steps == nil {
			e.steps = map[stream.Attribution]*step{}
		}
		e.steps[*by] = s
	}
	s.open++
	return s.parent
}

// appendResult appends the result of a call, whatever its outcome: a browser would run a call
// without a result.
func (e *encoder) appendResult(dst []byte, c *stream.Call, content string) []byte {
	dst = e.endStretch(dst)
	e.lastText = ""
	if s := e.steps[c.Attribution]; s != nil {
		if s.open--; s.open == 0 {
			delete(e.steps, c.Attribution)
		}
	}
	dst = appendMember(beginFrame(dst, "TOOL_CALL_RESULT"), "messageId", e.newID())
	dst = append(appendMember(dst, "toolCallId", c.ID), `,"content":`...)
	return append(jsonline.String(dst, content), ",\"role\":\"tool\"}\n\n"...)
}

// appendAgent appends an agent's part in the turn, as a step of the protocol.
func (e *encoder) appendAgent(dst []byte, ev *stream.AgentRun) []byte {
	step := ev.AgentID
	if ev.SessionID != "" {
		step += "/" + ev.SessionID
	}
	switch ev.Status {
	case stream.AgentStarted:
		dst = appendNamed(dst, "STEP_STARTED", "stepName", step)
	case stream.AgentCompleted, stream.AgentFailed, stream.AgentStopped:
		return appendNamed(e.appendCustom(dst, ev.Name(), ev), "STEP_FINISHED", "stepName", step)
	}
	return e.appendCustom(dst, ev.Name(), ev)
}

// failRun appends a fatal error, after which clients read nothing.
func (e *encoder) failRun(dst []byte, ev *stream.Error) []byte {
	e.hasFailed = true
	dst = append(beginFrame(e.endStretch(dst), "RUN_ERROR"), `,"message":`...)
	dst = appendMember(jsonline.String(dst, ev.Message), "code", string(ev.Type))
	return append(dst, "}\n\n"...)
}

// endRun ends the run, unless an error has. Only a question is an outcome: without one a run is a
// success, and clients find the calls that they are to run by themselves.
func (e *encoder) endRun(dst []byte, ev *stream.Done) []byte {
	if e.hasFailed {
		return dst
	}
	dst = e.ofRun(e.appendCustom(e.endStretch(dst), "done", ev), "RUN_FINISHED")
	if e.hasQuestion {
		dst = append(append(append(dst, `,"outcome":{"type":"interrupt","interrupts":[`...), e.interrupt...), "]}"...)
	}
	u, count := &ev.Usage, func(name string, n int) {
		dst = strconv.AppendInt(append(dst, name...), int64(n), 10)
	}
	output := u.OutputTokens + u.ThinkingTokens // the protocol's reasoning is a part of its output
	dst = jsonline.Name(append(dst, `,"usage":[{"model":`...), e.model)
	count(`,"inputTokens":`, u.InputTokens)
	count(`,"outputTokens":`, output)
	count(`,"reasoningTokens":`, u.ThinkingTokens)
	count(`,"totalTokens":`, u.InputTokens+output)
	return append(dst, "}]}\n\n"...)
}
