package agui

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

const (
	maxID      = 256    // bytes of threadId and runId
	maxContext = 16_000 // code points of all entries
)

// input is a RunAgentInput that was read.
type input struct {
	request    chat.Request
	facts      facts
	answer     *chat.Answer // nil: the request asks for a turn
	taskID     string
	disconnect string
}

// mode says what becomes of the turn without its client: in this protocol leaving is the stop
// button. A run of a workflow is none, and continues unless the request says otherwise.
func (in *input) mode() dialect.Mode {
	if in.disconnect == chat.OnDisconnectContinue || in.disconnect == "" && in.request.Workflow != "" {
		return dialect.Detached
	}
	return dialect.Attached
}

// reader reads the members of a body. Faults go to e.
type reader struct{ e *chat.ValidationError }

// fault adds a fault at a JSON pointer.
func (r reader) fault(at, code, message string) {
	r.e.Add(at, &chat.FieldError{Code: code, Message: message})
}

// read reads a body. state, parentRunId and protocolVersion count for nothing.
func (s *Server) read(body []byte, e *chat.ValidationError) (in input) {
	r := reader{e}
	members, ok := chat.Members(body, []string{"threadId", "runId", "messages", "tools", "context", "forwardedProps", "resume"}, e)
	if !ok {
		return in
	}
	r.forwarded(members["forwardedProps"], s.cfg.Rules.Stored, &in)
	in.facts = facts{Thread: r.id("/threadId", members["threadId"]), Run: r.id("/runId", members["runId"])}
	in.request.ConversationID = dialect.ConversationID(in.facts.Thread, "/threadId", e)
	if in.answer = r.resumed(members["resume"]); in.answer != nil {
		r.continued(&in, members["messages"])
		return in
	}
	talk := dialect.Talk{Root: "/messages", Messages: r.messages(members["messages"]), Tools: r.tools(members["tools"])}
	quote, dropped := r.context(members["context"])
	s.cfg.Rules.Compose(&in.request, talk, e)
	in.request.Data = quote
	in.request.Pruning.Context = dropped
	return in
}

// continued reads what an answer needs of the thread: which calls it has already. The turn that
// continues has the rest.
func (r reader) continued(in *input, messages jsontext.Value) {
	in.facts.Reported = dialect.ReportedBefore(in.answer, r.messages(messages))
	if len(in.facts.text()) > dialect.MaxFacts {
		r.fault("/resume", chat.CodeTooLong, "continues with more calls than can be kept")
	}
}

// id reads an id of the client's.
func (r reader) id(at string, v jsontext.Value) string {
	id := r.text(at, v, true)
	if len(id) > maxID {
		r.fault(at, chat.CodeTooLong, "must have at most 256 bytes")
		return ""
	}
	return id
}

// forwarded reads the fields of a native request that an application sends along. What the
// protocol has a place of its own for is not among them.
func (r reader) forwarded(v jsontext.Value, stored bool, in *input) {
	const at = "/forwardedProps"
	asked := chat.SharedFields(r.object(at, v), at, func(name string) bool {
		return !slices.Contains([]string{"input", "history", "approval", "accumulated", "conversation_id"}, name)
	}, r.e)
	in.request, in.taskID, in.disconnect = asked.Request, asked.TaskID, asked.OnDisconnect
	if stored {
		return
	}
	const needs = "needs a store, and this gateway has none (SLUICE_STORE)"
	if in.taskID != "" {
		r.fault(at+"/task_id", chat.CodeNotConfigured, needs)
	}
	if in.disconnect == chat.OnDisconnectContinue {
		r.fault(at+"/on_disconnect", chat.CodeNotConfigured, needs)
	}
}

// cutMark ends an entry of the context that is longer than there is room for.
const cutMark = " […]"

// context reads what the application says of the circumstances: data for agents to read. What
// exceeds the room for all is left out, and dropped counts the entries that are not whole.
func (r reader) context(v jsontext.Value) (quotes []chat.Quote, dropped int) {
	var lines []string
	room := maxContext
	for i, item := range r.list("/context", v) {
		at := "/context/" + strconv.Itoa(i)
		members := r.object(at, item)
		line := r.text(at+"/description", members["description"], false)
		if value := r.text(at+"/value", members["value"], false); line == "" {
			line = value
		} else {
			line += ": " + value
		}
		if line == "" {
			continue
		}
		if n := utf8.RuneCountInString(line); n > room {
			dropped++
			line = cut(line, room)
		}
		if line != "" {
			lines, room = append(lines, line), room-utf8.RuneCountInString(line)
		}
	}
	if len(lines) == 0 {
		return nil, dropped
	}
	// A quote marks each line, so its limit leaves room for as many as there can be.
	return []chat.Quote{{About: "What the client's page says of the circumstances", Text: strings.Join(lines, "\n"), Limit: 8 * maxContext}}, dropped
}

// cut returns the beginning of s that has most code points with the mark; empty: not even the
// mark has room.
func cut(s string, most int) string {
	most -= utf8.RuneCountInString(cutMark)
	if most <= 0 {
		return ""
	}
	for i := range s {
		if most == 0 {
			return s[:i] + cutMark
		}
		most--
	}
	return s
}

// tools reads the tools that the client runs.
func (r reader) tools(v jsontext.Value) []chat.ClientTool {
	var all dialect.Tools
	for i, item := range r.list("/tools", v) {
		at := "/tools/" + strconv.Itoa(i)
		m := r.object(at, item)
		all.Add(r.text(at+"/name", m["name"], true), r.text(at+"/description", m["description"], false), m["parameters"], at, at+"/name", at+"/parameters", r.e)
	}
	return all.All()
}

// none says whether a member is absent, which null is too.
func none(v jsontext.Value) bool { return v == nil || v.Kind() == 'n' }

// text reads a string.
func (r reader) text(at string, v jsontext.Value, required bool) string {
	switch {
	case none(v) && required:
		r.fault(at, chat.CodeRequired, "is required")
	case none(v):
	case v.Kind() != '"':
		r.fault(at, chat.CodeWrongType, "must be a string")
	default:
		text := dialect.Text(v)
		if required && text == "" {
			r.fault(at, chat.CodeBlank, "must not be empty")
		}
		return text
	}
	return ""
}

// object reads an object; nil if there is none.
func (r reader) object(at string, v jsontext.Value) map[string]jsontext.Value {
	if none(v) {
		return nil
	}
	if v.Kind() != '{' {
		r.fault(at, chat.CodeWrongType, "must be an object")
		return nil
	}
	return dialect.Object(v)
}

// list reads an array; nil if there is none.
func (r reader) list(at string, v jsontext.Value) (all []jsontext.Value) {
	if none(v) {
		return nil
	}
	if v.Kind() != '[' {
		r.fault(at, chat.CodeWrongType, "must be an array")
		return nil
	}
	return dialect.List(v)
}
