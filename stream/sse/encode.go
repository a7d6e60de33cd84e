// Package sse puts the events of a turn on the wire as Server-Sent Events
// (WHATWG HTML, section 9.2), and reads them back.
//
// A frame, byte for byte:
//
//	retry: 86400000                              first frame only
//	id: req_0123456789ab:1
//	event: start
//	data: {"request_id":"req_0123456789ab",...}  one JSON object on one line
//	                                             an empty line ends the frame
package sse

import (
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/stream"
	"sluice/stream/internal/jsonline"
)

// Protocol is the name of the vocabulary, in the start event.
const Protocol = "sluice/1"

// maxResult is how many bytes of a tool's result an event carries.
const maxResult = 2 << 10

// maxNote is how many bytes of a tool's progress message an event carries.
const maxNote = 256

// encoder turns events into frames. It holds what the frames of a turn share, so
// that the cost of a frame is that of its own bytes.
type encoder struct {
	idPrefix   []byte // "id: req_…:"
	dataPrefix []byte // `data: {"request_id":"req_…"`
	retry      time.Duration
	accumulate bool

	n      int
	text   []byte   // with accumulate: all deltas so far, joined and escaped, without quotes
	pieces []string // without: the deltas so far, which whoever sends them keeps as well
	tools  []string // names in order of call
}

func newEncoder(requestID string, retry time.Duration, accumulate bool) *encoder {
	quoted, _ := jsontext.AppendQuote(nil, requestID)
	return &encoder{
		idPrefix:   append(append([]byte("id: "), requestID...), ':'),
		dataPrefix: append([]byte(`data: {"request_id":`), quoted...),
		retry:      retry,
		accumulate: accumulate,
	}
}

// Encoder turns the events of one turn into what a client reads. A Writer calls it
// from one goroutine, but for Heartbeat.
type Encoder interface {
	// Encode appends the frames of ev, if it has any, to dst. t is zero for all
	// events but Done.
	Encode(dst []byte, ev stream.Event, t Timings) []byte
	// Heartbeat returns what is sent after a silence: bytes that mean nothing to the
	// client. It may be called from another goroutine at any time.
	Heartbeat() []byte
}

// Timings are measured by the Writer, since Config.Began.
type Timings struct {
	Total, FirstEvent time.Duration
	FirstDelta        time.Duration // 0: there was none
	Blocked           time.Duration // spent in writes
}

var ping = []byte(": ping\n\n")

// Heartbeat returns a comment.
func (e *encoder) Heartbeat() []byte { return ping }

// Encode appends the one frame of ev.
func (e *encoder) Encode(dst []byte, ev stream.Event, t Timings) []byte {
	switch ev := ev.(type) {
	case *stream.Delta:
		dst = e.delta(e.open(dst, "response_delta"), ev)
	case *stream.Start:
		dst = start(e.open(dst, "start"), ev)
	case *stream.Thinking:
		dst = str(e.open(dst, "thinking"), "content", ev.Content)
	case *stream.ToolStarted:
		e.tools = append(e.tools, ev.Tool)
		dst = call(e.open(dst, "tool_call"), &ev.Call, "in_progress")
	case *stream.ToolProgress:
		dst = progress(e.open(dst, "tool_call"), ev)
	case *stream.ToolCompleted:
		dst = completed(e.open(dst, "tool_call"), ev)
	case *stream.ToolFailed:
		dst = call(e.open(dst, "tool_call"), &ev.Call, "failed")
		dst = str(millis(dst, "duration_ms", ev.Duration), "error", ev.Message)
	case *stream.ToolUnknown:
		dst = call(e.open(dst, "tool_call"), &ev.Call, "unknown")
		dst = str(millis(dst, "duration_ms", ev.Duration), "error", ev.Message)
	case *stream.Error:
		dst = failure(e.open(dst, "error"), ev)
	case *stream.Done:
		dst = e.done(e.open(dst, "done"), ev, t)
	}
	return append(dst, "}\n\n"...)
}

// open begins a frame up to the first member after request_id.
func (e *encoder) open(dst []byte, event string) []byte {
	if e.n == 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, e.retry.Milliseconds(), 10)
		dst = append(dst, '\n')
	}
	e.n++
	dst = append(dst, e.idPrefix...)
	dst = strconv.AppendInt(dst, int64(e.n), 10)
	dst = append(dst, "\nevent: "...)
	dst = append(dst, event...)
	dst = append(dst, '\n')
	return append(dst, e.dataPrefix...)
}

// delta escapes the new text once: what is repeated of the text before is copied.
func (e *encoder) delta(dst []byte, ev *stream.Delta) []byte {
	dst = append(dst, `,"delta":`...)
	from := len(dst) + 1
	dst = jsonline.String(dst, ev.Text)
	if !e.accumulate {
		e.pieces = append(e.pieces, ev.Text)
		return dst
	}
	e.text = append(e.text, dst[from:len(dst)-1]...)
	return e.joined(dst, "accumulated")
}

// joined appends a member that holds all text so far.
func (e *encoder) joined(dst []byte, name string) []byte {
	dst = append(key(dst, name), '"')
	dst = append(dst, e.text...)
	for _, piece := range e.pieces {
		from := len(dst)
		dst = jsonline.String(dst, piece)
		dst = append(dst[:from], dst[from+1:len(dst)-1]...) // without its quotes
	}
	return append(dst, '"')
}

func start(dst []byte, ev *stream.Start) []byte {
	if ev.ConversationID != "" {
		dst = name(dst, "conversation_id", ev.ConversationID)
	}
	if ev.UserID != "" {
		dst = name(dst, "user_id", ev.UserID)
	}
	return str(name(dst, "model", ev.Model), "protocol", Protocol)
}

func call(dst []byte, c *stream.Call, status string) []byte {
	dst = name(dst, "call_id", c.ID)
	dst = name(dst, "tool_name", c.Tool)
	dst = name(dst, "server", c.Server)
	dst = jsonline.Object(key(dst, "arguments"), c.Arguments)
	return str(dst, "status", status)
}

// progress leaves the total out if it is not known. JSON has no NaN and no
// infinity; what is neither number nor progress becomes 0.
func progress(dst []byte, ev *stream.ToolProgress) []byte {
	dst = number(call(dst, &ev.Call, "progress"), "progress", ev.Progress)
	if ev.Total > 0 && !math.IsInf(ev.Total, 1) {
		dst = number(dst, "total", ev.Total)
	}
	if text := chat.Line(ev.Message, maxNote); text != "" {
		dst = str(dst, "message", text)
	}
	return dst
}

func completed(dst []byte, ev *stream.ToolCompleted) []byte {
	dst = millis(call(dst, &ev.Call, "completed"), "duration_ms", ev.Duration)
	text, cut := chat.Truncate(ev.Result, maxResult)
	dst = str(dst, "result", text)
	if cut || ev.Truncated {
		dst = append(dst, `,"truncated":true`...)
	}
	return dst
}

func failure(dst []byte, ev *stream.Error) []byte {
	dst = str(dst, "error_type", string(ev.Type))
	dst = str(dst, "message", ev.Message)
	dst = boolean(dst, "recoverable", ev.Recoverable)
	dst = boolean(dst, "fatal", ev.Fatal)
	if ev.RetryAfter > 0 { // rounded up: a client must not come back too early
		dst = millis(dst, "retry_after_ms", ev.RetryAfter+time.Millisecond/2-1)
	}
	if ev.Service != "" {
		dst = name(dst, "service", ev.Service)
	}
	return dst
}

func (e *encoder) done(dst []byte, ev *stream.Done, t Timings) []byte {
	dst = e.joined(dst, "final_output")
	dst = append(dst, `,"tools_called":[`...)
	for i, tool := range e.tools {
		dst = jsonline.Name(comma(dst, i), tool)
	}
	dst = append(dst, ']')
	dst = boolean(dst, "success", ev.Reason.Success())
	dst = str(dst, "finish_reason", string(ev.Reason))
	dst = append(dst, `,"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(ev.Usage.InputTokens), 10)
	dst = integer(dst, "output_tokens", ev.Usage.OutputTokens)
	dst = integer(dst, "thinking_tokens", ev.Usage.ThinkingTokens)
	dst = append(dst, `},"timings":{"total_ms":`...)
	dst = appendMillis(dst, t.Total)
	dst = millis(dst, "first_event_ms", t.FirstEvent)
	if t.FirstDelta > 0 {
		dst = millis(dst, "first_delta_ms", t.FirstDelta)
	}
	dst = append(dst, `,"model_ms":[`...)
	for i, d := range ev.Model {
		dst = appendMillis(comma(dst, i), d)
	}
	dst = append(dst, `],"tools":[`...)
	for i, tool := range ev.Tools {
		dst = append(comma(dst, i), `{"tool_name":`...)
		dst = millis(jsonline.Name(dst, tool.Tool), "ms", tool.Duration)
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	dst = millis(dst, "write_blocked_ms", t.Blocked)
	return append(dst, '}')
}

func key(dst []byte, name string) []byte {
	dst = append(append(dst, ',', '"'), name...)
	return append(dst, '"', ':')
}

func str(dst []byte, name, value string) []byte { return jsonline.String(key(dst, name), value) }

// name is str for what identifies something or somebody.
func name(dst []byte, member, value string) []byte { return jsonline.Name(key(dst, member), value) }

func boolean(dst []byte, name string, value bool) []byte {
	return strconv.AppendBool(key(dst, name), value)
}

func integer(dst []byte, name string, value int) []byte {
	return strconv.AppendInt(key(dst, name), int64(value), 10)
}

// number writes whole numbers without a fraction or an exponent, as clients would.
func number(dst []byte, name string, value float64) []byte {
	dst = key(dst, name)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return append(dst, '0')
	}
	if abs := math.Abs(value); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, value, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, value, 'f', -1, 64)
}

func millis(dst []byte, name string, d time.Duration) []byte {
	return appendMillis(key(dst, name), d)
}

// appendMillis rounds to whole milliseconds: clients decode them into integers.
func appendMillis(dst []byte, d time.Duration) []byte {
	return strconv.AppendInt(dst, d.Round(time.Millisecond).Milliseconds(), 10)
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return dst
}
