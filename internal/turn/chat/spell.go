package chat

import (
	"slices"
	"strings"

	"sluice/internal/turn/tool"
)

// HasUndeclared reports whether a call in messages is of a tool that is not declared.
func HasUndeclared(messages []Message, declared func(name string) bool) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return m.callsOther(declared) })
}

// callsOther reports whether m has a call of a tool that is not declared.
func (m *Message) callsOther(declared func(string) bool) bool {
	for i := range m.Parts {
		if c := m.Parts[i].Call; c != nil && !declared(c.Name) {
			return true
		}
	}
	return false
}

// WithCallsAsText returns messages in which calls of tools that are not declared are text, and so
// are their results. Nothing is cut. The messages themselves do not change.
func WithCallsAsText(messages []Message, declared func(name string) bool) []Message {
	if !HasUndeclared(messages, declared) {
		return messages
	}
	all := make([]Message, 0, len(messages))
	for i := 0; i < len(messages); i++ {
		m := &messages[i]
		if !m.callsOther(declared) {
			all = append(all, *m)
			continue
		}
		all = append(all, spelledCalls(m))
		if i+1 < len(messages) && messages[i+1].Role == RoleUser && !messages[i+1].Spoken() {
			i++
			all = append(all, spelledResults(&messages[i]))
		}
	}
	return all
}

// spelledCalls returns a model's message with its calls as text.
func spelledCalls(m *Message) Message {
	var lines []string
	if text := m.Text(); text != "" {
		lines = append(lines, text+"\n")
	}
	for i := range m.Parts {
		if c := m.Parts[i].Call; c != nil {
			lines = append(lines, "[Call of the tool "+Line(c.Name, maxLineArguments)+": "+string(c.Arguments)+"]")
		}
	}
	return Message{Role: m.Role, Parts: []Part{{Text: strings.Join(lines, "\n")}}}
}

// spelledResults returns the message behind calls with the results as text.
func spelledResults(m *Message) Message {
	spelled := Message{Role: m.Role}
	for _, p := range m.Parts {
		if p.Result != nil {
			quote := QuoteResult(p.Result)
			p = Part{Text: quote.ForModel()}
		}
		spelled.Parts = append(spelled.Parts, p)
	}
	return spelled
}

// QuoteResult returns the whole result of a call as data.
func QuoteResult(r *tool.Result) Quote {
	about := "Result of the tool "
	if r.IsError {
		about = "Failure of the tool "
	}
	const mark = 3 // a line can be its end alone, and is shown behind a mark
	return Quote{About: about + Line(r.Name, maxLineArguments), Text: r.Text, Limit: 1<<10 + mark*len(r.Text)}
}
