package remote

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/internal/turn/chat"
)

// maxMessage is how many code points a message has, unless the request itself is longer. A
// gateway like this one takes 5,000.
const maxMessage = 4800

// messageOf returns the message for the agent: the request, and before it the parts that belong to
// the turn. Agents elsewhere know neither the conversation nor its other agents. Parts that do not
// fit are left out, of earlier texts the oldest first.
func messageOf(req *chat.Request) string {
	request := req.FullInput()
	room := maxMessage - utf8.RuneCountInString(request) - len("The request:\n")
	var parts []string
	add := func(text string) {
		if n := utf8.RuneCountInString(text) + 2; text != "" && n <= room {
			room -= n
			parts = append(parts, text)
		}
	}
	add(req.Note)
	add(req.Instruction)
	for _, q := range slices.Concat(req.Quotes(), quoteResults(req)) {
		if q.Limit = min(cmp.Or(q.Limit, chat.MaxQuote), room-2); q.Limit > minQuote {
			add(strings.TrimSuffix(q.ForModel(), "\n"))
		}
	}
	if said := earlierTexts(chat.WithCallsAsText(chat.Portable(req.Before(), "", noTools), noTools), room-2); said != "" {
		parts = append([]string{said}, parts...)
	}
	if len(parts) == 0 {
		return request
	}
	return strings.Join(append(parts, "The request:\n"+request), "\n\n")
}

// quoteResults returns the results at the end of the request as data.
func quoteResults(req *chat.Request) (quotes []chat.Quote) {
	if req.App == nil {
		return nil
	}
	for _, m := range req.App.Continues {
		for _, p := range m.Parts {
			if p.Result != nil {
				quotes = append(quotes, chat.QuoteResult(p.Result))
			}
		}
	}
	return quotes
}

// noTools offers no tool: a remote agent makes none of the calls of earlier turns.
func noTools(string) bool { return false }

// minQuote is the least room in which a quote is useful, in bytes.
const minQuote = 256

// earlierTexts returns the earlier messages of the conversation, as many of the last ones as fit.
func earlierTexts(messages []chat.Message, room int) string {
	const title = "Earlier in the conversation:"
	room -= len(title)
	var lines []string
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		text := strings.TrimSpace(m.Text())
		if text == "" { // calls, or their results
			continue
		}
		who := "Assistant: "
		if m.Role == chat.RoleUser {
			who = "User: "
		}
		if room -= utf8.RuneCountInString(text) + len(who) + 1; room < 0 {
			break
		}
		lines = append([]string{who + text}, lines...)
	}
	if len(lines) == 0 {
		return ""
	}
	return title + "\n" + strings.Join(lines, "\n")
}
