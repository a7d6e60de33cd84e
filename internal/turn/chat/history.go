package chat

import (
	"strings"
	"unicode/utf8"

	"sluice/internal/turn/tool"
)

// Limits of a history that no setting changes, and the defaults of those that one does.
const (
	maxHistoryMessages = 1000   // that a request may bring; more are a fault
	maxMessage         = 32_000 // code points of one message of our own protocol, the mark of a cut included
	DefaultMessages    = 50     // that the model is shown, after joining
	DefaultChars       = 64_000 // code points of all that it is shown

	keptCalls        = 8       // the last ones of earlier exchanges
	keptArguments    = 4 << 10 // bytes of a call; one with more is left out
	keptResult       = 2 << 10 // bytes of a result, the mark of a cut apart
	maxClientResults = 1 << 20 // bytes of all results of the calls that a client answers
)

// cutMark ends a message that was cut.
const cutMark = " […]"

// HistoryMessage is one message of a history, as a client reports it.
type HistoryMessage struct {
	Role Role
	Text string
	// Calls are those of the model's message, behind its text. Calls without a result are left out,
	// because models refuse them.
	Calls []HistoryCall
}

// HistoryCall is a call of a tool that a client reports, with its result.
type HistoryCall struct {
	Call   tool.Call
	Result tool.Result
}

// countChars returns the length of the call with its result, in code points.
func (c *HistoryCall) countChars() int {
	return utf8.RuneCountInString(c.Call.Name) + utf8.RuneCount(c.Call.Arguments) + utf8.RuneCountInString(c.Result.Text)
}

// Pruning describes the changes of a history. Messages are counted after joining. Its zero value is
// that of a request without a history.
type Pruning struct {
	Kept    int // messages that the model is shown
	Dropped int // messages that went with their exchange, oldest first; 0: none was left out
	Chars   int // code points of the remaining messages
	// Context counts the entries of the application's context that were left out. It is reported with
	// Dropped, but it is not a message.
	Context int
}

// HistorySource is the origin of the history before a request.
type HistorySource string

// Sources of a history.
const (
	HistoryOfRequest HistorySource = ""      // the request, and the memory where a request brings none
	HistoryOfStore   HistorySource = "store" // the memory alone
	HistoryOfNone    HistorySource = "none"  // nothing: each turn stands alone
)

// UnmarshalText reads a word of the configuration file, whose schema has checked it.
func (s *HistorySource) UnmarshalText(text []byte) error {
	if *s = HistorySource(text); *s == "request" {
		*s = HistoryOfRequest
	}
	return nil
}

// HistoryRules say what becomes of the history that requests bring. The zero value is the
// default.
type HistoryRules struct {
	Source HistorySource `key:"source"`
	// NoCalls leaves calls of tools out of it.
	NoCalls bool `key:"tools" is:"none"`
	// Messages and Chars limit the history for the model, after joining. 0 means the defaults, 50
	// and 64,000 code points. Messages below 0: nothing is shown.
	Messages int `key:"messages"`
	Chars    int `key:"chars"`
	// Message bounds one message in code points; 0: 32,000. A longer one is cut.
	Message int
}

// withDefaults returns the rules with their defaults.
func (h HistoryRules) withDefaults() HistoryRules {
	or := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	or(&h.Messages, DefaultMessages)
	or(&h.Chars, DefaultChars)
	or(&h.Message, maxMessage)
	return h
}

// Bring gives a request the history that its client reports. brings is true if the client reports
// one, even an empty one.
func (h HistoryRules) Bring(req *Request, said []HistoryMessage, brings bool) {
	switch {
	case h.Source == HistoryOfNone:
		req.HasHistory = true
	case h.Source == HistoryOfStore || !brings:
	default:
		req.HasHistory = true
		req.History, req.Pruning = h.Prune(said)
	}
}

// PruneHistory is HistoryRules.Prune by the defaults.
func PruneHistory(said []HistoryMessage) ([]Message, Pruning) { return HistoryRules{}.Prune(said) }

// Prune makes the model's history of a client's report. First it cleans each message like an input
// and cuts it. Then it joins messages of one role in a row by a blank line. Last it drops exchanges
// (a user's message up to the next one), oldest first and in blocks (Bounds.First), until the
// limits hold. The newest exchange is never dropped whole: its longer message is cut instead. Empty
// messages and the model's before the user's first are left out.
//
// The last 8 calls remain, with their results, which are cut. A call with long arguments is left
// out. A message is not joined with the one behind its results.
//
// It is a pure function, linear in the length of its input.
func (h HistoryRules) Prune(said []HistoryMessage) ([]Message, Pruning) {
	h = h.withDefaults()
	joined := h.joinMessages(said)
	drop := h.countDropped(joined)
	kept := h.shortenNewest(joined[drop:])
	p := Pruning{Kept: len(kept), Dropped: drop}
	if len(kept) == 0 {
		return nil, p
	}
	messages := make([]Message, 0, len(kept))
	for i := range kept {
		messages = kept[i].appendMessages(messages)
		p.Chars += kept[i].chars
	}
	return messages, p
}

// measured is a message with its length in code points.
type measured struct {
	HistoryMessage
	chars int
}

// appendMessages appends the messages that the model gets for m.
func (m *measured) appendMessages(messages []Message) []Message {
	if len(m.Calls) == 0 {
		return append(messages, Message{Role: m.Role, Parts: []Part{{Text: m.Text}}})
	}
	var parts, results []Part
	if m.Text != "" {
		parts = append(parts, Part{Text: m.Text})
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		parts = append(parts, Part{Call: &c.Call})
		results = append(results, Part{Result: &c.Result})
	}
	return append(messages, Message{Role: RoleModel, Parts: parts, Maker: ClientOrigin, Origin: ClientOrigin},
		Message{Role: RoleUser, Parts: results, Origin: ClientOrigin})
}

// joinMessages cleans and cuts the messages, and joins those of one role in a row.
func (h *HistoryRules) joinMessages(said []HistoryMessage) []measured {
	spare := 0 // calls that are too old
	for i := range said {
		spare += len(said[i].Calls)
	}
	spare -= keptCalls
	joined := make([]measured, 0, min(len(said), 2*DefaultMessages))
	var run []string // texts of the message at hand
	role := RoleUser
	end := func(calls []HistoryCall) {
		if len(run) > 0 || len(calls) > 0 {
			m := measured{HistoryMessage: HistoryMessage{role, strings.Join(run, "\n\n"), calls}}
			m.updateChars()
			joined = append(joined, m)
		}
		run = run[:0]
	}
	for i := range said {
		s := &said[i]
		calls := h.recentCalls(s, &spare)
		text := stripControl(s.Text)
		silent := isBlank(text)
		if silent && len(calls) == 0 || len(joined) == 0 && len(run) == 0 && s.Role != RoleUser {
			continue
		}
		if s.Role != role {
			end(nil)
			role = s.Role
		}
		if !silent {
			run = append(run, cutText(text, h.Message))
		}
		if len(calls) > 0 {
			end(calls)
		}
	}
	end(nil)
	return joined
}

// updateChars counts the message.
func (m *measured) updateChars() {
	m.chars = utf8.RuneCountInString(m.Text) + m.callChars()
}

// callChars returns the length of the message's calls.
func (m *measured) callChars() (n int) {
	for i := range m.Calls {
		n += m.Calls[i].countChars()
	}
	return n
}

// recentCalls returns the calls of a message that stay. spare counts those that are too old.
func (h *HistoryRules) recentCalls(s *HistoryMessage, spare *int) (kept []HistoryCall) {
	for i := range s.Calls {
		c := s.Calls[i]
		if *spare--; *spare >= 0 || h.NoCalls || s.Role != RoleModel || len(c.Call.Arguments) > keptArguments {
			continue
		}
		if head, isCut := Truncate(c.Result.Text, keptResult); isCut {
			c.Result.Text = head + cutMark
		}
		kept = append(kept, c)
	}
	return kept
}

// cutText shortens a text to at most limit code points, the mark included. limit is at
// least the length of the mark.
func cutText(text string, limit int) string {
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

// countDropped returns how many messages go so that those behind them hold the limits, or
// are the newest exchange. Exchanges go in blocks: see Bounds.First.
func (h *HistoryRules) countDropped(list []measured) int {
	if h.Messages < 0 {
		return len(list)
	}
	begins := exchangeStarts(list)
	if len(begins) == 0 {
		return 0
	}
	first := Bounds{h.Messages, h.Chars}.First(len(begins), func(i int) (messages, chars int) {
		end := len(list)
		if i+1 < len(begins) {
			end = begins[i+1]
		}
		for _, m := range list[begins[i]:end] {
			chars += m.chars
		}
		return end - begins[i], chars
	})
	return begins[first]
}

// exchangeStarts returns where each exchange begins.
func exchangeStarts(list []measured) (begins []int) {
	for i := range list {
		if i == 0 || list[i].Role == RoleUser {
			begins = append(begins, i)
		}
	}
	return begins
}

// shortenNewest cuts the newest exchange if it is the only one and still too long. It cuts the
// longest message, but not below an equal share of the limit, and then the next one. Calls go where
// they are more than half of that.
func (h *HistoryRules) shortenNewest(list []measured) []measured {
	for {
		over, longest := -h.Chars, 0
		for i := range list {
			if over += list[i].chars; list[i].chars > list[longest].chars {
				longest = i
			}
		}
		if over <= 0 {
			return list
		}
		m, share := &list[longest], h.Chars/len(list)
		if own := m.callChars(); own > share/2 {
			m.Calls, m.chars = nil, m.chars-own
			list = joinWithNext(list, longest)
		} else {
			m.Text = cutText(m.Text, max(m.chars-over, share)-own)
			m.updateChars()
		}
	}
}

// joinWithNext joins a message that has lost its calls with the one behind them, and leaves it
// out if nothing is left.
func joinWithNext(list []measured, i int) []measured {
	next := i + 1
	switch m := &list[i]; {
	case m.Text == "":
		return append(list[:i], list[next:]...)
	case next == len(list) || list[next].Role != m.Role:
		return list
	case list[next].Text != "":
		m.Text += "\n\n" + list[next].Text
	}
	list[i].Calls = list[next].Calls
	list[i].updateChars()
	return append(list[:next], list[next+1:]...)
}
