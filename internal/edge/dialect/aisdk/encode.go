package aisdk

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/jsonline"
	"sluice/internal/edge/dialect/native"
	"sluice/internal/turn/chat"
	"sluice/stream"
	"sluice/stream/sse"
)

// maxOutput is how many bytes of a tool's result a part carries, as in our own protocol.
const maxOutput = 2 << 10

// cutMark ends a result that was cut.
const cutMark = " […]"

// Kinds of stretches.
const (
	text      = "text"
	reasoning = "reasoning"
)

// step is how far a step of the message has come: the client draws a line between two.
type step int

const (
	stepOpen   step = iota
	stepOver        // its last result was sent, and what follows is not of it
	stepClosed      // and its end was
)

// encoder turns events into parts. Keys are the fewest that every client reads: many refuse all
// of a stream that has one more.
type encoder struct {
	// continues says that the request ends with the assistant's message, which the answer
	// continues: an id would make another one of it.
	continues bool
	mute      bool   // nobody can be asked here
	seed      string // of the ids
	request   []byte // the end of a native event's name, and the id of the request

	native native.Data
	bare   stream.Delta // a delta without its speaker, for native
	ended  bool         // an error or the end was sent: nothing may follow

	// The stretch that is open. A part with another speaker or of another kind ends it.
	kind    string // text or reasoning; empty: none is open
	speaker stream.Attribution
	prefix  []byte // of the frames of its deltas
	parts   int    // stretches so far

	step  step
	calls int // that are open

	before map[string]dialect.Before // calls that the conversation has already
	asked  bool                      // a question is in the message
}

func newEncoder(turnID, requestID string, began time.Time, f facts) *encoder {
	request, _ := jsontext.AppendQuote([]byte(`","request_id":`), requestID)
	return &encoder{
		continues: f.Continues, mute: f.Mute, before: f.Calls(),
		seed: chat.CallSeed(turnID, requestID, began), request: request,
	}
}

// Heartbeat returns a comment.
func (e *encoder) Heartbeat() []byte { return sse.Ping() }

// Encode appends the parts of ev.
func (e *encoder) Encode(dst []byte, _ stream.Stamp, ev stream.Event) []byte {
	if e.ended {
		return dst
	}
	switch ev := ev.(type) {
	case *stream.Delta:
		return e.delta(dst, ev)
	case *stream.Thinking:
		dst = e.stretch(dst, reasoning, ev.Attribution)
		dst = append(append(dst, e.prefix...), `,"delta":`...)
		return end(jsonline.String(dst, ev.Content))
	case *stream.Start:
		return e.start(dst, ev)
	case *stream.ToolStarted:
		return e.started(dst, ev)
	case *stream.ToolRequired:
		return end(append(input(e.other(dst), &ev.Call), `,"dynamic":true`...))
	case *stream.ToolCompleted, *stream.ToolFailed, *stream.ToolUnknown:
		if end := ev.(stream.ToolEnd).End(); e.before[end.Call.ID] != dialect.Closed {
			return e.result(e.other(dst), end)
		}
	case *stream.Approval:
		return e.ask(e.other(dst), ev)
	case *stream.Error:
		return e.failed(dst, ev)
	case *stream.Done:
		return e.done(dst, ev)
	}
	if !stream.Passing(ev) { // else a log would have the step begin elsewhere
		dst = e.begin(dst)
	}
	return e.sluice(dst, ev)
}

// delta appends a piece of the answer. Most pieces belong to the stretch that is open.
func (e *encoder) delta(dst []byte, ev *stream.Delta) []byte {
	dst = e.stretch(dst, text, ev.Attribution)
	e.bare.Text = ev.Text
	dst, _ = e.native.Append(append(dst, e.prefix...), &e.bare)
	return end(dst)
}

// start begins the message.
func (e *encoder) start(dst []byte, ev *stream.Start) []byte {
	dst = append(dst, `data: {"type":"start"`...)
	if !e.continues {
		dst = append(append(append(dst, `,"messageId":"msg_`...), e.seed...), '"')
	}
	return append(e.sluice(end(dst), ev), "data: {\"type\":\"start-step\"}\n\n"...)
}

// stretch sees to it that a stretch of a kind by a speaker is open. Who is not named continues
// what was said last.
func (e *encoder) stretch(dst []byte, kind string, by stream.Attribution) []byte {
	if e.kind == kind && (by == stream.Attribution{} || by == e.speaker) {
		return dst
	}
	dst = e.other(dst)
	e.kind, e.speaker = kind, by
	e.parts++
	e.prefix = e.part(e.prefix[:0], "delta")
	return end(e.part(dst, "start"))
}

// part begins a part of the open stretch.
func (e *encoder) part(dst []byte, what string) []byte {
	dst = append(append(append(dst, `data: {"type":"`...), e.kind...), '-')
	dst = append(append(append(dst, what...), `","id":"`...), e.seed...)
	return append(strconv.AppendInt(append(dst, '_'), int64(e.parts), 10), '"')
}

// silence ends the stretch that is open.
func (e *encoder) silence(dst []byte) []byte {
	if e.kind == "" {
		return dst
	}
	dst = end(e.part(dst, "end"))
	e.kind = ""
	return dst
}

// other ends the stretch for a part of another kind.
func (e *encoder) other(dst []byte) []byte { return e.begin(e.silence(dst)) }

// begin begins another step if the last one is over.
func (e *encoder) begin(dst []byte) []byte {
	if e.step == stepOpen {
		return dst
	}
	dst = append(e.finish(dst), "data: {\"type\":\"start-step\"}\n\n"...)
	e.step = stepOpen
	return dst
}

// finish ends the step, if it was not ended.
func (e *encoder) finish(dst []byte) []byte {
	if e.step == stepClosed {
		return dst
	}
	e.step = stepClosed
	return append(e.silence(dst), "data: {\"type\":\"finish-step\"}\n\n"...)
}

// started appends a call that the gateway runs. One that the conversation has already is not
// opened twice.
func (e *encoder) started(dst []byte, ev *stream.ToolStarted) []byte {
	before := e.before[ev.ID]
	if before == dialect.Closed {
		return e.sluice(e.begin(dst), ev)
	}
	e.calls++
	e.native.Skip(ev)
	if before == dialect.Waited {
		return dst
	}
	return e.executed(e.other(dst), &ev.Call)
}

// executed appends a call that is not the client's to run.
func (e *encoder) executed(dst []byte, c *stream.Call) []byte {
	return end(append(input(dst, c), `,"dynamic":true,"providerExecuted":true`...))
}

// input begins the part of a call.
func input(dst []byte, c *stream.Call) []byte {
	dst = jsonline.Name(append(dst, `data: {"type":"tool-input-available","toolCallId":`...), c.ID)
	dst = jsonline.Name(append(dst, `,"toolName":`...), c.Tool)
	return jsonline.Object(append(dst, `,"input":`...), c.Arguments)
}

// result appends what a call came to. With the last one of those that were open the step is
// over.
func (e *encoder) result(dst []byte, c stream.CallEnd) []byte {
	kind, member := "error", "errorText"
	if c.Outcome == stream.CallCompleted {
		kind, member = "available", "output"
	}
	dst = append(append(append(dst, `data: {"type":"tool-output-`...), kind...), `","toolCallId":`...)
	dst = jsonline.Name(dst, c.Call.ID)
	dst = append(append(append(dst, `,"`...), member...), `":`...)
	said, cut := chat.Truncate(c.Result, maxOutput)
	if cut {
		said += cutMark
	}
	dst = end(append(jsonline.String(dst, said), `,"dynamic":true,"providerExecuted":true`...))
	if e.calls--; e.calls == 0 {
		e.step = stepOver
	}
	return dst
}

// failed reports an error. The part of that name ends the client's turn, so it is for a fatal
// one alone.
func (e *encoder) failed(dst []byte, ev *stream.Error) []byte {
	if !ev.Fatal {
		if e.step == stepOver {
			dst = e.finish(dst)
		}
		return e.sluice(dst, ev)
	}
	dst = e.sluice(e.finish(dst), ev)
	dst = jsonline.String(append(dst, `data: {"type":"error","errorText":`...), ev.Message)
	e.ended = true
	return append(end(dst), "data: [DONE]\n\n"...)
}

// done ends the message.
func (e *encoder) done(dst []byte, ev *stream.Done) []byte {
	dst = e.sluice(e.finish(dst), ev)
	dst = append(append(append(dst, `data: {"type":"finish","finishReason":"`...), reason(ev.Reason)...), '"')
	e.ended = true
	return append(end(dst), "data: [DONE]\n\n"...)
}

// reason returns the protocol's reason.
func reason(r stream.FinishReason) string {
	switch r {
	case stream.Stop, stream.InputRequired:
		return "stop"
	case stream.MaxTokens:
		return "length"
	case stream.ClientTools, stream.ApprovalRequired:
		return "tool-calls"
	}
	return "other"
}

// sluice appends an event as our own protocol has it, which messages never hold.
func (e *encoder) sluice(dst []byte, ev stream.Event) []byte {
	before := len(dst)
	dst = append(append(dst, `data: {"type":"data-sluice","data":{"event":"`...), stream.Name(ev)...)
	dst, ok := e.native.Append(append(dst, e.request...), ev)
	if !ok {
		return dst[:before]
	}
	return end(append(dst, `},"transient":true`...))
}

// end ends a frame.
func end(dst []byte) []byte { return append(dst, "}\n\n"...) }
