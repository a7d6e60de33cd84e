package openai

import (
	"strconv"
	"strings"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/jsonline"
	"sluice/internal/turn/chat"
	"sluice/stream"
	"sluice/stream/sse"
)

// maxResult is how many bytes of a tool's result an item carries, as in the native protocol.
const maxResult = 2 << 10

// responseForm says what of a response is written.
type responseForm int

const (
	asStream   responseForm = iota
	asDocument              // the response as a whole, at its end
	asBegun                 // the same, when the turn begins
)

// responder writes a turn as the events of a response, or as the response. Its output depends only
// on the request's facts, the time at which it began, and the events. Each item of the output is
// held once, as the JSON that the last event repeats.
type responder struct {
	requestID string
	began     time.Time
	echo      []byte // members of the response that repeat the request, each behind a comma
	wanted    bool   // the response is kept, if its turn is
	answered  map[string]string
	form      responseForm

	id       string
	isStored bool   // the turn is
	seed     string // of the ids of items
	seq      int    // the number of the next event

	items       [][]byte // of the output; nil: not complete
	stretch     stretch
	speaker     stream.Attribution  // of the last stretch
	calls       map[string]openCall // of the gateway's tools
	hasQuestion bool                // a question is in the output

	failure   *stream.Error // fatal
	doneEvent *stream.Done  // nil until the turn has ended
	scratch   []byte        // takes the frames that a document does not need
}

// kind is the content of a stretch.
type kind int

const (
	noStretch kind = iota
	text
	thought
)

// stretch is the item of text or thoughts that is open.
type stretch struct {
	kind kind
	openCall
	item []byte // so far
	part int    // where its part begins in item
	text int    // where the text of that begins
	head []byte // a delta's frame up to its number
	tail []byte // and from there up to the delta
}

// openCall is the place of an item in the output.
type openCall struct {
	index int
	id    string
}

func newResponder(requestID string, began time.Time, f responseFacts, form responseForm) *responder {
	return &responder{requestID: requestID, began: began, echo: f.echo, wanted: f.store, answered: f.answered, form: form}
}

// Heartbeat returns a comment, or nil for a document.
func (e *responder) Heartbeat() []byte {
	if e.form != asStream {
		return nil
	}
	return sse.Ping()
}

// Encode appends the events of ev, or the response.
func (e *responder) Encode(dst []byte, _ stream.Stamp, ev stream.Event) []byte {
	if e.form == asStream {
		return e.encodeEvent(dst, ev)
	}
	e.scratch = e.encodeEvent(e.scratch[:0], ev)
	switch ev := ev.(type) {
	case *stream.Start:
		if e.form == asBegun {
			return e.appendResponse(dst, "in_progress", nil)
		}
	case *stream.Done:
		if e.form == asDocument {
			return e.appendResponse(dst, e.statusAtEnd(ev), ev)
		}
	}
	return dst
}

// encodeEvent appends the events of ev. Most events add nothing.
func (e *responder) encodeEvent(dst []byte, ev stream.Event) []byte {
	switch ev := ev.(type) {
	case *stream.Delta:
		return e.appendDelta(e.openStretch(dst, text, &ev.Attribution), ev.Text)
	case *stream.Thinking:
		return e.appendDelta(e.openStretch(dst, thought, &ev.Attribution), ev.Content)
	case *stream.Start:
		return e.startResponse(dst, ev)
	case *stream.ToolStarted:
		return e.startCall(dst, &ev.Call)
	case *stream.ToolCompleted:
		result, _ := chat.Truncate(ev.Result, maxResult)
		return e.endCall(dst, &ev.Call, "completed", result)
	case *stream.ToolFailed:
		return e.endCall(dst, &ev.Call, "failed", ev.Message)
	case *stream.ToolUnknown:
		return e.endCall(dst, &ev.Call, "incomplete", ev.Message)
	case *stream.ToolRequired:
		return e.requireCall(dst, &ev.Call)
	case *stream.Approval:
		return e.appendQuestion(dst, ev)
	case *stream.Error:
		if ev.Fatal {
			e.failure = ev
		}
	case *stream.Done:
		return e.endResponse(dst, ev)
	}
	return dst
}

// startResponse gives the response its id. The id of a stored turn's response contains the id of
// the turn.
func (e *responder) startResponse(dst []byte, ev *stream.Start) []byte {
	if e.seed = strings.TrimPrefix(ev.TurnID, chat.TurnPrefix); e.seed == "" {
		e.seed = chat.CallSeed("", e.requestID, e.began)
	}
	e.id, e.isStored = responsePrefix+e.seed, ev.TurnID != ""
	for _, event := range []string{"response.created", "response.in_progress"} {
		dst = append(e.beginFrame(dst, event), `,"response":`...)
		dst = append(e.appendResponse(dst, "in_progress", nil), "}\n\n"...)
	}
	return dst
}

// beginFrame begins a frame with its number.
func (e *responder) beginFrame(dst []byte, event string) []byte {
	dst = append(append(append(dst, "event: "...), event...), "\ndata: {\"type\":\""...)
	dst = append(append(dst, event...), `","sequence_number":`...)
	dst = strconv.AppendInt(dst, int64(e.seq), 10)
	e.seq++
	return dst
}

// beginItemFrame begins a frame about an item.
func (e *responder) beginItemFrame(dst []byte, event string, c openCall) []byte {
	dst = jsonline.Name(append(e.beginFrame(dst, event), `,"item_id":`...), c.id)
	return strconv.AppendInt(append(dst, `,"output_index":`...), int64(c.index), 10)
}

// appendOutputEvent appends an event that has a whole item.
func (e *responder) appendOutputEvent(dst []byte, event string, index int, item []byte) []byte {
	dst = strconv.AppendInt(append(e.beginFrame(dst, event), `,"output_index":`...), int64(index), 10)
	return append(append(append(dst, `,"item":`...), item...), "}\n\n"...)
}

// addItem makes room for an item, whose id is not used yet.
func (e *responder) addItem(prefix string) openCall {
	c := openCall{index: len(e.items), id: prefix + e.seed + "_" + strconv.Itoa(len(e.items))}
	e.items = append(e.items, nil)
	return c
}

// openStretch opens a stretch of a kind and a speaker, unless it is open already. A piece without a
// speaker continues the last one's: it joins the texts of agents.
func (e *responder) openStretch(dst []byte, k kind, by *stream.Attribution) []byte {
	if *by == (stream.Attribution{}) {
		by = &e.speaker
	}
	if e.stretch.kind == k && *by == e.speaker {
		return dst
	}
	dst = e.endStretch(dst, "completed")
	e.speaker = *by
	if k == thought {
		return e.openThought(dst)
	}
	s := stretch{kind: text, openCall: e.addItem("msg_")}
	s.item = jsonline.Name(append(s.item, `{"id":`...), s.id)
	s.item = append(s.item, `,"type":"message","role":"assistant","content":[`...)
	dst = e.appendOutputEvent(dst, "response.output_item.added", s.index, append(s.item, `],"status":"in_progress"}`...))
	dst = append(e.beginItemFrame(dst, "response.content_part.added", s.openCall), ",\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[],\"logprobs\":[]}}\n\n"...)
	e.stretch = s.withHeads("response.output_text.delta", `,"content_index":0`, `{"type":"output_text","text":"`)
	return dst
}

// openThought opens a stretch of thoughts.
func (e *responder) openThought(dst []byte) []byte {
	s := stretch{kind: thought, openCall: e.addItem("rs_")}
	s.item = jsonline.Name(append(s.item, `{"id":`...), s.id)
	s.item = append(s.item, `,"type":"reasoning","summary":[`...)
	dst = e.appendOutputEvent(dst, "response.output_item.added", s.index, append(s.item, `],"status":"in_progress"}`...))
	dst = append(e.beginItemFrame(dst, "response.reasoning_summary_part.added", s.openCall), ",\"summary_index\":0,\"part\":{\"type\":\"summary_text\",\"text\":\"\"}}\n\n"...)
	e.stretch = s.withHeads("response.reasoning_summary_text.delta", `,"summary_index":0`, `{"type":"summary_text","text":"`)
	return dst
}

// withHeads returns the stretch with what its deltas repeat, and with the head of its part.
func (s stretch) withHeads(event, index, part string) stretch {
	s.head = []byte("event: " + event + "\ndata: {\"type\":\"" + event + `","sequence_number":`)
	s.tail = jsonline.Name([]byte(`,"item_id":`), s.id)
	s.tail = strconv.AppendInt(append(s.tail, `,"output_index":`...), int64(s.index), 10)
	s.tail = append(append(s.tail, index...), `,"delta":`...)
	s.part = len(s.item)
	s.item = append(s.item, part...)
	s.text = len(s.item)
	return s
}

// appendDelta appends a piece of the stretch that is open. It is escaped once.
func (e *responder) appendDelta(dst []byte, piece string) []byte {
	s := &e.stretch
	dst = strconv.AppendInt(append(dst, s.head...), int64(e.seq), 10)
	e.seq++
	dst = append(dst, s.tail...)
	from := len(dst) + 1
	dst = jsonline.String(dst, piece)
	s.item = append(s.item, dst[from:len(dst)-1]...)
	if s.kind == text {
		dst = append(dst, `,"logprobs":[]`...)
	}
	return append(dst, "}\n\n"...)
}

// endStretch ends the stretch that is open.
func (e *responder) endStretch(dst []byte, status string) []byte {
	s := &e.stretch
	if s.kind == noStretch {
		return dst
	}
	whole, event := `","annotations":[],"logprobs":[]}`, "response.content_part.done"
	head, index, more := "response.output_text.done", `,"content_index":0`, `","logprobs":[]`
	if s.kind == thought {
		whole, event = `"}`, "response.reasoning_summary_part.done"
		head, index, more = "response.reasoning_summary_text.done", `,"summary_index":0`, `"`
	}
	dst = append(append(e.beginItemFrame(dst, head, s.openCall), index...), `,"text":"`...)
	dst = append(append(append(dst, s.item[s.text:]...), more...), "}\n\n"...)
	s.item = append(s.item, whole...)
	dst = append(append(e.beginItemFrame(dst, event, s.openCall), index...), `,"part":`...)
	dst = append(append(dst, s.item[s.part:]...), "}\n\n"...)
	s.item = append(append(append(s.item, `],"status":"`...), status...), `"}`...)
	dst = e.closeItem(dst, s.index, s.item)
	e.stretch = stretch{}
	return dst
}

// closeItem puts a complete item into the output.
func (e *responder) closeItem(dst []byte, index int, item []byte) []byte {
	e.items[index] = item
	return e.appendOutputEvent(dst, "response.output_item.done", index, item)
}

// startCall appends a call that the gateway runs.
func (e *responder) startCall(dst []byte, c *stream.Call) []byte {
	dst = e.endStretch(dst, "completed")
	o := e.addItem("mcp_")
	if e.calls == nil {
		e.calls = map[string]openCall{}
	}
	e.calls[c.ID] = o
	dst = e.appendOutputEvent(dst, "response.output_item.added", o.index, e.mcpCall(o.id, c, nil, "in_progress", ""))
	dst = append(e.beginItemFrame(dst, "response.mcp_call.in_progress", o), "}\n\n"...)
	arguments := string(jsonline.Object(nil, c.Arguments))
	dst = append(e.beginItemFrame(dst, "response.mcp_call_arguments.delta", o), `,"delta":`...)
	dst = append(jsonline.String(dst, arguments), "}\n\n"...)
	dst = append(e.beginItemFrame(dst, "response.mcp_call_arguments.done", o), `,"arguments":`...)
	return append(jsonline.String(dst, arguments), "}\n\n"...)
}

// endCall appends the outcome of a call that the gateway ran.
func (e *responder) endCall(dst []byte, c *stream.Call, status, result string) []byte {
	o, ok := e.calls[c.ID]
	if !ok {
		return dst
	}
	dst = e.endStretch(dst, "completed")
	event := "response.mcp_call.failed"
	if status == "completed" {
		event = "response.mcp_call.completed"
	}
	dst = append(e.beginItemFrame(dst, event, o), "}\n\n"...)
	return e.closeItem(dst, o.index, e.mcpCall(o.id, c, jsonline.Object(nil, c.Arguments), status, result))
}

// mcpCall returns the item of a call that the gateway runs. The result of one that did not go
// well is its error. A call that a person has allowed names the question.
func (e *responder) mcpCall(id string, c *stream.Call, arguments []byte, status, result string) []byte {
	dst := jsonline.Name([]byte(`{"id":`), id)
	dst = append(append(append(dst, `,"type":"mcp_call","status":"`...), status...), `","server_label":`...)
	dst = appendServerLabel(dst, c.Server)
	dst = jsonline.Name(append(dst, `,"name":`...), c.Tool)
	dst = jsonline.String(append(dst, `,"arguments":`...), string(arguments))
	if question, ok := e.answered[c.ID]; ok {
		dst = jsonline.Name(append(dst, `,"approval_request_id":`...), question)
	}
	switch status {
	case "in_progress":
		return append(dst, `,"output":null,"error":null}`...)
	case "completed":
		return append(jsonline.String(append(dst, `,"output":`...), result), `,"error":null}`...)
	}
	dst = append(dst, `,"output":null,"error":{"type":"mcp_tool_execution_error","content":[{"type":"text","text":`...)
	return append(jsonline.String(dst, result), `}]}}`...)
}

// appendServerLabel appends the name of a tool's server, a required member.
func appendServerLabel(dst []byte, server string) []byte {
	if server == "" {
		server = gatewayModel
	}
	return jsonline.Name(dst, server)
}

// requireCall appends a call that the client is to run.
func (e *responder) requireCall(dst []byte, c *stream.Call) []byte {
	dst = e.endStretch(dst, "completed")
	o := e.addItem("fc_")
	arguments := string(jsonline.Object(nil, c.Arguments))
	item := func(arguments, status string) []byte {
		item := jsonline.Name([]byte(`{"id":`), o.id)
		item = jsonline.Name(append(item, `,"type":"function_call","call_id":`...), c.ID)
		item = jsonline.Name(append(item, `,"name":`...), c.Tool)
		item = jsonline.String(append(item, `,"arguments":`...), arguments)
		return append(append(append(item, `,"status":"`...), status...), `"}`...)
	}
	dst = e.appendOutputEvent(dst, "response.output_item.added", o.index, item("", "in_progress"))
	dst = append(e.beginItemFrame(dst, "response.function_call_arguments.delta", o), `,"delta":`...)
	dst = append(jsonline.String(dst, arguments), "}\n\n"...)
	dst = jsonline.Name(append(e.beginItemFrame(dst, "response.function_call_arguments.done", o), `,"name":`...), c.Tool)
	dst = append(jsonline.String(append(dst, `,"arguments":`...), arguments), "}\n\n"...)
	return e.closeItem(dst, o.index, item(arguments, "completed"))
}

// appendQuestion appends a question to a person: an item for each call that waits. A question
// without calls becomes a text, and is answered elsewhere. Only the first question is written, as
// one request answers one. The turn that continues asks the others.
func (e *responder) appendQuestion(dst []byte, q *stream.Approval) []byte {
	if len(q.Calls) == 0 {
		if q.Prompt == "" {
			return dst
		}
		dst = e.endStretch(dst, "completed")
		return e.endStretch(e.appendDelta(e.openStretch(dst, text, &stream.Attribution{}), q.Prompt), "completed")
	}
	if e.hasQuestion {
		return dst
	}
	e.hasQuestion = true
	dst = e.endStretch(dst, "completed")
	for i := range q.Calls {
		c := &q.Calls[i]
		item := jsonline.Name([]byte(`{"id":`), dialect.CallQuestion(q, i))
		item = appendServerLabel(append(item, `,"type":"mcp_approval_request","server_label":`...), c.Server)
		item = jsonline.Name(append(item, `,"name":`...), c.Tool)
		item = jsonline.String(append(item, `,"arguments":`...), string(jsonline.Object(nil, c.Arguments)))
		item = append(item, '}')
		o := e.addItem("mcpr_")
		dst = e.appendOutputEvent(dst, "response.output_item.added", o.index, item)
		dst = e.closeItem(dst, o.index, item)
	}
	return dst
}

// endResponse ends the response, whatever is still open in it.
func (e *responder) endResponse(dst []byte, ev *stream.Done) []byte {
	e.doneEvent = ev
	status, items := e.statusAtEnd(ev), "completed"
	if status != "completed" {
		items = "incomplete"
	}
	dst = e.endStretch(dst, items)
	event := "response." + status
	if status == "cancelled" { // the protocol lacks an event for it
		event = "response.failed"
	}
	dst = append(e.beginFrame(dst, event), `,"response":`...)
	return append(e.appendResponse(dst, status, ev), "}\n\n"...)
}

// statusAtEnd returns how a response has ended.
func (e *responder) statusAtEnd(ev *stream.Done) string {
	switch {
	case e.failure != nil && hasWords(e.failure.Type), ev.Reason == stream.MaxTokens:
		return "incomplete"
	case e.failure != nil && e.failure.Type == fault.Cancelled:
		return "cancelled"
	case e.failure != nil || !ev.Reason.Success():
		return "failed"
	}
	return "completed"
}

// appendResponse appends the response as it is. ev is nil as long as it has not ended.
func (e *responder) appendResponse(dst []byte, status string, ev *stream.Done) []byte {
	dst = jsonline.Name(append(dst, `{"id":`...), e.id)
	dst = append(dst, `,"object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, max(e.began.Unix(), 0), 10)
	dst = append(append(append(dst, `,"status":"`...), status...), `","error":`...)
	dst = e.appendError(dst, status)
	switch {
	case status != "incomplete":
		dst = append(dst, `,"incomplete_details":null`...)
	case e.failure != nil:
		dst = append(dst, `,"incomplete_details":{"reason":"content_filter"}`...)
	default:
		dst = append(dst, `,"incomplete_details":{"reason":"max_output_tokens"}`...)
	}
	dst = append(dst, e.echo...)
	dst = append(strconv.AppendBool(append(dst, `,"store":`...), e.wanted && e.isStored), `,"output":[`...)
	first := true
	for _, item := range e.items {
		if item == nil {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		dst, first = append(dst, item...), false
	}
	if ev == nil {
		return append(dst, `],"usage":null}`...)
	}
	return append(appendResponseUsage(append(dst, ']'), &ev.Usage), '}')
}

// finalResponse returns the response as it has ended; nil before the end of the turn, as far as the
// encoder has seen.
func (e *responder) finalResponse() []byte {
	if e.doneEvent == nil {
		return nil
	}
	return e.appendResponse(nil, e.statusAtEnd(e.doneEvent), e.doneEvent)
}

// appendError appends why a response has failed.
func (e *responder) appendError(dst []byte, status string) []byte {
	if status != "failed" && status != "cancelled" {
		return append(dst, "null"...)
	}
	code, message := "server_error", "The turn has ended without an answer"
	if e.failure != nil {
		if message = e.failure.Message; e.failure.Type == fault.ModelRateLimited {
			code = "rate_limit_exceeded"
		}
	}
	dst = append(append(append(dst, `{"code":"`...), code...), `","message":`...)
	return append(jsonline.String(dst, message), '}')
}

// appendResponseUsage appends the tokens that the turn has used.
func appendResponseUsage(dst []byte, u *chat.Usage) []byte {
	count := func(name string, n int) {
		dst = strconv.AppendInt(append(dst, name...), int64(n), 10)
	}
	output := u.OutputTokens + u.ThinkingTokens
	count(`,"usage":{"input_tokens":`, u.InputTokens)
	count(`,"input_tokens_details":{"cached_tokens":`, u.CachedTokens)
	count(`,"cache_write_tokens":`, u.WrittenTokens)
	count(`},"output_tokens":`, output)
	count(`,"output_tokens_details":{"reasoning_tokens":`, u.ThinkingTokens)
	count(`},"total_tokens":`, u.InputTokens+output)
	return append(dst, '}')
}
