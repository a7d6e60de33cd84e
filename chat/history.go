package chat

import (
	"strings"
	"unicode/utf8"
)

// Limits of a history. The figures are constants until a setting changes them.
const (
	maxHistoryMessages = 1000   // that a request may bring; more are a fault
	maxMessage         = 32_000 // code points of one message, the mark of a cut included
	keptMessages       = 50     // that the model is shown, after joining
	keptChars          = 64_000 // code points of all that it is shown
)

// cutMark ends a message that was cut.
const cutMark = " […]"

// Said is one message of a history, as a client reports it.
type Said struct {
	Role Role
	Text string
}

// Pruning says what became of a history. Messages are counted after joining. Its zero value is
// that of a request without a history.
type Pruning struct {
	Kept    int // messages that the model is shown
	Dropped int // messages that went with their exchange, oldest first; 0: none was left out
	Chars   int // code points of what was kept
}

// PruneHistory makes of what a client says was said before what the model is shown:
// in this order it cleans each message as an input is cleaned, cuts it, joins
// messages of one role in a row by a blank line, and drops whole exchanges (a user's
// message up to the next one), oldest first, until the limits hold. The newest
// exchange is never dropped whole: its longer message is cut instead. Empty
// messages and the model's before the user's first are left out.
//
// It is a pure function, linear in the length of its input.
func PruneHistory(said []Said) ([]Message, Pruning) {
	joined := join(said)
	drop := surplus(joined)
	kept := joined[drop:]
	fit(kept)
	p := Pruning{Kept: len(kept), Dropped: drop}
	if len(kept) == 0 {
		return nil, p
	}
	messages := make([]Message, len(kept))
	for i, s := range kept {
		messages[i] = Message{Role: s.Role, Parts: []Part{{Text: s.Text}}}
		p.Chars += s.chars
	}
	return messages, p
}

// measured is a message with its length in code points.
type measured struct {
	Said
	chars int
}

// join cleans and cuts the messages, and joins those of one role in a row.
func join(said []Said) []measured {
	joined := make([]measured, 0, min(len(said), 2*keptMessages))
	var run []string // texts of the message at hand
	role := RoleUser
	end := func() {
		if len(run) > 0 {
			text := strings.Join(run, "\n\n")
			joined = append(joined, measured{Said{role, text}, utf8.RuneCountInString(text)})
		}
		run = run[:0]
	}
	for _, s := range said {
		text := stripControl(s.Text)
		if blank(text) || len(joined) == 0 && len(run) == 0 && s.Role != RoleUser {
			continue
		}
		if s.Role != role {
			end()
			role = s.Role
		}
		run = append(run, cut(text, maxMessage))
	}
	end()
	return joined
}

// cut shortens a text to at most limit code points, the mark included. limit is at
// least the length of the mark.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	room := limit - utf8.RuneCountInString(cutMark)
	n, end := 0, 0
	for at := range text {
		if n == room {
			end = at
		}
		if n++; n > limit {
			return text[:end] + cutMark
		}
	}
	return text
}

// surplus returns how many messages go so that those behind them hold the limits, or
// are the newest exchange.
func surplus(list []measured) (drop int) {
	messages, chars, newest := len(list), 0, 0
	for i, s := range list {
		chars += s.chars
		if s.Role == RoleUser {
			newest = i
		}
	}
	for drop < newest && (messages > keptMessages || chars > keptChars) {
		for first := drop; drop == first || list[drop].Role != RoleUser; drop++ {
			messages--
			chars -= list[drop].chars
		}
	}
	return drop
}

// fit cuts the newest exchange, if that is all there is and still too long: the longer
// of its messages, but not below half of what there may be; then the other one.
func fit(list []measured) {
	over := -keptChars
	for _, s := range list {
		over += s.chars
	}
	for over > 0 {
		longest := 0
		for i, s := range list {
			if s.chars > list[longest].chars {
				longest = i
			}
		}
		m := &list[longest]
		text := cut(m.Text, max(m.chars-over, keptChars/2))
		chars := utf8.RuneCountInString(text)
		over -= m.chars - chars
		m.Text, m.chars = text, chars
	}
}
