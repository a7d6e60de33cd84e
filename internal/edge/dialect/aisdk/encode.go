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
	stepOver        // its last result was sent, and later parts do not belong to it
	stepClosed      // and its end was
)

// encoder turns events into parts. Keys are the fewest that every client reads: many refuse all
// of a stream that has one more.
type encoder struct {
	// continues is true if the request ends with the assistant's message. The answer continues it,
	// and an id would begin another one.
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

	before      map[string]dialect.Before // calls that the conversation has already
	hasQuestion bool                      // a question is in the message
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
		return e.appendDelta(dst, ev)
	case *stream.Thinking:
		dst = e.openStretch(dst, reasoning, ev.Attribution)
		dst = append(append(dst, e.prefix...), `,"delta":`...)
		return endFrame(jsonline.String(dst, ev.Content))
	case *stream.Start:
		return e.startMessage(dst, ev)
	case *stream.ToolStarted:
		return e.startCall(dst, ev)
	case *stream.ToolRequired:
		return endFrame(append(beginCall(e.beginOther(dst), &ev.Call), `,"dynamic":true`...))
	case *stream.ToolCompleted, *stream.ToolFailed, *stream.ToolUnknown:
		if end := ev.(stream.ToolEnd).End(); e.before[end.Call.ID] != dialect.Closed {
			return e.appendResult(e.beginOther(dst), end)
		}
	case *stream.Approval:
		return e.appendQuestion(e.beginOther(dst), ev)
	case *stream.Error:
		return e.appendError(dst, ev)
	case *stream.Done:
		return e.endMessage(dst, ev)
	}
	if !stream.Passing(ev) { // else a log would have the step begin elsewhere
		dst = e.beginStep(dst)
	}
	return e.appendNative(dst, ev)
}

// appendDelta appends a piece of the answer. Most pieces belong to the stretch that is open.
func (e *encoder) appendDelta(dst []byte, ev *stream.Delta) []byte {
	dst = e.openStretch(dst, text, ev.Attribution)
	e.bare.Text = ev.Text
	dst, _ = e.native.Append(append(dst, e.prefix...), &e.bare)
	return endFrame(dst)
}

// startMessage begins the message.
func (e *encoder) startMessage(dst []byte, ev *stream.Start) []byte {
	dst = append(dst, `data: {"type":"start"`...)
	if !e.continues {
		dst = append(append(append(dst, `,"messageId":"msg_`...), e.seed...), '"')
	}
	return append(e.appendNative(endFrame(dst), ev), "data: {\"type\":\"start-step\"}\n\n"...)
}

// openStretch opens a stretch of a kind and a speaker, unless it is open already. A piece without a
// speaker continues the last one.
func (e *encoder) openStretch(dst []byte, kind string, by stream.Attribution) []byte {
	if e.kind == kind && (by == stream.Attribution{} || by == e.speaker) {
		return dst
	}
	dst = e.beginOther(dst)
	e.kind, e.speaker = kind, by
	e.parts++
	e.prefix = e.beginPart(e.prefix[:0], "delta")
	return endFrame(e.beginPart(dst, "start"))
}

// beginPart begins a part of the open stretch.
func (e *encoder) beginPart(dst []byte, what string) []byte {
	dst = append(append(append(dst, `data: {"type":"`...), e.kind...), '-')
	dst = append(append(append(dst, what...), `","id":"`...), e.seed...)
	return append(strconv.AppendInt(append(dst, '_'), int64(e.parts), 10), '"')
}

// endStretch ends the stretch that is open.
func (e *encoder) endStretch(dst []byte) []byte {
	if e.kind == "" {
		return dst
	}
	dst = endFrame(e.beginPart(dst, "end"))
	e.kind = ""
	return dst
}

// beginOther ends the stretch for a part of another kind.
func (e *encoder) beginOther(dst []byte) []byte { return e.beginStep(e.endStretch(dst)) }

// beginStep begins another step if the last one is over.
func (e *encoder) beginStep(dst []byte) []byte {
	if e.step == stepOpen {
		return dst
	}
	dst = append(e.finishStep(dst), "data: {\"type\":\"start-step\"}\n\n"...)
	e.step = stepOpen
	return dst
}

// finishStep ends the step, if it was not ended.
func (e *encoder) finishStep(dst []byte) []byte {
	if e.step == stepClosed {
		return dst
	}
	e.step = stepClosed
	return append(e.endStretch(dst), "data: {\"type\":\"finish-step\"}\n\n"...)
}

// startCall appends a call that the gateway runs. A call that the conversation has already is not
// opened twice.
func (e *encoder) startCall(dst []byte, ev *stream.ToolStarted) []byte {
	before := e.before[ev.ID]
	if before == dialect.Closed {
		return e.appendNative(e.beginStep(dst), ev)
	}
	e.calls++
	e.native.Skip(ev)
	if before == dialect.Waited {
		return dst
	}
	return e.appendExecuted(e.beginOther(dst), &ev.Call)
}

// appendExecuted appends a call that is not the client's to run.
func (e *encoder) appendExecuted(dst []byte, c *stream.Call) []byte {
	return endFrame(append(beginCall(dst, c), `,"dynamic":true,"providerExecuted":true`...))
}

// beginCall begins the part of a call.
func beginCall(dst []byte, c *stream.Call) []byte {
	dst = jsonline.Name(append(dst, `data: {"type":"tool-input-available","toolCallId":`...), c.ID)
	dst = jsonline.Name(append(dst, `,"toolName":`...), c.Tool)
	return jsonline.Object(append(dst, `,"input":`...), c.Arguments)
}

// appendResult appends the result of a call. With the last one of those that were open the step is
// over.
func (e *encoder) appendResult(dst []byte, c stream.CallEnd) []byte {
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
	dst = endFrame(append(jsonline.String(dst, said), `,"dynamic":true,"providerExecuted":true`...))
	if e.calls--; e.calls == 0 {
		e.step = stepOver
	}
	return dst
}

// appendError reports an error. The part of that name ends the client's turn, so it is for a fatal
// one alone.
func (e *encoder) appendError(dst []byte, ev *stream.Error) []byte {
	if !ev.Fatal {
		if e.step == stepOver {
			dst = e.finishStep(dst)
		}
		return e.appendNative(dst, ev)
	}
	dst = e.appendNative(e.finishStep(dst), ev)
	dst = jsonline.String(append(dst, `data: {"type":"error","errorText":`...), ev.Message)
	e.ended = true
	return append(endFrame(dst), "data: [DONE]\n\n"...)
}

// endMessage ends the message.
func (e *encoder) endMessage(dst []byte, ev *stream.Done) []byte {
	dst = e.appendNative(e.finishStep(dst), ev)
	dst = append(append(append(dst, `data: {"type":"finish","finishReason":"`...), finishReason(ev.Reason)...), '"')
	e.ended = true
	return append(endFrame(dst), "data: [DONE]\n\n"...)
}

// finishReason returns the protocol's reason.
func finishReason(r stream.FinishReason) string {
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

// appendNative appends an event as our own protocol has it, which messages never hold.
func (e *encoder) appendNative(dst []byte, ev stream.Event) []byte {
	before := len(dst)
	dst = append(append(dst, `data: {"type":"data-sluice","data":{"event":"`...), stream.Name(ev)...)
	dst, ok := e.native.Append(append(dst, e.request...), ev)
	if !ok {
		return dst[:before]
	}
	return endFrame(append(dst, `},"transient":true`...))
}

// endFrame ends a frame.
func endFrame(dst []byte) []byte { return append(dst, "}\n\n"...) }
