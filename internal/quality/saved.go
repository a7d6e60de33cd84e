// This file saves an answer that waits for its delivery (chat.Saver). If another process continues
// the turn, it delivers the saved answer under the same id, instead of a new one.

package quality

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// savedDelivery is a turn that has come to its end, but for its delivery.
type savedDelivery struct {
	Response jsontext.Value      `json:"response"` // as in Message, and so are the next four
	Passed   bool                `json:"passed,omitempty"`
	Outcome  stream.Outcome      `json:"outcome,omitempty"`
	Segments int                 `json:"segments,omitempty"`
	Parts    int                 `json:"parts"`
	End      *stream.Done        `json:"end"`
	Checked  jsontext.Value      `json:"checked,omitempty"` // apart from End, like the next two: End is stored without them
	Styled   string              `json:"said,omitempty"`
	Calls    []chat.TurnMessages `json:"made,omitempty"`
}

// isAnswered reports whether the runner has come to an end, and waits for nobody.
func (t *turn) isAnswered() bool {
	return t.out.Reason != "" && t.out.Paused == nil && t.out.Required == nil
}

// saveDelivery keeps the turn as it will have ended if m is delivered. It goes to the store with
// the answer. A turn with a question is not saved: its question is not asked yet.
func (t *turn) saveDelivery(m *Message) {
	saving := t.req.Facts.Saving
	if saving == nil || !t.isAnswered() {
		return
	}
	own := *t.checks.Channel
	end := t.out
	s := savedDelivery{Response: m.Response, Passed: m.Passed, Outcome: m.Outcome, Segments: m.Segments, Parts: m.Parts, Styled: t.checks.Markdown, Calls: callsOf(end.TurnMessages)}
	s.End = &stream.Done{Reason: end.Reason, Usage: end.Usage, Model: end.Model, Tools: end.Tools, Models: end.Models, Keyed: end.Keyed,
		Agents: end.Agents, Route: end.Route, Asker: end.Asker, Channel: &own}
	if t.watched {
		t.checks.Channel.Delivery = &stream.Delivery{Attempts: 1} // a step that ran counts; how it ends is set when it has
		if a := t.countedAttempt(); !t.set.HideReceipt {
			s.End.Quality = t.newReceipt(a)
		}
		if t.req.Task != "" {
			s.Checked = t.storedState(t.countedAttempt(), nil)
		}
	}
	if text, err := json.Marshal(s); err == nil { // a plain value: cannot fail
		saving.Save(chat.SavedDelivery, text)
	}
}

// callsOf returns the calls and results of the agents' messages. It leaves out their texts, which
// are in the answer or were withheld.
func callsOf(made []chat.TurnMessages) []chat.TurnMessages {
	calls := make([]chat.TurnMessages, len(made))
	for i, m := range made {
		calls[i].Line = m.Line
		for _, message := range m.Messages {
			own := message
			own.Parts = nil
			for _, p := range message.Parts {
				if p.Call != nil || p.Result != nil {
					p.Text = ""
					own.Parts = append(own.Parts, p)
				}
			}
			calls[i].Messages = append(calls[i].Messages, own)
		}
	}
	return calls
}

// readSavedDelivery returns the delivery that an earlier process has saved for the request's turn,
// or nil without one.
func readSavedDelivery(req *chat.Request) (*savedDelivery, error) {
	if req.Facts.Saving == nil {
		return nil, nil
	}
	states := req.Facts.Saving.Before[chat.SavedDelivery]
	if len(states) == 0 {
		return nil, nil
	}
	s := new(savedDelivery)
	err := json.Unmarshal(states[len(states)-1], s)
	if err == nil && (s.End == nil || s.End.Channel == nil || len(s.Response) == 0) {
		err = fmt.Errorf("there is no answer in it")
	}
	if err != nil {
		return nil, &fault.Error{Type: fault.TurnLost, Message: "The turn cannot go on with what was saved of it", Err: err}
	}
	return s, nil
}

// deliverAgain ends a turn whose answer is out: it is delivered, and nothing of it is said again.
func (t *turn) deliverAgain(s *savedDelivery) stream.Result {
	end := s.End
	t.out = stream.Result{Reason: end.Reason, Usage: end.Usage, Model: end.Model, Tools: end.Tools, Models: end.Models, Keyed: end.Keyed,
		Agents: end.Agents, Route: end.Route, Asker: end.Asker, TurnMessages: s.Calls}
	t.checks = stream.Checks{Quality: end.Quality, Channel: end.Channel, Checked: s.Checked, Markdown: s.Styled}
	t.out.Checks = &t.checks
	t.deliverMessage(&Message{Request: t.req, RequestID: chat.RequestID(t.ctx), Response: s.Response, Passed: s.Passed, Outcome: s.Outcome, Segments: s.Segments, Parts: s.Parts}, time.Now())
	return t.out
}
