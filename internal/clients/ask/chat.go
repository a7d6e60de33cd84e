// This file holds a conversation. The gateway is stateless in this form: each request carries the
// conversation, cut to a little more than the gateway's bounds.

package ask

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a conversation in Converse: one exchange more than the gateway shows to the model. So
// the gateway leaves something out, and reports that.
const (
	maxMessages = 50
	maxChars    = 64_000
	maxMessage  = 32_001 // code points of one message: one more than is shown
)

// pastMessage is one message of a conversation, as the gateway takes it.
type pastMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// conversation is a body of POST /chat/stream, and grows with each turn.
type conversation struct {
	Input       string        `json:"input,omitzero"`
	ID          string        `json:"conversation_id,omitzero"`
	User        string        `json:"user_id,omitzero"`
	Agent       string        `json:"agent,omitzero"`
	Workflow    string        `json:"workflow,omitzero"`
	Accumulated bool          `json:"accumulated"`
	Channel     string        `json:"channel,omitzero"`
	Drafts      bool          `json:"drafts,omitzero"`
	Deliver     bool          `json:"deliver,omitzero"`
	History     []pastMessage `json:"history,omitempty"`
	// Approval answers a question; all but Accumulated and User is empty then.
	Approval *approvalAnswer `json:"approval,omitzero"`
}

// addTurn adds the turn that has ended. A turn without an answer is left out: the next input would
// be joined to it, and do its work.
//
// If the turn before was too long for the gateway, both cut at the same place. The oldest exchanges
// go first, both halves of each, down to half of the bounds. The last exchange stays however long
// it is.
func (c *conversation) addTurn(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if exceedsBounds(c.History, 1) {
		for len(c.History) > 2 && exceedsBounds(c.History, 2) {
			c.History = c.History[2:]
		}
	}
	c.History = append(c.History, pastMessage{"user", clipMessage(c.Input)}, pastMessage{"assistant", clipMessage(text)})
}

// exceedsBounds reports whether a conversation is longer than this part of the gateway's bounds. Cutting
// here keeps requests small; the gateway cuts by the same rule.
func exceedsBounds(list []pastMessage, part int) bool {
	chars := 0
	for _, s := range list {
		chars += min(utf8.RuneCountInString(s.Content), maxMessage-1)
	}
	return len(list) > maxMessages/part || chars > maxChars/part
}

// clipMessage returns the stored part of a message.
func clipMessage(s string) string {
	n := 0
	for at := range s {
		if n == maxMessage {
			return s[:at]
		}
		n++
	}
	return s
}

// Converse sends each line of stdin with the conversation before it, until stdin ends. It returns
// the outcome of the last turn.
//
// A turn that failed does not end the conversation; a signal, a broken input and an
// unanswered question do.
func (c *Client) Converse(ctx context.Context, first Message) Outcome {
	s, body := c.openSession(ctx), c.bodyOf(first)
	body.ID = "conv_" + rand.Text()
	outcome := Succeeded
	for line, err := range s.messageLines(first.Text) {
		if err != nil {
			fmt.Fprintf(s.Stderr, "%s: %v\n", s.Command, err)
			return failed
		}
		body.Input = line
		answer, ended, err := s.runAnsweredTurn(ctx, body)
		outcome = s.reportOutcome(ended, err)
		if ctx.Err() != nil {
			return failed
		}
		if outcome == Unanswered {
			return outcome
		}
		body.addTurn(answer)
	}
	return outcome
}
