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

// Schemas of a person's answer.
const (
	approvedOrEdited = `{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}},"required":["approved"]}`
	approvedOnly     = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
)

// appendQuestion appends a question. Only the first question becomes the outcome, as one request
// answers one. The run that continues asks the others.
func (e *encoder) appendQuestion(dst []byte, q *stream.Approval) []byte {
	dst = e.endStretch(dst)
	if e.hasQuestion {
		return e.appendCustom(dst, q.Name(), q)
	}
	e.hasQuestion = true
	if len(q.Calls) == 0 {
		e.interrupt = appendInterrupt(e.interrupt, q, q.Token, "input_required", "", q.Schema)
		return dst
	}
	schema := jsontext.Value(approvedOrEdited)
	if q.Kind != chat.AskTools {
		schema = jsontext.Value(approvedOnly)
	}
	for i := range q.Calls {
		c := &q.Calls[i]
		if e.earlierCalls[c.CallID] == 0 {
			dst = e.appendCall(dst, &stream.Call{ID: c.CallID, Tool: c.Tool, Arguments: c.Arguments, Attribution: stream.Attribution{AgentID: c.AgentID}})
		}
		if i > 0 {
			e.interrupt = append(e.interrupt, ',')
		}
		e.interrupt = appendInterrupt(e.interrupt, q, dialect.CallQuestion(q, i), "tool_call", c.CallID, schema)
	}
	return dst
}

// appendInterrupt appends one interrupt. It leaves empty members out.
func appendInterrupt(dst []byte, q *stream.Approval, id, reason, call string, schema jsontext.Value) []byte {
	dst = appendMember(jsonline.Name(append(dst, `{"id":`...), id), "reason", reason)
	if call != "" {
		dst = appendMember(dst, "toolCallId", call)
	}
	dst = jsonline.String(append(dst, `,"message":`...), q.Prompt)
	if schema != nil {
		dst = jsonline.Object(append(dst, `,"responseSchema":`...), schema)
	}
	return append(appendMember(dst, "expiresAt", q.ExpiresAt), '}')
}

// readAnswers reads the answers of a request, all to one question. It returns nil without answers.
func (r reader) readAnswers(v jsontext.Value) *chat.Answer {
	items := r.readList("/resume", v)
	if len(items) == 0 {
		return nil
	}
	a := &chat.Answer{At: "/resume"}
	for i, item := range items {
		at := "/resume/" + strconv.Itoa(i)
		members := r.readObject(at, item)
		call, ofCall := dialect.AnswerTo(a, r.readText(at+"/interruptId", members["interruptId"], true))
		status := r.readText(at+"/status", members["status"], true)
		if status != "resolved" && status != "cancelled" && status != "" {
			r.addFault(at+"/status", chat.CodeUnknownValue, "must be resolved or cancelled")
		}
		switch payload := members["payload"]; {
		case ofCall:
			a.Calls = append(a.Calls, r.readDecision(at+"/payload", payload, call, status == "cancelled"))
		case status == "cancelled":
			a.Action = chat.Reject
		default:
			if a.Action = chat.Approve; !isAbsent(payload) {
				a.Input = payload
			}
		}
	}
	if a.Action != "" && len(items) > 1 {
		r.addFault("/resume", chat.CodeNotAllowed, "must answer one question")
	}
	return a
}

// readDecision reads a person's decision about one call.
func (r reader) readDecision(at string, v jsontext.Value, call string, cancelled bool) chat.CallAnswer {
	c := chat.CallAnswer{CallID: call, Action: chat.Reject}
	if cancelled {
		return c
	}
	members := r.readObject(at, v)
	switch approved := members["approved"]; {
	case isAbsent(approved):
		r.addFault(at+"/approved", chat.CodeRequired, "is required")
	case approved.Kind() != 't' && approved.Kind() != 'f':
		r.addFault(at+"/approved", chat.CodeWrongType, "must be true or false")
	case approved.Kind() == 't':
		c.Action = chat.Approve
		if edited := members["editedArgs"]; r.readObject(at+"/editedArgs", edited) != nil {
			c.Action, c.Arguments = chat.Modify, edited
		}
	}
	return c
}

// refuseAnswer words why an answer does not count: as the protocol wants it, by a run that fails.
// Faults outside of the answer are refused as for any other request.
func refuseAnswer(f facts) func(dialect.Refusal) dialect.Reply {
	return func(r dialect.Refusal) dialect.Reply {
		switch r.Fault.Type {
		case fault.ApprovalInvalid, fault.ApprovalExpired, fault.ApprovalUsed, fault.ApprovalConflict, fault.Validation:
		default:
			return refuse(r)
		}
		e := encoder{thread: f.Thread, run: f.Run}
		frames := append(e.ofRun(nil, "RUN_STARTED"), "}\n\n"...)
		frames = e.failRun(frames, &stream.Error{Type: r.Fault.Type, Message: r.Fault.Message})
		return dialect.Reply{ContentType: "text/event-stream", Body: frames}
	}
}
