// Package native writes what events say as members of one JSON object, in the words of our own
// protocol (docs/events.md). That protocol puts them into its frames, and other protocols into a
// part for foreign data.
package native

import (
	"math"
	"strconv"
	"time"

	"sluice/internal/edge/dialect/jsonline"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// protocol is the name of the vocabulary, in the start event.
const protocol = "sluice/1"

// maxResult is how many bytes of a tool's result an event carries.
const maxResult = 2 << 10

// maxNote is how many bytes of a tool's progress message an event carries.
const maxNote = 256

// Data has the text and the tools so far, for the last event of a turn. The zero value is that of a
// turn that has not begun.
type Data struct {
	// Accumulate says that each piece of the answer comes with the text so far.
	Accumulate bool

	text   []byte   // with Accumulate: all deltas so far, joined and escaped, without quotes
	pieces []string // without: the deltas so far, which their sender keeps as well
	odd    []int    // which of pieces may need escaping, in order
	tools  []string // names in order of call
}

// Skip accepts an event whose members the client has already.
func (e *Data) Skip(ev stream.Event) {
	switch ev := ev.(type) {
	case *stream.Delta:
		if !e.Accumulate {
			e.odd = append(e.odd, len(e.pieces))
			e.pieces = append(e.pieces, ev.Text)
			return
		}
		quoted := jsonline.String(nil, ev.Text)
		e.text = append(e.text, quoted[1:len(quoted)-1]...)
	case *stream.Reset:
		e.resetText(ev)
	case *stream.ToolStarted:
		e.tools = append(e.tools, ev.Tool)
	}
}

// resetText sets the text to what stays of it.
func (e *Data) resetText(ev *stream.Reset) {
	e.text, e.pieces, e.odd = nil, nil, nil
	if ev.Accumulated != "" {
		e.Skip(&stream.Delta{Text: ev.Accumulated})
	}
}

// Append appends the members of ev, with a comma in front of each. It returns false, and appends
// nothing, if ev is not of the vocabulary or is an extension whose JSON is not an object.
func (e *Data) Append(dst []byte, ev stream.Event) (_ []byte, ok bool) {
	switch ev := ev.(type) {
	case *stream.Delta:
		dst = e.appendDelta(appendSpeaker(dst, &ev.Attribution), ev)
	case *stream.Start:
		dst = appendStart(dst, ev)
	case *stream.Thinking:
		dst = appendString(appendSpeaker(dst, &ev.Attribution), "content", ev.Content)
	case *stream.ToolStarted:
		e.tools = append(e.tools, ev.Tool)
		dst = appendCall(dst, &ev.Call, "in_progress")
	case *stream.ToolProgress:
		dst = appendProgress(dst, ev)
	case *stream.ToolCompleted:
		dst = appendCompleted(dst, ev)
	case *stream.ToolFailed:
		dst = appendCall(dst, &ev.Call, "failed")
		dst = appendString(appendDuration(dst, "duration_ms", ev.Duration), "error", ev.Message)
		if ev.ErrorType != "" {
			dst = appendString(dst, "error_type", string(ev.ErrorType))
		}
	case *stream.ToolUnknown:
		dst = appendCall(dst, &ev.Call, "unknown")
		dst = appendString(appendDuration(dst, "duration_ms", ev.Duration), "error", ev.Message)
	case *stream.ToolRequired:
		dst = appendCall(dst, &ev.Call, "client_required")
	case *stream.Error:
		dst = appendError(appendSpeaker(dst, &ev.Attribution), ev)
	case *stream.Done:
		dst = e.appendDone(dst, ev)
	case *stream.Reset:
		e.resetText(ev)
		return appendExtension(dst, ev)
	case stream.Extension:
		return appendExtension(dst, ev)
	default:
		return dst, false
	}
	return dst, true
}

// appendExtension appends the JSON members of an extension.
func appendExtension(dst []byte, ev stream.Extension) (_ []byte, ok bool) {
	members, err := jsonline.Value(nil, ev)
	if err != nil || len(members) < 2 || members[0] != '{' {
		return dst, false
	}
	if len(members) > 2 { // not {}
		dst = append(append(dst, ','), members[1:len(members)-1]...)
	}
	return dst, true
}

// appendDelta escapes the new text once, and copies the earlier text.
func (e *Data) appendDelta(dst []byte, ev *stream.Delta) []byte {
	dst = append(dst, `,"delta":`...)
	from := len(dst) + 1
	dst = jsonline.String(dst, ev.Text)
	if !e.Accumulate {
		if len(dst)-1-from != len(ev.Text) { // an escape is longer than its character
			e.odd = append(e.odd, len(e.pieces))
		}
		e.pieces = append(e.pieces, ev.Text)
		return dst
	}
	e.text = append(e.text, dst[from:len(dst)-1]...)
	return e.appendJoined(dst, "accumulated")
}

// appendJoined appends a member that holds all text so far.
func (e *Data) appendJoined(dst []byte, name string) []byte {
	dst = append(appendKey(dst, name), '"')
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

// appendStart appends the members of a start event. Members that the request did not give are
// absent.
func appendStart(dst []byte, ev *stream.Start) []byte {
	if ev.ConversationID != "" {
		dst = appendName(dst, "conversation_id", ev.ConversationID)
	}
	if ev.UserID != "" {
		dst = appendName(dst, "user_id", ev.UserID)
	}
	if ev.TurnID != "" {
		dst = appendString(appendString(dst, "task_id", ev.TaskID), "turn_id", ev.TurnID)
	}
	return appendString(appendName(dst, "model", ev.Model), "protocol", protocol)
}

// appendSpeaker names the speaker, if several agents may speak.
func appendSpeaker(dst []byte, a *stream.Attribution) []byte {
	if a.AgentID != "" {
		dst = appendName(dst, "agent_id", a.AgentID)
	}
	if a.NodeID != "" {
		dst = appendName(dst, "node_id", a.NodeID)
	}
	if a.SessionID != "" {
		dst = appendName(dst, "session_id", a.SessionID)
	}
	return dst
}

// appendCall appends the members that all events of a tool call have.
func appendCall(dst []byte, c *stream.Call, status string) []byte {
	dst = appendSpeaker(dst, &c.Attribution)
	dst = appendName(dst, "call_id", c.ID)
	dst = appendName(dst, "tool_name", c.Tool)
	dst = appendName(dst, "server", c.Server)
	dst = jsonline.Object(appendKey(dst, "arguments"), c.Arguments)
	return appendString(dst, "status", status)
}

// appendProgress leaves the total out if it is not known. JSON lacks NaN and infinity; such a
// progress becomes 0.
func appendProgress(dst []byte, ev *stream.ToolProgress) []byte {
	dst = appendNumber(appendCall(dst, &ev.Call, "progress"), "progress", ev.Progress)
	if ev.Total > 0 && !math.IsInf(ev.Total, 1) {
		dst = appendNumber(dst, "total", ev.Total)
	}
	if text := chat.Line(ev.Message, maxNote); text != "" {
		dst = appendString(dst, "message", text)
	}
	return dst
}

// appendCompleted appends a call that has ended well. Its result is cut to maxResult, and
// marked then; the model gets the result as the agent has it.
func appendCompleted(dst []byte, ev *stream.ToolCompleted) []byte {
	dst = appendDuration(appendCall(dst, &ev.Call, "completed"), "duration_ms", ev.Duration)
	text, cut := chat.Truncate(ev.Result, maxResult)
	dst = appendString(dst, "result", text)
	if cut || ev.Truncated {
		dst = append(dst, `,"truncated":true`...)
	}
	if ev.Cached {
		dst = append(dst, `,"cached":true`...)
	}
	return dst
}

// appendError appends the members of an error event.
func appendError(dst []byte, ev *stream.Error) []byte {
	dst = appendString(dst, "error_type", string(ev.Type))
	dst = appendString(dst, "message", ev.Message)
	dst = appendBool(dst, "recoverable", ev.Recoverable)
	dst = appendBool(dst, "fatal", ev.Fatal)
	if ev.RetryAfter > 0 { // rounded up: a client must not come back too early
		dst = appendDuration(dst, "retry_after_ms", ev.RetryAfter+time.Millisecond/2-1)
	}
	if ev.Service != "" {
		dst = appendName(dst, "service", ev.Service)
	}
	return dst
}

// appendDone appends the members of the last event: the whole text, the tools in the order of
// their calls, usage and times.
func (e *Data) appendDone(dst []byte, ev *stream.Done) []byte {
	t := &ev.Timings
	dst = e.appendJoined(dst, "final_output")
	dst = appendArray(appendKey(dst, "tools_called"), e.tools, jsonline.Name)
	dst = appendBool(dst, "success", ev.Reason.Success())
	dst = appendString(dst, "finish_reason", string(ev.Reason))
	dst = append(dst, `,"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(ev.Usage.InputTokens), 10)
	dst = appendInt(dst, "output_tokens", ev.Usage.OutputTokens)
	dst = appendInt(dst, "thinking_tokens", ev.Usage.ThinkingTokens)
	if ev.Keyed {
		dst = appendInt(dst, "cached_tokens", ev.Usage.CachedTokens)
		if ev.Usage.WrittenTokens > 0 {
			dst = appendInt(dst, "cache_write_tokens", ev.Usage.WrittenTokens)
		}
	}
	if ev.Usage.Estimated && (ev.Keyed || ev.Takeovers > 0) {
		dst = appendBool(dst, "estimated", true)
	}
	dst = append(dst, '}')
	if ev.Takeovers > 0 {
		dst = appendInt(dst, "takeovers", ev.Takeovers)
	}
	if len(ev.Seams) > 0 {
		dst = appendValue(dst, "seams", ev.Seams)
	}
	if len(ev.Models) > 0 {
		dst = appendArray(appendKey(dst, "models"), ev.Models, jsonline.Name)
	}
	dst = append(dst, `,"timings":{"total_ms":`...)
	dst = appendMillis(dst, t.Total)
	dst = appendDuration(dst, "first_event_ms", t.FirstEvent)
	if t.FirstDelta > 0 {
		dst = appendDuration(dst, "first_delta_ms", t.FirstDelta)
	}
	dst = append(dst, `,"model_ms":[`...)
	for i, d := range ev.Model {
		dst = appendMillis(appendComma(dst, i), d)
	}
	dst = append(dst, `],"tools":[`...)
	for i, tool := range ev.Tools {
		dst = append(appendComma(dst, i), `{"tool_name":`...)
		dst = appendDuration(jsonline.Name(dst, tool.Tool), "ms", tool.Duration)
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if ev.Route > 0 {
		dst = appendDuration(dst, "route_ms", ev.Route)
	}
	dst = appendDuration(dst, "write_blocked_ms", t.Blocked)
	return appendChecks(appendAgents(append(dst, '}'), ev.Agents), ev)
}

// appendChecks appends what became of an answer that was checked or formatted.
func appendChecks(dst []byte, ev *stream.Done) []byte {
	if ev.Quality != nil {
		dst = appendValue(dst, "quality", ev.Quality)
	}
	if ev.Channel != nil {
		dst = appendValue(dst, "channel", ev.Channel)
	}
	return dst
}

// appendAgents appends the outcome of each agent of a team. Without a team it appends nothing.
func appendAgents(dst []byte, outcomes []stream.AgentOutcome) []byte {
	if outcomes == nil {
		return dst
	}
	dst = append(dst, `,"agents":[`...)
	for i := range outcomes {
		dst, _ = jsonline.Value(appendComma(dst, i), &outcomes[i])
	}
	return append(dst, ']')
}

// appendKey appends a comma and a name, a constant without characters to escape. All members but
// the first of an object come through it.
func appendKey(dst []byte, name string) []byte {
	dst = append(append(dst, ',', '"'), name...)
	return append(dst, '"', ':')
}

// appendValue appends a member of any other type as its JSON, or null if it cannot be encoded.
func appendValue(dst []byte, name string, v any) []byte {
	dst = appendKey(dst, name)
	if with, err := jsonline.Value(dst, v); err == nil {
		return with
	}
	return append(dst, "null"...)
}

// appendString appends a member whose value is a text, escaped so that it stays on one line.
func appendString(dst []byte, name, value string) []byte {
	return jsonline.String(appendKey(dst, name), value)
}

// appendName is appendString for the name or id of something.
func appendName(dst []byte, member, value string) []byte {
	return jsonline.Name(appendKey(dst, member), value)
}

// appendBool appends a member that is true or false.
func appendBool(dst []byte, name string, value bool) []byte {
	return strconv.AppendBool(appendKey(dst, name), value)
}

// appendInt appends a member that is a whole number.
func appendInt(dst []byte, name string, value int) []byte {
	return strconv.AppendInt(appendKey(dst, name), int64(value), 10)
}

// appendNumber writes whole numbers without a fraction or an exponent, as clients would.
func appendNumber(dst []byte, name string, value float64) []byte {
	dst = appendKey(dst, name)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return append(dst, '0')
	}
	if abs := math.Abs(value); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, value, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, value, 'f', -1, 64)
}

// appendDuration appends a time in milliseconds, rounded.
func appendDuration(dst []byte, name string, d time.Duration) []byte {
	return appendMillis(appendKey(dst, name), d)
}

// appendMillis rounds to whole milliseconds: clients decode them into integers.
func appendMillis(dst []byte, d time.Duration) []byte {
	return strconv.AppendInt(dst, d.Round(time.Millisecond).Milliseconds(), 10)
}

// appendArray appends an array of texts or names.
func appendArray(dst []byte, list []string, add func(dst []byte, s string) []byte) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		dst = add(appendComma(dst, i), s)
	}
	return append(dst, ']')
}

// appendComma separates element i of an array from the one before.
func appendComma(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return dst
}
