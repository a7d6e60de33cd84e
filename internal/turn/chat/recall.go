package chat

import (
	"strings"

	"sluice/internal/turn/tool"
)

// TurnMessages are an agent's messages with calls in a turn, each with its results behind it, for
// the memory of the conversation. The answer is not part of it.
type TurnMessages struct {
	Messages []Message
	// Line is the time line of the user's message, if the turn continued; empty if the memory knows
	// it.
	Line string
}

// Portable returns messages as a model may be shown them. Earlier calls, which have an Origin,
// remain with their results if they belong to this model. That means the same origin, and only
// tools on offer. Other calls become a line of text each, in front of the text of that time. Calls
// that a client reports are data, and stay with their results, whatever is on offer. The messages
// themselves do not change.
func Portable(messages []Message, origin string, offered func(name string) bool) []Message {
	for i := range messages {
		if !canStay(&messages[i], origin, offered) {
			return portableFrom(messages, i, origin, offered)
		}
	}
	return messages
}

// portableFrom is Portable from the first message on that cannot stay as it is.
func portableFrom(messages []Message, from int, origin string, offered func(string) bool) []Message {
	all := append(make([]Message, 0, len(messages)), messages[:from]...)
	var lines []string
	for i := from; i < len(messages); i++ {
		m := messages[i]
		if !canStay(&m, origin, offered) {
			var results []Part
			if i+1 < len(messages) && !messages[i+1].Spoken() && messages[i+1].Role == RoleUser {
				i++
				results = messages[i].Parts
			}
			lines = append(lines, callLines(m.Parts, results)...)
			continue
		}
		if len(lines) > 0 && (m.Spoken() || m.Role == RoleModel && !hasCalls(&m)) {
			text := strings.Join(lines, "\n")
			lines = nil
			if m.Role == RoleModel {
				m.Parts = []Part{{Text: text + "\n\n" + m.Text()}}
			} else {
				all = append(all, Message{Role: RoleModel, Parts: []Part{{Text: text}}})
			}
		}
		all = appendJoined(all, m)
	}
	if len(lines) > 0 {
		all = append(all, Message{Role: RoleModel, Parts: []Part{{Text: strings.Join(lines, "\n")}}})
	}
	return all
}

// appendJoined appends a message. It joins two texts of one role in a row if the calls between them
// were left out.
func appendJoined(all []Message, m Message) []Message {
	n := len(all)
	if n > 0 && m.Role == RoleUser && m.Spoken() {
		return appendSaid(all, HistoryMessage{Role: RoleUser, Text: m.Text()})
	}
	if n == 0 || !m.continuesLast(&all[n-1]) {
		return append(all, m)
	}
	last := all[n-1]
	text := last.Text()
	if more := m.Text(); more != "" {
		text += "\n\n" + more
	}
	last.Parts = append([]Part{{Text: text}}, callsOf(m.Parts)...)
	last.Maker, last.Origin = m.Maker, m.Origin
	return append(all[:n-1], last)
}

// continuesLast reports whether a message goes on where the one before it has ended.
func (m *Message) continuesLast(last *Message) bool {
	return m.Role == RoleModel && last.Role == RoleModel && (m.Origin != "" || m.Maker == "") && !hasCalls(last)
}

// callsOf returns the parts that are calls.
func callsOf(parts []Part) (calls []Part) {
	for _, p := range parts {
		if p.Call != nil {
			calls = append(calls, p)
		}
	}
	return calls
}

// canStay reports whether a message can be shown as it is.
func canStay(m *Message, origin string, offered func(string) bool) bool {
	if m.Origin == "" || m.Origin == ClientOrigin {
		return true
	}
	if m.Origin != origin {
		return !hasCalls(m)
	}
	for i := range m.Parts {
		if c := m.Parts[i].Call; c != nil && !offered(c.Name) {
			return false
		}
	}
	return true
}

func hasCalls(m *Message) bool {
	for i := range m.Parts {
		if m.Parts[i].Call != nil {
			return true
		}
	}
	return false
}

// Bounds of a line that reports a call, in bytes.
const (
	maxLineArguments = 300
	maxLineResult    = 500
)

// callLines describes calls with their results, which have the same order.
func callLines(parts, results []Part) (lines []string) {
	n := 0
	for i := range parts {
		c := parts[i].Call
		if c == nil {
			continue
		}
		var r *tool.Result
		if n < len(results) {
			r = results[n].Result
		}
		n++
		lines = append(lines, CallLine(c, r))
	}
	return lines
}

// CallLine reports a call of a turn before, in one line. The result may be nil.
func CallLine(c *tool.Call, r *tool.Result) string {
	line := "[Earlier call: " + Line(c.Name, maxLineArguments) + " " + clipLine(string(c.Arguments), maxLineArguments)
	if r != nil {
		how := "; result: "
		if r.IsError {
			how = "; failed: "
		}
		line += how + clipLine(r.Text, maxLineResult)
	}
	return line + "]"
}

func clipLine(s string, limit int) string {
	line := Line(s, limit)
	if len(line) == limit {
		line += "…"
	}
	return line
}
