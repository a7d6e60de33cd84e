package aisdk

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/jsonline"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Questions to people are parts of calls: the client draws two buttons on the card of a call,
// and sends the message again when all calls of its last step have an answer. ai before 6 does
// not know the part and fails on it, so its pages say approvals: false.

// ask appends a question. Of several questions about calls the first is asked here, as one
// request answers one: the turn that continues asks the others. What has no calls is answered
// elsewhere, and so is what a client is asked that cannot show it: the prompt is a text of
// its own then.
func (e *encoder) ask(dst []byte, q *stream.Approval) []byte {
	switch {
	case e.mute || len(q.Calls) == 0:
		dst = e.stretch(dst, text, stream.Attribution{})
		dst = append(append(dst, e.prefix...), `,"delta":`...)
		return e.sluice(e.silence(end(jsonline.String(dst, q.Prompt))), q)
	case e.asked:
		return e.sluice(dst, q)
	}
	e.asked = true
	for i := range q.Calls {
		c := &q.Calls[i]
		dst = e.executed(dst, &stream.Call{ID: c.CallID, Tool: c.Tool, Arguments: c.Arguments})
		dst = jsonline.Name(append(dst, `data: {"type":"tool-approval-request","approvalId":`...), dialect.CallQuestion(q, i))
		dst = end(jsonline.Name(append(dst, `,"toolCallId":`...), c.CallID))
	}
	return dst
}

// Of what a question about a call has become, the part of the call says.
const (
	asked     = "approval-requested"
	responded = "approval-responded"
)

// question is the part of a call that a person was asked about.
type question struct {
	at    string
	state string
	part  map[string]jsontext.Value
}

// passOver drops the questions of a message that is not the last one. An answer to one of them is
// still unread, as the part of a call has its result afterwards.
func (r *reader) passOver() {
	for _, q := range r.questions {
		if q.state == responded {
			r.passed = append(r.passed, r.text("", q.part["toolCallId"], false))
		}
	}
	r.questions = nil
}

// answer reads what a person says of the calls of the last message, at a place. nil: nothing.
// Those without an answer are read too, as one of them may have the token; what they lack is
// found where all calls of the question are known.
func (r *reader) answer(at string) *chat.Answer {
	if len(r.questions) == 0 {
		return nil
	}
	if !slices.ContainsFunc(r.questions, func(q question) bool { return q.state == responded }) {
		r.fault(at, chat.CodeRequired, "must end with the user's message, or with an answer to what was asked")
		return nil
	}
	a := &chat.Answer{At: at}
	for _, q := range r.latest() {
		at := q.at + "/approval"
		approval := r.object(at, q.part["approval"])
		if approval == nil {
			continue
		}
		call, ofCall := dialect.AnswerTo(a, r.text(at+"/id", approval["id"], true))
		if !ofCall || call != r.text("", q.part["toolCallId"], false) {
			r.fault(at+"/id", chat.CodeUnknownValue, "is not the id of this call's question")
		}
		if q.state == responded {
			a.Calls = append(a.Calls, r.decision(at, approval, call))
		}
	}
	return a
}

// latest returns the questions without those that were asked once more behind them: a client
// may have a call twice then.
func (r *reader) latest() (all []question) {
	for i, q := range r.questions {
		id := string(q.part["toolCallId"])
		again := func(p question) bool { return string(p.part["toolCallId"]) == id }
		if !slices.ContainsFunc(r.questions[i+1:], again) {
			all = append(all, q)
		}
	}
	return all
}

// decision reads what a person says of one call.
func (r *reader) decision(at string, approval map[string]jsontext.Value, call string) chat.CallAnswer {
	c := chat.CallAnswer{CallID: call, Action: chat.Reject}
	if none(approval["approved"]) {
		r.fault(at+"/approved", chat.CodeRequired, "is required")
	}
	if r.flag(at+"/approved", approval["approved"]) {
		c.Action = chat.Approve
	}
	message, wrong := chat.CheckAnswerMessage(r.text(at+"/reason", approval["reason"], false))
	c.Message = message
	r.e.Add(at+"/reason", wrong)
	return c
}
