package agui

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/jsonline"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Questions to people are interrupts: the run ends with them as its outcome, and the next one
// brings the answers in resume. The protocol asks call by call.

// Schemas of what a person answers.
const (
	approvedOrEdited = `{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}},"required":["approved"]}`
	approvedOnly     = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
)

// question appends what is asked. Of several questions the first is the outcome, as one request
// answers one: the run that continues asks the others.
func (e *encoder) question(dst []byte, q *stream.Approval) []byte {
	dst = e.end(dst)
	if e.asked {
		return e.custom(dst, q.Name(), q)
	}
	e.asked = true
	if len(q.Calls) == 0 {
		e.interrupt = interrupt(e.interrupt, q, q.Token, "input_required", "", q.Schema)
		return dst
	}
	schema := jsontext.Value(approvedOrEdited)
	if q.Kind != chat.AskTools {
		schema = jsontext.Value(approvedOnly)
	}
	for i := range q.Calls {
		c := &q.Calls[i]
		if e.again[c.CallID] == 0 {
			dst = e.call(dst, &stream.Call{ID: c.CallID, Tool: c.Tool, Arguments: c.Arguments, Attribution: stream.Attribution{AgentID: c.AgentID}})
		}
		if i > 0 {
			e.interrupt = append(e.interrupt, ',')
		}
		e.interrupt = interrupt(e.interrupt, q, dialect.CallQuestion(q, i), "tool_call", c.CallID, schema)
	}
	return dst
}

// interrupt appends one interrupt. What is empty is left out.
func interrupt(dst []byte, q *stream.Approval, id, reason, call string, schema jsontext.Value) []byte {
	dst = member(jsonline.Name(append(dst, `{"id":`...), id), "reason", reason)
	if call != "" {
		dst = member(dst, "toolCallId", call)
	}
	dst = jsonline.String(append(dst, `,"message":`...), q.Prompt)
	if schema != nil {
		dst = jsonline.Object(append(dst, `,"responseSchema":`...), schema)
	}
	return append(member(dst, "expiresAt", q.ExpiresAt), '}')
}

// resumed reads the answers of a request, all of which are to one question. nil: there are none.
func (r reader) resumed(v jsontext.Value) *chat.Answer {
	items := r.list("/resume", v)
	if len(items) == 0 {
		return nil
	}
	a := &chat.Answer{At: "/resume"}
	for i, item := range items {
		at := "/resume/" + strconv.Itoa(i)
		members := r.object(at, item)
		call, ofCall := dialect.AnswerTo(a, r.text(at+"/interruptId", members["interruptId"], true))
		status := r.text(at+"/status", members["status"], true)
		if status != "resolved" && status != "cancelled" && status != "" {
			r.fault(at+"/status", chat.CodeUnknownValue, "must be resolved or cancelled")
		}
		switch payload := members["payload"]; {
		case ofCall:
			a.Calls = append(a.Calls, r.decision(at+"/payload", payload, call, status == "cancelled"))
		case status == "cancelled":
			a.Action = chat.Reject
		default:
			if a.Action = chat.Approve; !none(payload) {
				a.Input = payload
			}
		}
	}
	if a.Action != "" && len(items) > 1 {
		r.fault("/resume", chat.CodeNotAllowed, "must answer one question")
	}
	return a
}

// decision reads what a person says of one call.
func (r reader) decision(at string, v jsontext.Value, call string, cancelled bool) chat.CallAnswer {
	c := chat.CallAnswer{CallID: call, Action: chat.Reject}
	if cancelled {
		return c
	}
	members := r.object(at, v)
	switch approved := members["approved"]; {
	case none(approved):
		r.fault(at+"/approved", chat.CodeRequired, "is required")
	case approved.Kind() != 't' && approved.Kind() != 'f':
		r.fault(at+"/approved", chat.CodeWrongType, "must be true or false")
	case approved.Kind() == 't':
		c.Action = chat.Approve
		if edited := members["editedArgs"]; r.object(at+"/editedArgs", edited) != nil {
			c.Action, c.Arguments = chat.Modify, edited
		}
	}
	return c
}

// refuseAnswer words why an answer does not count: as the protocol wants it, by a run that fails.
// What has nothing to do with the answer is refused like any other request.
func refuseAnswer(f facts) func(dialect.Refusal) dialect.Reply {
	return func(r dialect.Refusal) dialect.Reply {
		switch r.Fault.Type {
		case fault.ApprovalInvalid, fault.ApprovalExpired, fault.ApprovalUsed, fault.ApprovalConflict, fault.Validation:
		default:
			return refuse(r)
		}
		e := encoder{thread: f.Thread, run: f.Run}
		frames := append(e.ofRun(nil, "RUN_STARTED"), "}\n\n"...)
		frames = e.failed(frames, &stream.Error{Type: r.Fault.Type, Message: r.Fault.Message})
		return dialect.Reply{ContentType: "text/event-stream", Body: frames}
	}
}
