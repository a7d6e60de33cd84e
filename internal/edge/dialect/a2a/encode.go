package a2a

import (
	"bytes"
	"encoding/json"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/internal/edge/dialect/jsonline"
	"sluice/stream"
	"sluice/stream/sse"
)

// teller is the encoder of a stream: the task, its answer piece by piece, and how it ended.
type teller struct {
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
	made           bool
	first          bool // it begins the artifact
	agent          string
	before, behind []byte
}

// hole is the text of a piece that is cut out of a frame to make a pattern. No text behind
// it can be equal to it.
const hole = "\x00"

const quotedHole = `"\u0000"`

// Encode appends the frames of ev.
func (e *teller) Encode(dst []byte, s stream.Stamp, ev stream.Event) []byte {
	switch ev := ev.(type) {
	case *stream.Delta:
		dst = e.delta(dst, ev)
		e.extra(s, ev)
		return dst
	case *stream.Reset:
		e.note(ev)
		e.extra(s, ev)
		return e.event(dst, e.artifact(ev.Accumulated, true, ""))
	case *stream.Start:
		e.note(ev)
		e.extra(s, ev)
		if e.resumed {
			return dst
		}
		dst = e.event(dst, e.snapshot(sdk.TaskStateSubmitted, s.At))
		return e.event(dst, e.update(sdk.TaskStateWorking, s, nil))
	case *stream.Done:
		return e.done(dst, s, ev)
	}
	e.note(ev)
	if extra := e.extra(s, ev); extra != nil {
		dst = e.event(dst, e.update(sdk.TaskStateWorking, s, extra))
	}
	return dst
}

// Skip takes an event that the client has in the task.
func (e *teller) Skip(ev stream.Event) {
	e.resumed = true
	e.note(ev)
}

// Heartbeat returns a comment.
func (*teller) Heartbeat() []byte { return sse.Ping() }

// delta appends a piece of the answer.
func (e *teller) delta(dst []byte, ev *stream.Delta) []byte {
	first := len(e.Pieces) == 0
	e.note(ev)
	if p := &e.piece; !p.made || p.first != first || p.agent != ev.AgentID {
		e.newPattern(first, ev.AgentID)
	}
	dst = append(dst, e.piece.before...)
	dst = jsonline.String(dst, ev.Text)
	return append(dst, e.piece.behind...)
}

// newPattern makes the frame of a piece, as a2a-go has it.
func (e *teller) newPattern(first bool, agent string) {
	frame := e.event(nil, e.artifact(hole, first, agent))
	at := bytes.LastIndex(frame, []byte(quotedHole)) // the id of a request may look like it, and comes before
	e.piece = pattern{made: true, first: first, agent: agent, before: frame[:at:at], behind: frame[at+len(quotedHole):]}
}

// artifact is a piece of the answer. The first one opens the artifact, further
// ones are appended to it.
func (e *teller) artifact(text string, first bool, agent string) *sdk.TaskArtifactUpdateEvent {
	ev := sdk.NewArtifactUpdateEvent(e.info(), answer, sdk.NewTextPart(text))
	ev.Append = !first
	ev.Artifact.Name = answer
	if agent != "" {
		ev.Metadata = map[string]any{"agentId": agent}
	}
	return ev
}

// done appends the end: of the answer, and of the task.
func (e *teller) done(dst []byte, s stream.Stamp, ev *stream.Done) []byte {
	if len(e.Pieces) > 0 {
		end := e.artifact("", false, "")
		end.LastChunk = true
		dst = e.event(dst, end)
	}
	return e.event(dst, e.update(stateOf(ev.Reason), s, e.extra(s, ev)))
}

// update returns a status update, with an event of ours if extra is not nil.
func (e *teller) update(state sdk.TaskState, s stream.Stamp, extra map[string]any) *sdk.TaskStatusUpdateEvent {
	ev := &sdk.TaskStatusUpdateEvent{TaskID: sdk.TaskID(e.task), ContextID: e.context, Status: e.status(state, s.At)}
	if extra != nil {
		ev.Metadata = map[string]any{extensionURI: extra}
	}
	return ev
}

// extra returns an event as our own protocol reports it; nil if the client does not want that,
// or there is nothing to report.
func (e *teller) extra(s stream.Stamp, ev stream.Event) map[string]any {
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

// event appends the frame of an event.
func (e *teller) event(dst []byte, ev sdk.Event) []byte {
	result, err := e.wire.event(ev)
	if err != nil { // plain values: cannot happen
		return dst
	}
	return e.frame(dst, result)
}
