package dialect

import (
	"slices"
	"strings"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Some protocols ask a person call by call, under an id that comes back with the answer. The
// first call of a question has the token in its id, which may be long, and the others the
// question's id. So they are answered in one request.

// idMark stands between a token, or a question's id, and a call's id. Neither of the former
// has it.
const idMark = "~"

// CallQuestion returns the id under which call i of a question is asked about.
func CallQuestion(q *stream.Approval, i int) string {
	id := q.ID
	if i == 0 {
		id = q.Token
	}
	return id + idMark + q.Calls[i].CallID
}

// AnswerTo reads an id under which a question was asked, for the answer a: its token is in one
// of the ids. It returns the call that was asked about; false: the question is about none.
func AnswerTo(a *chat.Answer, id string) (call string, ofCall bool) {
	question, call, ofCall := strings.Cut(id, idMark)
	if len(question) > len(a.Token) { // the ids of questions are shorter than any token
		a.Token = question
	}
	return call, ofCall
}

// Before says what a conversation has of a call where an answer continues its turn.
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

// Calls returns what is known of each call; nil: there are none.
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
