// Package native writes what events say as members of one JSON object, in the words of our own
// protocol (docs/events.md). That protocol puts them into its frames, and others into the part
// that they have for what is not theirs.
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

// Data is what the last event of a turn repeats of those before it. The zero value is that of a
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
		e.reset(ev)
	case *stream.ToolStarted:
		e.tools = append(e.tools, ev.Tool)
	}
}

// reset sets the text to what stays of it.
func (e *Data) reset(ev *stream.Reset) {
	e.text, e.pieces, e.odd = nil, nil, nil
	if ev.Accumulated != "" {
		e.Skip(&stream.Delta{Text: ev.Accumulated})
	}
}

// Append appends the members of ev, with a comma in front of each. ok is false, and nothing
// appended, if it is an extension whose JSON is no object, or not of the vocabulary.
func (e *Data) Append(dst []byte, ev stream.Event) (_ []byte, ok bool) {
	switch ev := ev.(type) {
	case *stream.Delta:
		dst = e.delta(attributed(dst, &ev.Attribution), ev)
	case *stream.Start:
		dst = start(dst, ev)
	case *stream.Thinking:
		dst = str(attributed(dst, &ev.Attribution), "content", ev.Content)
	case *stream.ToolStarted:
		e.tools = append(e.tools, ev.Tool)
		dst = call(dst, &ev.Call, "in_progress")
	case *stream.ToolProgress:
		dst = progress(dst, ev)
	case *stream.ToolCompleted:
		dst = completed(dst, ev)
	case *stream.ToolFailed:
		dst = call(dst, &ev.Call, "failed")
		dst = str(millis(dst, "duration_ms", ev.Duration), "error", ev.Message)
		if ev.ErrorType != "" {
			dst = str(dst, "error_type", string(ev.ErrorType))
		}
	case *stream.ToolUnknown:
		dst = call(dst, &ev.Call, "unknown")
		dst = str(millis(dst, "duration_ms", ev.Duration), "error", ev.Message)
	case *stream.ToolRequired:
		dst = call(dst, &ev.Call, "client_required")
	case *stream.Error:
		dst = failure(attributed(dst, &ev.Attribution), ev)
	case *stream.Done:
		dst = e.done(dst, ev)
	case *stream.Reset:
		e.reset(ev)
		return extension(dst, ev)
	case stream.Extension:
		return extension(dst, ev)
	default:
		return dst, false
	}
	return dst, true
}

// extension appends the JSON members of an extension.
func extension(dst []byte, ev stream.Extension) (_ []byte, ok bool) {
	members, err := jsonline.Value(nil, ev)
	if err != nil || len(members) < 2 || members[0] != '{' {
		return dst, false
	}
	if len(members) > 2 { // not {}
		dst = append(append(dst, ','), members[1:len(members)-1]...)
	}
	return dst, true
}

// delta escapes the new text once: what is repeated of the text before is copied.
func (e *Data) delta(dst []byte, ev *stream.Delta) []byte {
	dst = append(dst, `,"delta":`...)
	from := len(dst) + 1
	dst = jsonline.String(dst, ev.Text)
	if !e.Accumulate {
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
func (e *Data) joined(dst []byte, name string) []byte {
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
func (e *Data) done(dst []byte, ev *stream.Done) []byte {
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
	}
	if ev.Usage.Estimated && (ev.Keyed || ev.Takeovers > 0) {
		dst = boolean(dst, "estimated", true)
	}
	dst = append(dst, '}')
	if ev.Takeovers > 0 {
		dst = integer(dst, "takeovers", ev.Takeovers)
	}
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
