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

// shared says whether a field of our own protocol counts here too.
func shared(name string) bool {
	return !slices.Contains([]string{"input", "history", "approval", "accumulated"}, name)
}

// fields are the members that are read.
func fields() []string {
	return append(slices.DeleteFunc(chat.FieldNames(false), func(name string) bool { return !shared(name) }), "id", "messages", "tools", "approvals")
}

// reader reads the members of a body.
type reader struct {
	members map[string]jsontext.Value
	// own are the names of the tools that the client offers.
	own map[string]bool
	// questions are the calls of the last message that a person was asked about.
	questions []question
	// passed are the calls of earlier messages with an answer that no turn has read.
	passed []string
	e      *chat.ValidationError
}

// fault adds a fault at a JSON pointer.
func (r *reader) fault(at, code, message string) {
	r.e.Add(at, &chat.FieldError{Code: code, Message: message})
}

// read reads a body. What is wrong with it goes to e.
func (s *Server) read(body []byte, e *chat.ValidationError) (q request) {
	r := &reader{e: e, own: map[string]bool{}}
	var ok bool
	if r.members, ok = chat.Members(body, fields(), e); !ok {
		return q
	}
	r.natives(&q, s.cfg.Rules.Stored)
	talk := dialect.Talk{Root: "/messages", Counted: true, Tools: r.tools(r.members["tools"])}
	q.facts.Mute = !none(r.members["approvals"]) && !r.flag("/approvals", r.members["approvals"])
	q.request.Mute = q.facts.Mute
	before := len(e.Fields)
	talk.Messages, q.facts.Continues = r.messages(r.members["messages"])
	q.answer, q.passed = r.answer("/messages"), r.passed
	switch {
	case len(e.Fields) > before: // what the messages come to would be at fault for the same reason
	case q.answer != nil:
		q.facts.Reported = dialect.ReportedBefore(q.answer, talk.Messages)
		if len(q.facts.text()) > dialect.MaxFacts {
			r.fault("/messages", chat.CodeTooLong, "continue with more calls than can be kept")
		}
	default:
		s.cfg.Rules.Compose(&q.request, talk, e)
	}
	return q
}

// natives reads the fields of our own protocol. What the client calls its chat is the
// conversation, if it says that.
func (r *reader) natives(q *request, stored bool) {
	asked := chat.SharedFields(r.members, "", shared, r.e)
	q.request, q.taskID = asked.Request, asked.TaskID
	q.runsOn = asked.OnDisconnect == ""
	if id := dialect.ConversationID(r.text("/id", r.members["id"], false), "/id", r.e); id != "" {
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

// refuseStored refuses the fields that need a store, which this gateway does not have.
func (r *reader) refuseStored(task, continues bool) {
	const none = "needs a store, and this gateway has none (SLUICE_STORE)"
	if task {
		r.fault("/task_id", chat.CodeNotConfigured, none)
	}
	if continues {
		r.fault("/on_disconnect", chat.CodeNotConfigured, none)
	}
}

// none says whether a member is absent, which null is too.
func none(v jsontext.Value) bool { return v == nil || v.Kind() == 'n' }

// text reads a string.
func (r *reader) text(at string, v jsontext.Value, required bool) string {
	switch {
	case none(v):
		if required {
			r.fault(at, chat.CodeRequired, "is required")
		}
	case v.Kind() != '"':
		r.fault(at, chat.CodeWrongType, "must be a string")
	default:
		return dialect.Text(v)
	}
	return ""
}

// flag reads true or false.
func (r *reader) flag(at string, v jsontext.Value) bool {
	if !none(v) && v.Kind() != 't' && v.Kind() != 'f' {
		r.fault(at, chat.CodeWrongType, "must be true or false")
	}
	return !none(v) && v.Kind() == 't'
}

// object reads an object; nil if there is none.
func (r *reader) object(at string, v jsontext.Value) map[string]jsontext.Value {
	switch {
	case none(v):
		r.fault(at, chat.CodeRequired, "is required")
		return nil
	case v.Kind() != '{':
		r.fault(at, chat.CodeWrongType, "must be an object")
		return nil
	}
	return dialect.Object(v)
}

// list reads an array; nil if there is none.
func (r *reader) list(at string, v jsontext.Value, required bool) (all []jsontext.Value) {
	switch {
	case none(v):
		if required {
			r.fault(at, chat.CodeRequired, "is required")
		}
		return nil
	case v.Kind() != '[':
		r.fault(at, chat.CodeWrongType, "must be an array")
		return nil
	}
	return dialect.List(v)
}

// tools reads the tools that the client runs, in the shape of Chat Completions.
func (r *reader) tools(v jsontext.Value) []chat.ClientTool {
	var all dialect.Tools
	for i, item := range r.list("/tools", v, false) {
		at := "/tools/" + strconv.Itoa(i)
		members := r.object(at, item)
		if members == nil {
			continue
		}
		if kind := r.text(at+"/type", members["type"], true); kind != "function" {
			if kind != "" {
				r.fault(at+"/type", chat.CodeUnsupported, "must be function")
			}
			continue
		}
		at += "/function"
		f := r.object(at, members["function"])
		if f == nil {
			continue
		}
		name := r.text(at+"/name", f["name"], true)
		r.own[name] = true
		all.Add(name, r.text(at+"/description", f["description"], false), f["parameters"], at, at+"/name", at+"/parameters", r.e)
	}
	return all.All()
}
