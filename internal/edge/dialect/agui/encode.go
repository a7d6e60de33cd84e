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

// kind is what a stretch consists of.
type kind int

const (
	nothing kind = iota
	text
	thought
)

// encoder writes a turn as the protocol's events: a pure function of the request's ids, the time
// at which it began, and the events. Of text and thoughts one stretch is open at most, and a
// call never is: clients refuse calls that overlap with anything.
type encoder struct {
	requestID   string
	began       time.Time
	thread, run string
	model       string
	over        bool // an error has ended the run

	seed string // of the ids
	ids  int    // made so far

	open    kind
	id      string             // of what is open
	content []byte             // a frame of what is open, up to the delta
	speaker stream.Attribution // of the last stretch

	said  string                       // the text that has just ended; empty: something followed it
	steps map[stream.Attribution]*step // the calls of each speaker that are open

	again     map[string]dialect.Before // calls that an earlier run of the thread has reported
	asked     bool                      // a question is in the outcome
	interrupt []byte                    // the interrupts of the outcome

	native native.Data
	delta  stream.Delta // the one that is written, without its speaker
}

// step is an agent's calls that follow each other without a word.
type step struct {
	parent string
	open   int
}

func newEncoder(requestID string, began time.Time, f facts) *encoder {
	return &encoder{requestID: requestID, began: began, thread: f.Thread, run: f.Run, again: f.Calls()}
}

// Heartbeat returns a comment.
func (e *encoder) Heartbeat() []byte { return sse.Ping() }

// Encode appends the frames of ev.
func (e *encoder) Encode(dst []byte, _ stream.Stamp, ev stream.Event) []byte {
	switch ev := ev.(type) {
	case *stream.Delta:
		dst = append(e.stretch(dst, text, &ev.Attribution), e.content...)
		e.delta.Text = ev.Text
		dst, _ = e.native.Append(dst, &e.delta)
		return append(dst, "}\n\n"...)
	case *stream.Thinking:
		dst = append(e.stretch(dst, thought, &ev.Attribution), e.content...)
		return append(jsonline.String(append(dst, `,"delta":`...), ev.Content), "}\n\n"...)
	case *stream.Start:
		return e.start(dst, ev)
	case *stream.ToolStarted:
		return e.started(dst, ev)
	case *stream.ToolRequired:
		return e.call(dst, &ev.Call)
	case *stream.ToolProgress:
		return e.custom(dst, "tool_progress", ev)
	case *stream.ToolCompleted:
		shown, _ := chat.Truncate(ev.Result, maxResult)
		return e.ended(dst, &ev.Call, shown, ev)
	case *stream.ToolFailed:
		return e.ended(dst, &ev.Call, ev.Message, ev)
	case *stream.ToolUnknown:
		return e.ended(dst, &ev.Call, ev.Message, ev)
	case *stream.Approval:
		return e.question(dst, ev)
	case *stream.AgentRun:
		return e.agent(dst, ev)
	case *stream.Error:
		if ev.Fatal {
			return e.failed(dst, ev)
		}
	case *stream.Done:
		return e.done(dst, ev)
	}
	return e.custom(dst, stream.Name(ev), ev)
}

// start begins the run under the client's own ids.
func (e *encoder) start(dst []byte, ev *stream.Start) []byte {
	e.seed, e.model = chat.CallSeed(ev.TurnID, e.requestID, e.began), ev.Model
	return e.custom(append(e.ofRun(dst, "RUN_STARTED"), "}\n\n"...), "start", ev)
}

// ofRun begins an event of the run as a whole.
func (e *encoder) ofRun(dst []byte, event string) []byte {
	dst = member(begin(dst, event), "threadId", e.thread)
	return member(dst, "runId", e.run)
}

// begin begins a frame.
func begin(dst []byte, event string) []byte {
	return append(append(append(dst, `data: {"type":"`...), event...), '"')
}

// member appends a member that names something. Its own name needs no escapes.
func member(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return jsonline.Name(dst, value)
}

// named appends an event that consists of its type and one id.
func named(dst []byte, event, name, id string) []byte {
	return append(member(begin(dst, event), name, id), "}\n\n"...)
}

// messagePrefix begins the ids of messages.
const messagePrefix = "msg_"

// next makes an id, which no other turn of the thread has.
func (e *encoder) next() string {
	e.ids++
	return messagePrefix + e.seed + "_" + strconv.Itoa(e.ids)
}

// custom appends an event that the protocol has no words for, with the native data as its
// value. It ends nothing: drafts are such events, and no log has them.
func (e *encoder) custom(dst []byte, name string, ev stream.Event) []byte {
	before := len(dst)
	dst = append(append(begin(dst, "CUSTOM"), `,"name":"sluice.`...), name...)
	dst = jsonline.Name(append(dst, `","value":{"request_id":`...), e.requestID)
	dst, ok := e.native.Append(dst, ev)
	if !ok {
		return dst[:before]
	}
	return append(dst, "}}\n\n"...)
}

// stretch sees to it that a stretch of a kind and a speaker is open. A piece without a speaker
// belongs to the one before: it joins what agents have said.
func (e *encoder) stretch(dst []byte, k kind, by *stream.Attribution) []byte {
	if *by == (stream.Attribution{}) {
		by = &e.speaker
	}
	if e.open == k && *by == e.speaker {
		return dst
	}
	dst = e.end(dst)
	e.open, e.speaker, e.id, e.said = k, *by, e.next(), ""
	delete(e.steps, *by)
	event := "TEXT_MESSAGE_CONTENT"
	if k == thought {
		event = "REASONING_MESSAGE_CONTENT"
		dst = named(dst, "REASONING_START", "messageId", e.id)
		dst = member(begin(dst, "REASONING_MESSAGE_START"), "messageId", e.id)
		dst = append(dst, ",\"role\":\"reasoning\"}\n\n"...)
	} else {
		dst = member(begin(dst, "TEXT_MESSAGE_START"), "messageId", e.id)
		dst = append(dst, ",\"role\":\"assistant\"}\n\n"...)
	}
	e.content = member(begin(e.content[:0], event), "messageId", e.id)
	return dst
}

// end ends the stretch that is open.
func (e *encoder) end(dst []byte) []byte {
	switch e.open {
	case text:
		e.said = e.id
		dst = named(dst, "TEXT_MESSAGE_END", "messageId", e.id)
	case thought:
		dst = named(dst, "REASONING_MESSAGE_END", "messageId", e.id)
		dst = named(dst, "REASONING_END", "messageId", e.id)
	}
	e.open = nothing
	return dst
}

// started appends a call that the gateway runs. What an earlier run of the thread has reported
// is not opened twice: clients look calls up in the whole thread.
func (e *encoder) started(dst []byte, ev *stream.ToolStarted) []byte {
	switch e.again[ev.ID] {
	case dialect.Waited:
		e.native.Skip(ev)
		return dst
	case dialect.Closed:
		return e.custom(dst, stream.Name(ev), ev)
	}
	e.native.Skip(ev)
	return e.call(dst, &ev.Call)
}

// ended appends the end of a call, with content as its result.
func (e *encoder) ended(dst []byte, c *stream.Call, content string, ev stream.Event) []byte {
	if e.again[c.ID] == dialect.Closed {
		return e.custom(dst, stream.Name(ev), ev)
	}
	return e.result(dst, c, content)
}

// call appends a call as a whole.
func (e *encoder) call(dst []byte, c *stream.Call) []byte {
	dst = e.end(dst)
	dst = member(begin(dst, "TOOL_CALL_START"), "toolCallId", c.ID)
	dst = member(dst, "toolCallName", c.Tool)
	dst = append(member(dst, "parentMessageId", e.parent(&c.Attribution)), "}\n\n"...)
	dst = append(member(begin(dst, "TOOL_CALL_ARGS"), "toolCallId", c.ID), `,"delta":`...)
	dst = append(jsonline.String(dst, string(jsonline.Object(nil, c.Arguments))), "}\n\n"...)
	return named(dst, "TOOL_CALL_END", "toolCallId", c.ID)
}

// parent returns the id of the message that a call belongs to: the text of its agent that has
// just ended, else one for all calls of the step.
func (e *encoder) parent(by *stream.Attribution) string {
	s := e.steps[*by]
	if s == nil {
		s = &step{parent: e.said}
		if e.said == "" || *by != e.speaker {
			s.parent = e.next()
		}
		if e.steps == nil {
			e.steps = map[stream.Attribution]*step{}
		}
		e.steps[*by] = s
	}
	s.open++
	return s.parent
}

// result appends what a call has come to, however it went: a call without a result is one that
// a browser would carry out.
func (e *encoder) result(dst []byte, c *stream.Call, content string) []byte {
	dst = e.end(dst)
	e.said = ""
	if s := e.steps[c.Attribution]; s != nil {
		if s.open--; s.open == 0 {
			delete(e.steps, c.Attribution)
		}
	}
	dst = member(begin(dst, "TOOL_CALL_RESULT"), "messageId", e.next())
	dst = append(member(dst, "toolCallId", c.ID), `,"content":`...)
	return append(jsonline.String(dst, content), ",\"role\":\"tool\"}\n\n"...)
}

// agent appends an agent's part in the turn, which is a step of the protocol.
func (e *encoder) agent(dst []byte, ev *stream.AgentRun) []byte {
	step := ev.AgentID
	if ev.SessionID != "" {
		step += "/" + ev.SessionID
	}
	switch ev.Status {
	case stream.AgentStarted:
		dst = named(dst, "STEP_STARTED", "stepName", step)
	case stream.AgentCompleted, stream.AgentFailed, stream.AgentStopped:
		return named(e.custom(dst, ev.Name(), ev), "STEP_FINISHED", "stepName", step)
	}
	return e.custom(dst, ev.Name(), ev)
}

// failed appends a fatal error, after which clients read nothing.
func (e *encoder) failed(dst []byte, ev *stream.Error) []byte {
	e.over = true
	dst = append(begin(e.end(dst), "RUN_ERROR"), `,"message":`...)
	dst = member(jsonline.String(dst, ev.Message), "code", string(ev.Type))
	return append(dst, "}\n\n"...)
}

// done ends the run, unless an error has. Only a question is an outcome: without one a run is a
// success, and clients find the calls that they are to run by themselves.
func (e *encoder) done(dst []byte, ev *stream.Done) []byte {
	if e.over {
		return dst
	}
	dst = e.ofRun(e.custom(e.end(dst), "done", ev), "RUN_FINISHED")
	if e.asked {
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
