// Package roles plays the parts of the demo's model that a gateway asks for: it routes, plans,
// judges, criticises and refines answers, and it plays the agents of the example workflows. A
// visitor asks for none of it; their phrases are in package offline. How well it does says nothing
// of a language model.
package roles

import (
	"strings"

	"sluice/internal/sim/geminisim"
)

// Structured returns the roles that answer by a schema: a router, a planner, a judge and a critic,
// and who gives an answer the form that a client wants.
func Structured() []geminisim.Role {
	return []geminisim.Role{routeRequest, planAnswer, judgeAnswer, judgeDraft, fillForm}
}

// Answer returns the answer to a request that is not a visitor's: one to write an answer again,
// or one to an agent of the example workflows. ok is false for all others.
func Answer(q geminisim.Question) (a geminisim.Answer, ok bool) {
	if again, ok := rewriteAnswer(q); ok {
		return text(again), true
	}
	return answerAgent(q)
}

// LastRequest returns the place of the user's last message that is more than results of calls and
// the gateway's additions. It returns -1 without such a message.
func LastRequest(messages []geminisim.Message) int {
	i := len(messages) - 1
	for i >= 0 && (messages[i].Model || len(messages[i].Results) > 0 || strings.HasPrefix(messages[i].Text, momentHead)) {
		i--
	}
	return i
}

// text is an answer without thoughts and calls.
func text(s string) geminisim.Answer { return geminisim.Answer{Text: s} }
