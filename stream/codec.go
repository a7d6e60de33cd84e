package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
)

// A stored event is one JSON object:
//
//	{"n":3,"at":41000000,"event":"tool_completed","data":{…}}
//
// It stores the meaning of the event and not a frame. An encoder can write it later, and writes the
// same bytes as at first. Durations are nanoseconds.
//
// Pieces of an answer that came together share a line (Storage). The line has the number of the
// first piece, and the others count on from it:
//
//	{"n":4,"at":41000000,"event":"deltas","data":{"texts":["Hel","lo"]}}

// storedEvent is the envelope.
type storedEvent struct {
	// N and At are the stamp: the number, from 1, and the time since the
	// turn's start.
	N  int           `json:"n"`
	At time.Duration `json:"at"`
	// Event is the event's name, by which its type is found again.
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// storedCall holds any event of a tool call. Arguments travel as a string: as JSON
// they would be compacted, and an encoder writes them byte for byte.
type storedCall struct {
	Attribution
	ID        string        `json:"id"`
	Tool      string        `json:"tool"`
	Server    string        `json:"server,omitempty"`
	Arguments string        `json:"arguments,omitempty"`
	Duration  time.Duration `json:"duration,omitempty"`
	Result    string        `json:"result,omitempty"`
	Truncated bool          `json:"truncated,omitempty"`
	Cached    bool          `json:"cached,omitempty"`
	Warning   string        `json:"warning,omitempty"`
	Message   string        `json:"message,omitempty"`
	ErrorType fault.Type    `json:"error_type,omitempty"`
	Progress  float64       `json:"progress,omitempty"`
	Total     float64       `json:"total,omitempty"`
	// Repeatable is for the code that closes the turn of a dead process.
	Repeatable bool `json:"repeatable,omitempty"`
}

// Names of the core events in storage. They are not those of the wire, where one
// name stands for several events of a tool call.
const (
	storedStart     = "start"
	storedThinking  = "thinking"
	storedDelta     = "delta"
	storedDeltas    = "deltas"
	storedStarted   = "tool_started"
	storedProgress  = "tool_progress"
	storedCompleted = "tool_completed"
	storedFailed    = "tool_failed"
	storedUnknown   = "tool_unknown"
	storedRequired  = "tool_required"
	storedError     = "error"
	storedDone      = "done"
)

// AppendStored appends ev in the form that ReadStoredLine reads. Invalid
// UTF-8 becomes U+FFFD, as in every encoder. With an error nothing is appended.
func AppendStored(dst []byte, s Stamp, ev Event) ([]byte, error) {
	if d, ok := ev.(*Delta); ok && utf8.ValidString(d.Text) && d.Attribution.isValidUTF8() {
		return appendDelta(appendEnvelope(dst, s, storedDelta), d)
	}
	name, data, err := storedForm(ev)
	if err != nil {
		return dst, err
	}
	to := appender{appendEnvelope(dst, s, name)}
	enc := json.NewEncoder(&to)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		return dst, fmt.Errorf("event %s cannot be stored: %w", name, err)
	}
	to.text[len(to.text)-1] = '}' // in place of the line's end
	return to.text, nil
}

// appendEnvelope appends the text in front of an event's data. The names are our own, without
// characters to escape.
func appendEnvelope(dst []byte, s Stamp, name string) []byte {
	dst = strconv.AppendInt(append(dst, `{"n":`...), int64(s.N), 10)
	dst = strconv.AppendInt(append(dst, `,"at":`...), int64(s.At), 10)
	return append(append(append(dst, `,"event":"`...), name...), `","data":`...)
}

// appender is a buffer that a json.Encoder writes into.
type appender struct{ text []byte }

// Write implements io.Writer.
func (a *appender) Write(p []byte) (int, error) {
	a.text = append(a.text, p...)
	return len(p), nil
}

// appendDelta is AppendStored for the most frequent event. It saves the memory that the general
// form allocates. Its texts are valid UTF-8, so quoting cannot fail.
func appendDelta(dst []byte, d *Delta) ([]byte, error) {
	dst = appendOrigin(append(dst, '{'), &d.Attribution)
	dst, err := jsontext.AppendQuote(append(dst, `"text":`...), d.Text)
	return append(dst, "}}"...), err
}

// appendOrigin appends the members of an Attribution, with a comma behind each.
func appendOrigin(dst []byte, a *Attribution) []byte {
	if *a == (Attribution{}) {
		return dst
	}
	dst = appendMember(dst, `"agent_id":`, a.AgentID)
	dst = appendMember(dst, `"node_id":`, a.NodeID)
	return appendMember(dst, `"session_id":`, a.SessionID)
}

// appendMember appends a member that is left out when it is empty, and a comma behind it.
func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst, _ = jsontext.AppendQuote(append(dst, name...), value)
	return append(dst, ',')
}

// isValidUTF8 reports whether all of it is valid UTF-8.
func (a *Attribution) isValidUTF8() bool {
	return utf8.ValidString(a.AgentID) && utf8.ValidString(a.NodeID) && utf8.ValidString(a.SessionID)
}

// storedForm returns an event's name in storage and the value that is stored for it.
func storedForm(ev Event) (name string, data any, err error) {
	switch ev := ev.(type) {
	case *Start:
		return storedStart, ev, nil
	case *Thinking:
		return storedThinking, ev, nil
	case *Delta:
		return storedDelta, ev, nil
	case *Error:
		return storedError, ev, nil
	case *Done:
		return storedDone, ev, nil
	case *ToolStarted:
		c := ev.toStored()
		c.Repeatable = ev.Repeatable
		return storedStarted, c, nil
	case *ToolProgress:
		c := ev.toStored()
		c.Progress, c.Total, c.Message = finiteOrZero(ev.Progress), finiteOrZero(ev.Total), ev.Message
		return storedProgress, c, nil
	case *ToolCompleted:
		c := ev.toStored()
		c.Duration, c.Result, c.Truncated, c.Cached, c.Warning = ev.Duration, ev.Result, ev.Truncated, ev.Cached, ev.Warning
		return storedCompleted, c, nil
	case *ToolFailed:
		c := ev.toStored()
		c.Duration, c.Message, c.ErrorType = ev.Duration, ev.Message, ev.ErrorType
		return storedFailed, c, nil
	case *ToolUnknown:
		c := ev.toStored()
		c.Duration, c.Message = ev.Duration, ev.Message
		return storedUnknown, c, nil
	case *ToolRequired:
		return storedRequired, ev.toStored(), nil
	case Extension:
		return ev.Name(), ev, nil
	}
	return "", nil, fmt.Errorf("%T is not an event that can be stored", ev)
}

// finiteOrZero replaces infinities and NaN by 0, as encoders do: JSON cannot write them.
func finiteOrZero(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// toStored keeps arguments as a string, whose bytes stay as they were.
func (c *Call) toStored() storedCall {
	return storedCall{Attribution: c.Attribution, ID: c.ID, Tool: c.Tool, Server: c.Server, Arguments: string(c.Arguments)}
}

// toCall returns the call as it was reported.
func (c *storedCall) toCall() Call {
	call := Call{Attribution: c.Attribution, ID: c.ID, Tool: c.Tool, Server: c.Server}
	if c.Arguments != "" {
		call.Arguments = jsontext.Value(c.Arguments)
	}
	return call
}

// ErrStored is wrapped by the error of a stored event that cannot be read: it was
// cut or altered, or a newer version wrote it.
var ErrStored = errors.New("stored event cannot be read")

// ReadStoredLine reads a line of a Storage or of AppendStored. It calls use with each of the line's
// events, at least once. An extension that this version does not know is an error, and so is
// trailing data; use is not called then.
func ReadStoredLine(line []byte, use func(Stamp, Event)) error {
	var s storedEvent
	if err := json.Unmarshal(line, &s); err != nil {
		return fmt.Errorf("%w: %w", ErrStored, err)
	}
	if s.N < 1 || s.At < 0 {
		return fmt.Errorf("%w: no stamp", ErrStored)
	}
	if s.Event != storedDeltas {
		ev, err := s.readEvent()
		if err != nil {
			return fmt.Errorf("%w: %q: %w", ErrStored, s.Event, err)
		}
		use(Stamp{s.N, s.At}, ev)
		return nil
	}
	return s.readPieces(use)
}

// readPieces reads the deltas of a line.
func (s *storedEvent) readPieces(use func(Stamp, Event)) error {
	var all storedPieces
	if err := json.Unmarshal(s.Data, &all); err != nil || len(all.Texts) == 0 {
		return fmt.Errorf("%w: %q: %w", ErrStored, s.Event, errors.Join(err, errors.New("no pieces")))
	}
	pieces := make([]Delta, len(all.Texts))
	for i, text := range all.Texts {
		pieces[i] = Delta{all.Attribution, text}
		use(Stamp{s.N + i, s.At}, &pieces[i])
	}
	return nil
}

// readEvent returns the event. Events of a call have a stored form of their own; all others are
// stored as they are.
func (s *storedEvent) readEvent() (Event, error) {
	ev := newEmptyEvent(s.Event)
	if ev != nil {
		return ev, json.Unmarshal(s.Data, ev)
	}
	var c storedCall
	if err := json.Unmarshal(s.Data, &c); err != nil {
		return nil, err
	}
	switch s.Event {
	case storedStarted:
		return &ToolStarted{c.toCall(), c.Repeatable}, nil
	case storedProgress:
		return &ToolProgress{c.toCall(), c.Progress, c.Total, c.Message}, nil
	case storedCompleted:
		return &ToolCompleted{c.toCall(), c.Duration, c.Result, c.Truncated, c.Cached, c.Warning}, nil
	case storedFailed:
		return &ToolFailed{c.toCall(), c.Duration, c.Message, c.ErrorType}, nil
	case storedUnknown:
		return &ToolUnknown{c.toCall(), c.Duration, c.Message}, nil
	case storedRequired:
		return &ToolRequired{c.toCall()}, nil
	}
	return nil, errors.New("unknown event")
}

// newEmptyEvent returns an event to read into, or nil if the name is that of a tool call's
// event, or unknown.
func newEmptyEvent(name string) Event {
	switch name {
	case storedStart:
		return new(Start)
	case storedThinking:
		return new(Thinking)
	case storedDelta:
		return new(Delta)
	case storedError:
		return new(Error)
	case storedDone:
		return new(Done)
	}
	if ev := newExtension(name); ev != nil {
		return ev
	}
	return nil
}

// newExtension returns an empty extension of the given name, to read a stored one into, or nil for
// an unknown name.
func newExtension(name string) Extension {
	switch name {
	case nameModel:
		return new(ModelChanged)
	case routeName:
		return new(Route)
	case agentName:
		return new(AgentRun)
	case innerName:
		return new(InnerDelta)
	case qualityName:
		return new(Quality)
	case channelMessageName:
		return new(ChannelMessage)
	case approvalName:
		return new(Approval)
	case nodeName:
		return new(NodeRun)
	case resetName:
		return new(Reset)
	}
	return nil
}

// storedPieces is the data of a line of several pieces.
type storedPieces struct {
	Attribution
	Texts []string `json:"texts"`
}
