package a2a

import (
	"bytes"
	"encoding/json"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/internal/edge/dialect/jsonline"
	"sluice/stream"
	"sluice/stream/sse"
)

// eventEncoder is the encoder of a stream: the task, its answer piece by piece, and how it ended.
type eventEncoder struct {
	*turn
	native stream.Encoder // of our own protocol, for the extension; nil: it is not wanted
	piece  pattern
	frames []byte // of native
	// resumed says that the client has the task already, and perhaps a part of its answer.
	resumed bool
}

// pattern is a frame of a piece of the answer, but for its text: nothing else differs
// from one piece to the next.
type pattern struct {
	isSet         bool
	first         bool // it begins the artifact
	agent         string
	before, after []byte
}

// hole is the text of a piece that is cut out of a frame to make a pattern. No text behind
// it can be equal to it.
const hole = "\x00"

const quotedHole = `"\u0000"`

// Encode appends the frames of ev.
func (e *eventEncoder) Encode(dst []byte, s stream.Stamp, ev stream.Event) []byte {
	switch ev := ev.(type) {
	case *stream.Delta:
		dst = e.appendDelta(dst, ev)
		e.nativeData(s, ev)
		return dst
	case *stream.Reset:
		e.addEvent(ev)
		e.nativeData(s, ev)
		return e.appendEvent(dst, e.artifactUpdate(ev.Accumulated, true, ""))
	case *stream.Start:
		e.addEvent(ev)
		e.nativeData(s, ev)
		if e.resumed {
			return dst
		}
		dst = e.appendEvent(dst, e.snapshot(sdk.TaskStateSubmitted, s.At))
		return e.appendEvent(dst, e.statusUpdate(sdk.TaskStateWorking, s, nil))
	case *stream.Done:
		return e.appendEnd(dst, s, ev)
	}
	e.addEvent(ev)
	if extra := e.nativeData(s, ev); extra != nil {
		dst = e.appendEvent(dst, e.statusUpdate(sdk.TaskStateWorking, s, extra))
	}
	return dst
}

// Skip takes an event that the client has in the task.
func (e *eventEncoder) Skip(ev stream.Event) {
	e.resumed = true
	e.addEvent(ev)
}

// Heartbeat returns a comment.
func (*eventEncoder) Heartbeat() []byte { return sse.Ping() }

// appendDelta appends a piece of the answer.
func (e *eventEncoder) appendDelta(dst []byte, ev *stream.Delta) []byte {
	first := len(e.Pieces) == 0
	e.addEvent(ev)
	if p := &e.piece; !p.isSet || p.first != first || p.agent != ev.AgentID {
		e.newPattern(first, ev.AgentID)
	}
	dst = append(dst, e.piece.before...)
	dst = jsonline.String(dst, ev.Text)
	return append(dst, e.piece.after...)
}

// newPattern makes the frame of a piece, as a2a-go has it.
func (e *eventEncoder) newPattern(first bool, agent string) {
	frame := e.appendEvent(nil, e.artifactUpdate(hole, first, agent))
	at := bytes.LastIndex(frame, []byte(quotedHole)) // the id of a request may look like it, and comes before
	e.piece = pattern{isSet: true, first: first, agent: agent, before: frame[:at:at], after: frame[at+len(quotedHole):]}
}

// artifactUpdate is a piece of the answer. The first one opens the artifact, further
// ones are appended to it.
func (e *eventEncoder) artifactUpdate(text string, first bool, agent string) *sdk.TaskArtifactUpdateEvent {
	ev := sdk.NewArtifactUpdateEvent(e.taskInfo(), answer, sdk.NewTextPart(text))
	ev.Append = !first
	ev.Artifact.Name = answer
	if agent != "" {
		ev.Metadata = map[string]any{"agentId": agent}
	}
	return ev
}

// appendEnd appends the end: of the answer, and of the task.
func (e *eventEncoder) appendEnd(dst []byte, s stream.Stamp, ev *stream.Done) []byte {
	if len(e.Pieces) > 0 {
		end := e.artifactUpdate("", false, "")
		end.LastChunk = true
		dst = e.appendEvent(dst, end)
	}
	return e.appendEvent(dst, e.statusUpdate(stateOf(ev.Reason), s, e.nativeData(s, ev)))
}

// statusUpdate returns a status update, with an event of ours if extra is not nil.
func (e *eventEncoder) statusUpdate(state sdk.TaskState, s stream.Stamp, extra map[string]any) *sdk.TaskStatusUpdateEvent {
	ev := &sdk.TaskStatusUpdateEvent{TaskID: sdk.TaskID(e.task), ContextID: e.context, Status: e.taskStatus(state, s.At)}
	if extra != nil {
		ev.Metadata = map[string]any{extensionURI: extra}
	}
	return ev
}

// nativeData returns an event in our own protocol, or nil if the client does not want it or the
// event is not reported.
func (e *eventEncoder) nativeData(s stream.Stamp, ev stream.Event) map[string]any {
	if e.native == nil {
		return nil
	}
	e.frames = e.native.Encode(e.frames[:0], s, ev)
	_, name, found := bytes.Cut(e.frames, []byte("event: "))
	name, data, _ := bytes.Cut(name, []byte("\ndata: "))
	if !found || len(data) == 0 {
		return nil
	}
	data = bytes.TrimRight(data, "\n")
	return map[string]any{"event": string(name), "data": json.RawMessage(bytes.Clone(data))}
}

// appendEvent appends the frame of an event.
func (e *eventEncoder) appendEvent(dst []byte, ev sdk.Event) []byte {
	result, err := e.wire.encodeEvent(ev)
	if err != nil { // plain values: cannot happen
		return dst
	}
	return e.appendFrame(dst, result)
}
