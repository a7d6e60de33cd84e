package chat

import "strings"

// Clarification is a question that a turn has ended with, and that the next input answers.
type Clarification struct {
	// Said holds the conversation since the user's request, in turns: the request, any questions
	// and replies in between, and the question. It ends with the question.
	Said []HistoryMessage
	// AgentID is the agent that asked; empty for the router, which could not choose an agent.
	AgentID string
	// InARow is how many questions of the router came one after the other, up to this one.
	InARow int
}

// questionText returns the question itself.
func (q *Clarification) questionText() string {
	if len(q.Said) == 0 {
		return ""
	}
	return q.Said[len(q.Said)-1].Text
}

// FullInput returns the user's whole request: the input, or, if it answers a question, the request,
// the question and the input.
func (r *Request) FullInput() string {
	if r.Question == nil {
		return r.Input
	}
	var b strings.Builder
	for i, s := range r.Question.Said {
		switch {
		case s.Role != RoleUser:
			b.WriteString("The assistant asked: ")
		case i > 0:
			b.WriteString("The user answered: ")
		}
		b.WriteString(s.Text + "\n\n")
	}
	return b.String() + "The user answered: " + r.Input
}

// Words returns the user's own words: as FullInput, without the questions.
func (r *Request) Words() string {
	if r.Question == nil {
		return r.Input
	}
	var words []string
	for _, s := range r.Question.Said {
		if s.Role == RoleUser {
			words = append(words, s.Text)
		}
	}
	return strings.Join(append(words, r.Input), "\n\n")
}

// Before returns the history without the exchange that belongs to the request, if the
// input answers a question and the history reports it.
func (r *Request) Before() []Message {
	if !r.historyAsks() {
		return r.History
	}
	at, users := len(r.History), 0
	for _, s := range r.Question.Said {
		if s.Role == RoleUser {
			users++
		}
	}
	for at > 0 && users > 0 {
		if at--; r.History[at].Spoken() {
			users--
		}
	}
	return r.History[:at]
}

// historyAsks reports whether the history ends with the question that the input answers.
func (r *Request) historyAsks() bool {
	if r.Question == nil || len(r.History) == 0 {
		return false
	}
	last := &r.History[len(r.History)-1]
	return last.Role == RoleModel && strings.TrimSpace(last.Text()) == strings.TrimSpace(r.Question.questionText())
}

// historyWithQuestion returns the history, with the exchange that the input continues at its end.
func (r *Request) historyWithQuestion() []Message {
	if r.Question == nil || r.historyAsks() {
		return r.History
	}
	all := r.History[:len(r.History):len(r.History)]
	for _, s := range r.Question.Said {
		all = appendSaid(all, s)
	}
	return all
}

// appendSaid adds a message. It joins two messages of the user in a row, because the model must get
// one.
func appendSaid(messages []Message, s HistoryMessage) []Message {
	n := len(messages)
	if s.Role == RoleUser && n > 0 && messages[n-1].Spoken() {
		s.Text = messages[n-1].Text() + "\n\n" + s.Text
		messages = messages[: n-1 : n-1]
	}
	return append(messages, Message{Role: s.Role, Parts: []Part{{Text: s.Text}}})
}
