package sluice

import (
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/dialect/jsonline"
	"sluice/stream"
	"sluice/stream/sse"
)

// protocol is the name of the vocabulary, in the start event.
const protocol = "sluice/1"

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

	text   []byte   // with accumulate: all deltas so far, joined and escaped, without quotes
	pieces []string // without: the deltas so far, which their sender keeps as well
	odd    []int    // which of pieces may need escaping, in order
	tools  []string // names in order of call
}

// NewEncoder returns the encoder of a turn. requestID is of characters that need no
// escaping: [A-Za-z0-9._-]. With accumulated each response_delta repeats the text so
// far. retry is the EventSource retry time; 0 means sse.NoRetry.
func NewEncoder(requestID string, accumulated bool, retry time.Duration) stream.Encoder {
	if retry == 0 {
		retry = sse.NoRetry
	}
	return newEncoder(requestID, requestID, accumulated, retry)
}

// newStoredEncoder is NewEncoder for a turn that can be resumed: the ids of its events are
// of the turn, and a client that lost its stream comes back after a second.
func newStoredEncoder(turnID, requestID string, accumulated bool) stream.Encoder {
	return newEncoder(turnID, requestID, accumulated, time.Second)
}

// newEncoder returns an encoder whose constant parts of a frame are rendered
// once. id is what event ids begin with; retry 0 writes no retry line.
func newEncoder(id, requestID string, accumulated bool, retry time.Duration) *encoder {
	quoted, _ := jsontext.AppendQuote(nil, requestID)
	return &encoder{
		idPrefix:   append(append([]byte("id: "), id...), ':'),
		dataPrefix: append([]byte(`data: {"request_id":`), quoted...),
		retry:      retry,
		accumulate: accumulated,
	}
}

// Skip takes an event whose frame the client has already.
func (e *encoder) Skip(ev stream.Event) {
	switch ev := ev.(type) {
	case *stream.Delta:
		if !e.accumulate {
			e.odd = append(e.odd, len(e.pieces))
			e.pieces = append(e.pieces, ev.Text)
			return
		}
		quoted := jsonline.String(nil, ev.Text)
		e.text = append(e.text, quoted[1:len(quoted)-1]...)
	case *stream.ToolStarted:
		e.tools = append(e.tools, ev.Tool)
	}
}

// Heartbeat returns a comment.
func (e *encoder) Heartbeat() []byte { return sse.Ping() }

// Encode appends the one frame of ev.
//
// An event that is neither a core event nor an extension has no frame.
func (e *encoder) Encode(dst []byte, s stream.Stamp, ev stream.Event) []byte {
	switch ev := ev.(type) {
	case *stream.Delta:
		dst = e.delta(attributed(e.open(dst, s.N, "response_delta"), &ev.Attribution), ev)
	case *stream.Start:
		dst = start(e.open(dst, s.N, "start"), ev)
	case *stream.Thinking:
		dst = attributed(e.open(dst, s.N, "thinking"), &ev.Attribution)
		dst = str(dst, "content", ev.Content)
	case *stream.ToolStarted:
		e.tools = append(e.tools, ev.Tool)
		dst = call(e.open(dst, s.N, "tool_call"), &ev.Call, "in_progress")
	case *stream.ToolProgress:
		dst = progress(e.open(dst, s.N, "tool_call"), ev)
	case *stream.ToolCompleted:
		dst = completed(e.open(dst, s.N, "tool_call"), ev)
	case *stream.ToolFailed:
		dst = call(e.open(dst, s.N, "tool_call"), &ev.Call, "failed")
		dst = str(millis(dst, "duration_ms", ev.Duration), "error", ev.Message)
		if ev.ErrorType != "" {
			dst = str(dst, "error_type", string(ev.ErrorType))
		}
	case *stream.ToolUnknown:
		dst = call(e.open(dst, s.N, "tool_call"), &ev.Call, "unknown")
		dst = str(millis(dst, "duration_ms", ev.Duration), "error", ev.Message)
	case *stream.Error:
		dst = failure(attributed(e.open(dst, s.N, "error"), &ev.Attribution), ev)
	case *stream.Done:
		dst = e.done(e.open(dst, s.N, "done"), ev)
	case stream.Extension:
		return e.extension(dst, s.N, ev)
	default:
		return dst
	}
	return append(dst, "}\n\n"...)
}

// extension appends the frame of an extension: its JSON members after request_id.
// One whose JSON is not an object has no frame.
func (e *encoder) extension(dst []byte, n int, ev stream.Extension) []byte {
	members, err := jsonline.Value(nil, ev)
	if err != nil || len(members) < 2 || members[0] != '{' {
		return dst
	}
	dst = e.open(dst, n, ev.Name())
	if len(members) > 2 { // not {}
		dst = append(append(dst, ','), members[1:len(members)-1]...)
	}
	return append(dst, "}\n\n"...)
}

// open begins a frame up to the first member after request_id.
func (e *encoder) open(dst []byte, n int, event string) []byte {
	if n == 1 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, e.retry.Milliseconds(), 10)
		dst = append(dst, '\n')
	}
	if n > 0 { // else nobody can come back to it: stream.Passing
		dst = append(dst, e.idPrefix...)
		dst = strconv.AppendInt(dst, int64(n), 10)
		dst = append(dst, '\n')
	}
	dst = append(dst, "event: "...)
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
		if len(dst)-1-from != len(ev.Text) { // an escape is longer than what it stands for
			e.odd = append(e.odd, len(e.pieces))
		}
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
	odd := e.odd
	for i, piece := range e.pieces {
		if len(odd) == 0 || odd[0] != i {
			dst = append(dst, piece...)
			continue
		}
		odd = odd[1:]
		from := len(dst)
		dst = jsonline.String(dst, piece)
		dst = append(dst[:from], dst[from+1:len(dst)-1]...) // without its quotes
	}
	return append(dst, '"')
}

// start appends the members of a start event. What the request did not give is absent.
func start(dst []byte, ev *stream.Start) []byte {
	if ev.ConversationID != "" {
		dst = name(dst, "conversation_id", ev.ConversationID)
	}
	if ev.UserID != "" {
		dst = name(dst, "user_id", ev.UserID)
	}
	if ev.TurnID != "" {
		dst = str(str(dst, "task_id", ev.TaskID), "turn_id", ev.TurnID)
	}
	return str(name(dst, "model", ev.Model), "protocol", protocol)
}

// attributed names who speaks, where several may.
func attributed(dst []byte, a *stream.Attribution) []byte {
	if a.AgentID != "" {
		dst = name(dst, "agent_id", a.AgentID)
	}
	if a.NodeID != "" {
		dst = name(dst, "node_id", a.NodeID)
	}
	if a.SessionID != "" {
		dst = name(dst, "session_id", a.SessionID)
	}
	return dst
}

// call appends what all events of a tool call have in common.
func call(dst []byte, c *stream.Call, status string) []byte {
	dst = attributed(dst, &c.Attribution)
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

// completed appends a call that has ended well. Its result is cut to maxResult, and
// marked then; the model gets the result as the agent has it.
func completed(dst []byte, ev *stream.ToolCompleted) []byte {
	dst = millis(call(dst, &ev.Call, "completed"), "duration_ms", ev.Duration)
	text, cut := chat.Truncate(ev.Result, maxResult)
	dst = str(dst, "result", text)
	if cut || ev.Truncated {
		dst = append(dst, `,"truncated":true`...)
	}
	if ev.Cached {
		dst = append(dst, `,"cached":true`...)
	}
	return dst
}

// failure appends the members of an error event.
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

// done appends the members of the last event: the whole text, the tools in the order of
// their calls, usage and times.
func (e *encoder) done(dst []byte, ev *stream.Done) []byte {
	t := &ev.Timings
	dst = e.joined(dst, "final_output")
	dst = array(key(dst, "tools_called"), e.tools, jsonline.Name)
	dst = boolean(dst, "success", ev.Reason.Success())
	dst = str(dst, "finish_reason", string(ev.Reason))
	dst = append(dst, `,"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(ev.Usage.InputTokens), 10)
	dst = integer(dst, "output_tokens", ev.Usage.OutputTokens)
	dst = integer(dst, "thinking_tokens", ev.Usage.ThinkingTokens)
	if ev.Keyed {
		dst = integer(dst, "cached_tokens", ev.Usage.CachedTokens)
		if ev.Usage.Estimated {
			dst = boolean(dst, "estimated", true)
		}
	}
	dst = append(dst, '}')
	if len(ev.Models) > 0 {
		dst = array(key(dst, "models"), ev.Models, jsonline.Name)
	}
	dst = append(dst, `,"timings":{"total_ms":`...)
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
	if ev.Route > 0 {
		dst = millis(dst, "route_ms", ev.Route)
	}
	dst = millis(dst, "write_blocked_ms", t.Blocked)
	return checks(agents(append(dst, '}'), ev.Agents), ev)
}

// checks appends what became of an answer that was checked or formatted.
func checks(dst []byte, ev *stream.Done) []byte {
	if ev.Quality != nil {
		dst = value(dst, "quality", ev.Quality)
	}
	if ev.Channel != nil {
		dst = value(dst, "channel", ev.Channel)
	}
	return dst
}

// agents appends how each agent of a team did; nothing if there is no team.
func agents(dst []byte, outcomes []stream.AgentOutcome) []byte {
	if outcomes == nil {
		return dst
	}
	dst = append(dst, `,"agents":[`...)
	for i := range outcomes {
		dst, _ = jsonline.Value(comma(dst, i), &outcomes[i])
	}
	return append(dst, ']')
}

// key appends a comma and a name, which is a constant that needs no escapes. All members
// but the first of an object come through it.
func key(dst []byte, name string) []byte {
	dst = append(append(dst, ',', '"'), name...)
	return append(dst, '"', ':')
}

// value appends a member of any other type as its JSON; null, if it has none.
func value(dst []byte, name string, v any) []byte {
	dst = key(dst, name)
	if with, err := jsonline.Value(dst, v); err == nil {
		return with
	}
	return append(dst, "null"...)
}

// str appends a member whose value is a text, escaped so that it stays on one line.
func str(dst []byte, name, value string) []byte { return jsonline.String(key(dst, name), value) }

// name is str for what identifies something or somebody.
func name(dst []byte, member, value string) []byte { return jsonline.Name(key(dst, member), value) }

// boolean appends a member that is true or false.
func boolean(dst []byte, name string, value bool) []byte {
	return strconv.AppendBool(key(dst, name), value)
}

// integer appends a member that is a whole number.
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

// millis appends a time in milliseconds, rounded.
func millis(dst []byte, name string, d time.Duration) []byte {
	return appendMillis(key(dst, name), d)
}

// appendMillis rounds to whole milliseconds: clients decode them into integers.
func appendMillis(dst []byte, d time.Duration) []byte {
	return strconv.AppendInt(dst, d.Round(time.Millisecond).Milliseconds(), 10)
}

// array appends an array of texts or names.
func array(dst []byte, list []string, add func(dst []byte, s string) []byte) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		dst = add(comma(dst, i), s)
	}
	return append(dst, ']')
}

// comma separates element i of an array from the one before.
func comma(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return dst
}
