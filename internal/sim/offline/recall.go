// This file answers questions about the conversation itself, from the messages before.

package offline

import (
	"fmt"
	"strings"
	"time"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline/english"
	"sluice/internal/sim/offline/roles"
)

// recall asks for an earlier message.
type recall struct{ first bool }

// recalled are words that may follow the question. Other words make a different wish, as in "what
// did I want to buy?".
const recalled = "you for to do about before last earlier just now of me first ago a moment then again previously"

// readRecall reads a question about the visitor's own messages.
func readRecall(s *english.Sentence, f english.Found, _ time.Time) intent {
	for _, w := range english.Read(f.Texts["rest"]).Words {
		if !english.IsSign(w.Low) && !english.In(recalled, w.Low) {
			return nil
		}
	}
	_, _, first := s.Cut("first")
	return recall{first}
}

// nextAnswer quotes the user's first or last words.
func (r recall) nextAnswer(t *turn) geminisim.Answer {
	asked, which := lastSaid(t.before), "last"
	if r.first {
		asked, which = firstSaid(t.before), "first"
	}
	if asked == "" {
		return text("You haven't asked me anything before this, as far as I can see.")
	}
	return text(fmt.Sprintf("The %s thing you asked me was: “%s”.", which, asked))
}

// lastSaid returns the user's last words before a request, on one line, or "".
func lastSaid(before []geminisim.Message) string {
	if i := roles.LastRequest(before); i >= 0 {
		return roles.Clip(roles.OwnText(before[i].Text))
	}
	return ""
}

// questionedRequest returns the user's words that the assistant has asked back about, where the last
// message is the answer to that; empty: it is not.
func (t *turn) questionedRequest() string {
	i := len(t.before) - 1
	if i < 1 || !t.before[i].Model || len(t.before[i].Calls) > 0 || !strings.Contains(t.before[i].Text, "?") {
		return ""
	}
	if i = roles.LastRequest(t.before); i < 0 {
		return ""
	}
	return roles.OwnText(t.before[i].Text)
}

// firstSaid returns the user's first words.
func firstSaid(before []geminisim.Message) string {
	for _, m := range before {
		if !m.Model && len(m.Results) == 0 {
			return roles.Clip(roles.OwnText(m.Text))
		}
	}
	return ""
}
