package dialect

import (
	"slices"
	"strings"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Some protocols ask a person call by call, under an id that comes back with the answer. The id of
// a question's first call has the token, a long text. The ids of the other calls have the
// question's id. So they are answered in one request.

// idMark stands between a token, or a question's id, and a call's id. Tokens and ids of questions
// do not contain it.
const idMark = "~"

// CallQuestion returns the id under which call i of a question is asked about.
func CallQuestion(q *stream.Approval, i int) string {
	id := q.ID
	if i == 0 {
		id = q.Token
	}
	return id + idMark + q.Calls[i].CallID
}

// AnswerTo reads the id of a question into the answer a: one of the ids has the token. It returns
// the call of the question, or false if the question is not about a call.
func AnswerTo(a *chat.Answer, id string) (call string, ofCall bool) {
	question, call, ofCall := strings.Cut(id, idMark)
	if len(question) > len(a.Token) { // the ids of questions are shorter than any token
		a.Token = question
	}
	return call, ofCall
}

// Before is the part of a call that a conversation has already, if an answer continues its turn.
type Before int

const (
	_      Before = iota
	Waited        // that it waits for a person
	Closed        // all of it: a delegate's, which ended with the question that it asks
)

// Reported are the calls that a conversation has where an answer continues its turn. Clients
// look calls up in the whole of it, so none is opened twice. It belongs into Exchange.Facts.
type Reported struct {
	Waited []string `json:"waited,omitempty"`
	Closed []string `json:"closed,omitempty"`
}

// ReportedBefore returns the calls that an answer is about, and those behind the user's last
// message that have a result already.
func ReportedBefore(a *chat.Answer, messages []chat.ClientMessage) (r Reported) {
	for _, c := range a.Calls {
		r.Waited = append(r.Waited, c.CallID)
	}
	for _, m := range messages {
		switch {
		case m.Speaker == chat.SpeakerUser:
			r.Closed = nil
		case m.Speaker == chat.SpeakerTool && !slices.Contains(r.Closed, m.Result.ID):
			r.Closed = append(r.Closed, m.Result.ID)
		}
	}
	return r
}

// Calls returns the state of each call, or nil without calls.
func (r Reported) Calls() map[string]Before {
	if len(r.Waited)+len(r.Closed) == 0 {
		return nil
	}
	calls := map[string]Before{}
	for _, id := range r.Waited {
		calls[id] = Waited
	}
	for _, id := range r.Closed {
		calls[id] = Closed
	}
	return calls
}
