package aisdk

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// request is a body that was read.
type request struct {
	request chat.Request
	taskID  string
	mode    dialect.Mode
	runsOn  bool         // nothing is said of leaving
	answer  *chat.Answer // nil: the request asks for a turn
	facts   facts
	passed  []string // the calls whose answers do not count
}

// isShared says whether a field of our own protocol counts here too.
func isShared(name string) bool {
	return !slices.Contains([]string{"input", "history", "approval", "accumulated", "heartbeat"}, name)
}

// memberNames are the members that are read.
func memberNames() []string {
	return append(slices.DeleteFunc(chat.FieldNames(false), func(name string) bool { return !isShared(name) }), "id", "messages", "tools", "approvals")
}

// reader reads the members of a body.
type reader struct {
	members map[string]jsontext.Value
	// offered are the names of the tools that the client offers.
	offered map[string]bool
	// questions are the calls of the last message that a person was asked about.
	questions []question
	// passed are the calls of earlier messages with an answer that no turn has read.
	passed []string
	e      *chat.ValidationError
}

// addFault adds a fault at a JSON pointer.
func (r *reader) addFault(at, code, message string) {
	r.e.Add(at, &chat.FieldError{Code: code, Message: message})
}

// readRequest reads a body. Faults of the body go to e.
func (s *Server) readRequest(body []byte, e *chat.ValidationError) (q request) {
	r := &reader{e: e, offered: map[string]bool{}}
	var ok bool
	if r.members, ok = chat.Members(body, memberNames(), e); !ok {
		return q
	}
	r.readNative(&q, s.cfg.Rules.Stored)
	talk := dialect.Talk{Root: "/messages", Counted: true, Tools: r.readTools(r.members["tools"])}
	q.facts.Mute = !isAbsent(r.members["approvals"]) && !r.readFlag("/approvals", r.members["approvals"])
	q.request.Mute = q.facts.Mute
	before := len(e.Fields)
	talk.Messages, q.facts.Continues = r.readMessages(r.members["messages"])
	q.answer, q.passed = r.readAnswer("/messages"), r.passed
	switch {
	case len(e.Fields) > before: // the messages would be at fault again, for the same reason
	case q.answer != nil:
		q.facts.Reported = dialect.ReportedBefore(q.answer, talk.Messages)
		if len(q.facts.encodeFacts()) > dialect.MaxFacts {
			r.addFault("/messages", chat.CodeTooLong, "continue with more calls than can be kept")
		}
	default:
		s.cfg.Rules.Compose(&q.request, talk, e)
	}
	return q
}

// readNative reads the fields of our own protocol. The client's id of the chat, if given, is the
// conversation.
func (r *reader) readNative(q *request, stored bool) {
	asked := chat.SharedFields(r.members, "", isShared, r.e)
	q.request, q.taskID = asked.Request, asked.TaskID
	q.runsOn = asked.OnDisconnect == ""
	if id := dialect.ConversationID(r.readText("/id", r.members["id"], false), "/id", r.e); id != "" {
		q.request.ConversationID = id
	}
	continues := asked.OnDisconnect == chat.OnDisconnectContinue
	if continues || q.request.Workflow != "" && asked.OnDisconnect == "" {
		q.mode = dialect.Detached
	}
	if !stored {
		r.refuseStored(q.taskID != "", continues)
	}
}

// refuseStored refuses the fields that need a store, as this gateway runs without one.
func (r *reader) refuseStored(task, continues bool) {
	const none = "needs a store, and this gateway has none (SLUICE_STORE)"
	if task {
		r.addFault("/task_id", chat.CodeNotConfigured, none)
	}
	if continues {
		r.addFault("/on_disconnect", chat.CodeNotConfigured, none)
	}
}

// isAbsent says whether a member is absent, which null is too.
func isAbsent(v jsontext.Value) bool { return v == nil || v.Kind() == 'n' }

// readText reads a string.
func (r *reader) readText(at string, v jsontext.Value, required bool) string {
	switch {
	case isAbsent(v):
		if required {
			r.addFault(at, chat.CodeRequired, "is required")
		}
	case v.Kind() != '"':
		r.addFault(at, chat.CodeWrongType, "must be a string")
	default:
		return dialect.Text(v)
	}
	return ""
}

// readFlag reads true or false.
func (r *reader) readFlag(at string, v jsontext.Value) bool {
	if !isAbsent(v) && v.Kind() != 't' && v.Kind() != 'f' {
		r.addFault(at, chat.CodeWrongType, "must be true or false")
	}
	return !isAbsent(v) && v.Kind() == 't'
}

// readObject returns the members of an object. It adds a fault and returns nil if the object is
// absent.
func (r *reader) readObject(at string, v jsontext.Value) map[string]jsontext.Value {
	switch {
	case isAbsent(v):
		r.addFault(at, chat.CodeRequired, "is required")
		return nil
	case v.Kind() != '{':
		r.addFault(at, chat.CodeWrongType, "must be an object")
		return nil
	}
	return dialect.Object(v)
}

// readList returns the values of an array, or nil if it is absent.
func (r *reader) readList(at string, v jsontext.Value, required bool) (all []jsontext.Value) {
	switch {
	case isAbsent(v):
		if required {
			r.addFault(at, chat.CodeRequired, "is required")
		}
		return nil
	case v.Kind() != '[':
		r.addFault(at, chat.CodeWrongType, "must be an array")
		return nil
	}
	return dialect.List(v)
}

// readTools reads the tools that the client runs, in the shape of Chat Completions.
func (r *reader) readTools(v jsontext.Value) []chat.ClientTool {
	var all dialect.Tools
	for i, item := range r.readList("/tools", v, false) {
		at := "/tools/" + strconv.Itoa(i)
		members := r.readObject(at, item)
		if members == nil {
			continue
		}
		if kind := r.readText(at+"/type", members["type"], true); kind != "function" {
			if kind != "" {
				r.addFault(at+"/type", chat.CodeUnsupported, "must be function")
			}
			continue
		}
		at += "/function"
		f := r.readObject(at, members["function"])
		if f == nil {
			continue
		}
		name := r.readText(at+"/name", f["name"], true)
		r.offered[name] = true
		all.Add(name, r.readText(at+"/description", f["description"], false), f["parameters"], at, at+"/name", at+"/parameters", r.e)
	}
	return all.All()
}
