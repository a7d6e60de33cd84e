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
// button. A run of a workflow continues unless the request forbids it.
func (in *input) mode() dialect.Mode {
	if in.disconnect == chat.OnDisconnectContinue || in.disconnect == "" && in.request.Workflow != "" {
		return dialect.Detached
	}
	return dialect.Attached
}

// reader reads the members of a body. Faults go to e.
type reader struct{ e *chat.ValidationError }

// addFault adds a fault at a JSON pointer.
func (r reader) addFault(at, code, message string) {
	r.e.Add(at, &chat.FieldError{Code: code, Message: message})
}

// readInput reads a body. state, parentRunId and protocolVersion count for nothing.
func (s *Server) readInput(body []byte, e *chat.ValidationError) (in input) {
	r := reader{e}
	members, ok := chat.Members(body, []string{"threadId", "runId", "messages", "tools", "context", "forwardedProps", "resume"}, e)
	if !ok {
		return in
	}
	r.readForwarded(members["forwardedProps"], s.cfg.Rules.Stored, &in)
	in.facts = facts{Thread: r.readID("/threadId", members["threadId"]), Run: r.readID("/runId", members["runId"])}
	in.request.ConversationID = dialect.ConversationID(in.facts.Thread, "/threadId", e)
	if in.answer = r.readAnswers(members["resume"]); in.answer != nil {
		r.readContinued(&in, members["messages"])
		return in
	}
	talk := dialect.Talk{Root: "/messages", Messages: r.readMessages(members["messages"]), Tools: r.readTools(members["tools"])}
	quote, dropped := r.readContext(members["context"])
	s.cfg.Rules.Compose(&in.request, talk, e)
	in.request.Data = quote
	in.request.Pruning.Context = dropped
	return in
}

// readContinued reads the calls that the thread has already, for an answer. The turn that continues
// has the rest.
func (r reader) readContinued(in *input, messages jsontext.Value) {
	in.facts.Reported = dialect.ReportedBefore(in.answer, r.readMessages(messages))
	if len(in.facts.encodeFacts()) > dialect.MaxFacts {
		r.addFault("/resume", chat.CodeTooLong, "continues with more calls than can be kept")
	}
}

// readID reads an id of the client's.
func (r reader) readID(at string, v jsontext.Value) string {
	id := r.readText(at, v, true)
	if len(id) > maxID {
		r.addFault(at, chat.CodeTooLong, "must have at most 256 bytes")
		return ""
	}
	return id
}

// readForwarded reads the fields of a native request that an application sends along. Fields for which
// the protocol has a member are not among them.
func (r reader) readForwarded(v jsontext.Value, stored bool, in *input) {
	const at = "/forwardedProps"
	asked := chat.SharedFields(r.readObject(at, v), at, func(name string) bool {
		return !slices.Contains([]string{"input", "history", "approval", "accumulated", "heartbeat", "conversation_id"}, name)
	}, r.e)
	in.request, in.taskID, in.disconnect = asked.Request, asked.TaskID, asked.OnDisconnect
	if stored {
		return
	}
	const needs = "needs a store, and this gateway has none (SLUICE_STORE)"
	if in.taskID != "" {
		r.addFault(at+"/task_id", chat.CodeNotConfigured, needs)
	}
	if in.disconnect == chat.OnDisconnectContinue {
		r.addFault(at+"/on_disconnect", chat.CodeNotConfigured, needs)
	}
}

// cutMark ends an entry of the context that is longer than there is room for.
const cutMark = " […]"

// readContext reads the application's description of the circumstances, as data for agents. Text
// beyond the bound is left out, and dropped counts the shortened entries.
func (r reader) readContext(v jsontext.Value) (quotes []chat.Quote, dropped int) {
	var lines []string
	room := maxContext
	for i, item := range r.readList("/context", v) {
		at := "/context/" + strconv.Itoa(i)
		members := r.readObject(at, item)
		line := r.readText(at+"/description", members["description"], false)
		if value := r.readText(at+"/value", members["value"], false); line == "" {
			line = value
		} else {
			line += ": " + value
		}
		if line == "" {
			continue
		}
		if n := utf8.RuneCountInString(line); n > room {
			dropped++
			line = cutText(line, room)
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

// cutText returns the beginning of s that has most code points with the mark; empty: not even the
// mark has room.
func cutText(s string, most int) string {
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

// readTools reads the tools that the client runs.
func (r reader) readTools(v jsontext.Value) []chat.ClientTool {
	var all dialect.Tools
	for i, item := range r.readList("/tools", v) {
		at := "/tools/" + strconv.Itoa(i)
		m := r.readObject(at, item)
		all.Add(r.readText(at+"/name", m["name"], true), r.readText(at+"/description", m["description"], false), m["parameters"], at, at+"/name", at+"/parameters", r.e)
	}
	return all.All()
}

// isAbsent says whether a member is absent, which null is too.
func isAbsent(v jsontext.Value) bool { return v == nil || v.Kind() == 'n' }

// readText reads a string.
func (r reader) readText(at string, v jsontext.Value, required bool) string {
	switch {
	case isAbsent(v) && required:
		r.addFault(at, chat.CodeRequired, "is required")
	case isAbsent(v):
	case v.Kind() != '"':
		r.addFault(at, chat.CodeWrongType, "must be a string")
	default:
		text := dialect.Text(v)
		if required && text == "" {
			r.addFault(at, chat.CodeBlank, "must not be empty")
		}
		return text
	}
	return ""
}

// readObject returns the members of an object, or nil if it is absent.
func (r reader) readObject(at string, v jsontext.Value) map[string]jsontext.Value {
	if isAbsent(v) {
		return nil
	}
	if v.Kind() != '{' {
		r.addFault(at, chat.CodeWrongType, "must be an object")
		return nil
	}
	return dialect.Object(v)
}

// readList returns the values of an array, or nil if it is absent.
func (r reader) readList(at string, v jsontext.Value) (all []jsontext.Value) {
	if isAbsent(v) {
		return nil
	}
	if v.Kind() != '[' {
		r.addFault(at, chat.CodeWrongType, "must be an array")
		return nil
	}
	return dialect.List(v)
}
