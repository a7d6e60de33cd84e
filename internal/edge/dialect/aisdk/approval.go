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

// appendQuestion appends a question. Only the first question about calls is asked here, as one request answers
// one. The turn that continues asks the others. A question without calls is a text and is answered
// elsewhere, as is each question to a client that cannot show one.
func (e *encoder) appendQuestion(dst []byte, q *stream.Approval) []byte {
	switch {
	case e.mute || len(q.Calls) == 0:
		dst = e.openStretch(dst, text, stream.Attribution{})
		dst = append(append(dst, e.prefix...), `,"delta":`...)
		return e.appendNative(e.endStretch(endFrame(jsonline.String(dst, q.Prompt))), q)
	case e.hasQuestion:
		return e.appendNative(dst, q)
	}
	e.hasQuestion = true
	for i := range q.Calls {
		c := &q.Calls[i]
		dst = e.appendExecuted(dst, &stream.Call{ID: c.CallID, Tool: c.Tool, Arguments: c.Arguments})
		dst = jsonline.Name(append(dst, `data: {"type":"tool-approval-request","approvalId":`...), dialect.CallQuestion(q, i))
		dst = endFrame(jsonline.Name(append(dst, `,"toolCallId":`...), c.CallID))
	}
	return dst
}

// States of a call's part after a question about the call.
const (
	approvalRequested = "approval-requested"
	approvalResponded = "approval-responded"
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
		if q.state == approvalResponded {
			r.passed = append(r.passed, r.readText("", q.part["toolCallId"], false))
		}
	}
	r.questions = nil
}

// readAnswer reads a person's decisions about the calls of the last message, at a place. It returns
// nil without questions. Undecided questions are read too, as one of them may have the token. A
// missing decision is found later, with all calls of the question.
func (r *reader) readAnswer(at string) *chat.Answer {
	if len(r.questions) == 0 {
		return nil
	}
	if !slices.ContainsFunc(r.questions, func(q question) bool { return q.state == approvalResponded }) {
		r.addFault(at, chat.CodeRequired, "must end with the user's message, or with an answer to what was asked")
		return nil
	}
	a := &chat.Answer{At: at}
	for _, q := range r.latestQuestions() {
		at := q.at + "/approval"
		approval := r.readObject(at, q.part["approval"])
		if approval == nil {
			continue
		}
		call, ofCall := dialect.AnswerTo(a, r.readText(at+"/id", approval["id"], true))
		if !ofCall || call != r.readText("", q.part["toolCallId"], false) {
			r.addFault(at+"/id", chat.CodeUnknownValue, "is not the id of this call's question")
		}
		if q.state == approvalResponded {
			a.Calls = append(a.Calls, r.readDecision(at, approval, call))
		}
	}
	return a
}

// latestQuestions returns the questions without those that were asked once more behind them: a client
// may have a call twice then.
func (r *reader) latestQuestions() (all []question) {
	for i, q := range r.questions {
		id := string(q.part["toolCallId"])
		again := func(p question) bool { return string(p.part["toolCallId"]) == id }
		if !slices.ContainsFunc(r.questions[i+1:], again) {
			all = append(all, q)
		}
	}
	return all
}

// readDecision reads a person's decision about one call.
func (r *reader) readDecision(at string, approval map[string]jsontext.Value, call string) chat.CallAnswer {
	c := chat.CallAnswer{CallID: call, Action: chat.Reject}
	if isAbsent(approval["approved"]) {
		r.addFault(at+"/approved", chat.CodeRequired, "is required")
	}
	if r.readFlag(at+"/approved", approval["approved"]) {
		c.Action = chat.Approve
	}
	message, wrong := chat.CheckAnswerMessage(r.readText(at+"/reason", approval["reason"], false))
	c.Message = message
	r.e.Add(at+"/reason", wrong)
	return c
}
