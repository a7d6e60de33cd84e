// This file writes the conversation of a request. It keeps two rules that servers check. Each call
// is followed by exactly one result, in the calls' order. Reasoning goes back in the message that
// it came with. A message of another model is sent without its reasoning and signatures.

package openai

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// chatMessages renders a conversation.
//
// It lives for one request. ids remembers the id that was sent for each id, so that results find
// their calls.
type chatMessages struct {
	codec *chatCodec
	names *model.ToolNames
	b     []byte
	count int
	turn  int // index of the user's last message; the messages behind it belong to the turn
	ids   model.SentIDs
	marks marks
}

// appendMessages renders the conversation. The messages behind the last
// question belong to the turn that runs: only they need the reasoning that came
// with them, which some servers refuse in older ones.
//
// Each part of a user's message becomes a message of its own, so that a later call repeats the same
// bytes. Many servers do not take a list of parts. If roles must alternate, the parts become one
// message.
func (c *chatCodec) appendMessages(b []byte, req *chat.ModelRequest, names *model.ToolNames, omit model.Omit, exact marks) []byte {
	messages := req.Messages
	if c.host.mistral || omit.Has(memberRoles) {
		messages = alternateRoles(messages)
	}
	m := &chatMessages{codec: c, names: names, b: b, turn: lastQuestion(messages), marks: exact}
	if req.System != "" && exact.texts {
		m.beginMessage("system")
		m.b = m.marks.appendMark(openPart(append(m.b, `,"content":`...), "text", req.System))
		m.b = append(m.b, `}]}`...)
	} else if req.System != "" {
		m.appendText("system", req.System)
	}
	for i := range messages {
		if msg := &messages[i]; msg.Role == chat.RoleModel {
			m.appendAssistant(msg, i > m.turn, messages[i+1:])
		} else {
			m.appendUser(msg)
		}
	}
	return m.b
}

// appendUser writes the texts of a user's message.
func (m *chatMessages) appendUser(msg *chat.Message) {
	for i := range msg.Parts {
		switch p := &msg.Parts[i]; {
		case m.marks.texts && isInput(p):
			m.beginMessage("user")
			m.b = m.marks.appendNext(openPart(append(m.b, `,"content":`...), "text", p.Text))
			m.b = append(m.b, `}]}`...)
		case isText(p):
			m.appendText("user", p.Text)
		}
	}
}

// memberRoles stands for two messages of the user in a row, or one behind results, which some
// servers refuse.
const memberRoles = "roles"

// alternateRoles returns messages without two messages of the user in a row. A text behind another
// message of the user, or behind results, moves to the end of that.
func alternateRoles(messages []chat.Message) []chat.Message {
	all := make([]chat.Message, 0, len(messages))
	for i := range messages {
		msg, n := messages[i], len(all)
		if msg.Role == chat.RoleModel || !msg.Spoken() {
			all = append(all, msg)
			continue
		}
		text := joinTexts(&msg, "\n\n")
		switch {
		case text == "":
		case n == 0 || all[n-1].Role == chat.RoleModel:
			all = append(all, chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Text: text}}})
		case all[n-1].Spoken():
			all[n-1].Parts = []chat.Part{{Text: all[n-1].Parts[0].Text + "\n\n" + text}}
		default:
			all[n-1].Parts = behindResults(all[n-1].Parts, text)
		}
	}
	return all
}

// behindResults returns results with a text at the end of the last one.
func behindResults(parts []chat.Part, text string) []chat.Part {
	parts = slices.Clone(parts)
	for i := len(parts) - 1; i >= 0; i-- {
		if r := parts[i].Result; r != nil {
			longer := *r
			longer.Text += "\n\n" + text
			parts[i].Result = &longer
			break
		}
	}
	return parts
}

// lastQuestion returns the index of the last message that holds words of the user's, or -1. Results
// and messages right behind them belong to the turn.
func lastQuestion(messages []chat.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == chat.RoleModel || joinTexts(&messages[i], "") == "" || i > 0 && messages[i-1].Maker == chat.ShownMaker {
			continue
		}
		if i == 0 || messages[i-1].Role == chat.RoleModel || messages[i-1].Spoken() {
			return i
		}
	}
	return -1
}

// joinTexts returns the text of a message, without thoughts.
func joinTexts(msg *chat.Message, between string) (text string) {
	for i := range msg.Parts {
		p := &msg.Parts[i]
		if p.Call != nil || p.Result != nil || p.Thought || p.Text == "" {
			continue
		}
		if text != "" {
			text += between
		}
		text += p.Text
	}
	return text
}

// beginMessage begins a message, and leaves it open.
func (m *chatMessages) beginMessage(role string) {
	if m.count++; m.count > 1 {
		m.b = append(m.b, ',')
	}
	m.b = model.AppendString(append(m.b, `{"role":`...), role)
}

// appendText writes a message with text only.
func (m *chatMessages) appendText(role, text string) {
	m.beginMessage(role)
	m.b = append(model.AppendString(append(m.b, `,"content":`...), text), '}')
}

// appendAssistant appends a message of the model's and, if it holds calls, their results,
// which stand in the messages behind it. thisTurn says that no question came after it.
//
// A message without text and calls is left out. Content that is empty is null and not "", as the
// protocol has it with calls.
func (m *chatMessages) appendAssistant(msg *chat.Message, thisTurn bool, behind []chat.Message) {
	text := joinTexts(msg, "")
	calls := callsOf(msg)
	if text == "" && len(calls) == 0 {
		return
	}
	m.beginMessage("assistant")
	if text != "" {
		m.b = model.AppendString(append(m.b, `,"content":`...), text)
	} else {
		m.b = append(m.b, `,"content":null`...) // some demand the member
	}
	own := msg.Maker == m.codec.maker
	returned := false
	if own {
		returned = m.appendReturned(msg, thisTurn && len(calls) > 0)
	}
	if len(calls) == 0 {
		m.b = append(m.b, '}')
		return
	}
	if m.codec.host.deepSeek && !returned {
		m.b = append(m.b, `,"reasoning_content":""`...) // DeepSeek answers 400 if it is missing
	}
	ids := m.toolCalls(calls, own)
	m.b = append(m.b, '}')
	m.appendResults(calls, ids, resultsOf(behind))
}

// appendReturned appends the reasoning that goes back with a message, and reports whether it had
// thoughts as text. Thoughts as text go back only with calls of this turn.
//
// Text is returned at most once, whichever of the two members it came in.
func (m *chatMessages) appendReturned(msg *chat.Message, thoughts bool) (returned bool) {
	for i := range msg.Parts {
		p := &msg.Parts[i]
		if p.Kept == "" || p.Call != nil {
			continue
		}
		for _, f := range keptMembers(p.Kept) {
			isText := f.Name != "reasoning_details"
			if isText && (!thoughts || returned) {
				continue
			}
			returned = returned || isText
			m.b = append(model.AppendString(append(m.b, ','), f.Name), ':')
			m.b = append(m.b, f.Value...)
		}
	}
	return returned
}

// keptMembers returns the members of a kept part that belong into a message.
func keptMembers(kept string) (list model.Object) {
	v := jsontext.Value(kept)
	if !v.IsValid() {
		return nil
	}
	for _, f := range model.Members(v) {
		switch f.Name {
		case "reasoning_details", "reasoning_content", "reasoning":
			list = append(list, f)
		}
	}
	return list
}

// sentinel stands for the missing signature of another model's call, as the documentation of Gemini
// 3 on thought signatures asks.
const sentinel = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`

// toolCalls appends the calls of a message and returns the ids that they got.
func (m *chatMessages) toolCalls(calls []*chat.Part, own bool) []string {
	ids := make([]string, len(calls))
	m.b = append(m.b, `,"tool_calls":`...)
	for i, p := range calls {
		ids[i] = m.sentID(p.Call.ID, own)
		m.b = append(m.b, "[,"[min(i, 1)])
		m.b = model.AppendString(append(m.b, `{"id":`...), ids[i])
		m.b = model.AppendString(append(m.b, `,"type":"function","function":{"name":`...), m.names.Fit(p.Call.Name))
		m.b = model.AppendString(append(m.b, `,"arguments":`...), argumentsText(p.Call))
		m.b = append(m.b, '}')
		if own {
			m.extraContent(p)
		} else if i == 0 && m.codec.host.gemini {
			m.b = append(m.b, `,"extra_content":`+sentinel...)
		}
		m.b = append(m.b, '}')
	}
	m.b = append(m.b, ']')
	return ids
}

// extraContent appends the extra_content that the model has added to its own call.
func (m *chatMessages) extraContent(p *chat.Part) {
	extra := model.Members(jsontext.Value(p.Kept)).Get("extra_content")
	if extra.Kind() == '{' && extra.IsValid() {
		m.b = append(append(m.b, `,"extra_content":`...), extra...)
	}
}

// argumentsText returns the arguments of a call as text. Empty arguments become {}, because several
// servers refuse an empty string.
func argumentsText(call *tool.Call) string {
	if args := bytes.TrimSpace(call.Arguments); len(args) > 0 {
		return string(args)
	}
	return "{}"
}

// maxForeignID is how long an id may be that another model gave: OpenAI's API refuses longer ones.
// A service takes its own ids at any length.
const maxForeignID = 40

// sentID returns the id to send for a call: its own, or one that fits.
//
// Mistral wants nine letters and digits for every call, its own or not.
func (m *chatMessages) sentID(id string, own bool) string {
	return m.ids.Fit(id, func(id string) bool {
		if m.codec.host.mistral {
			return model.NineLetters(id)
		}
		return own || len(id) <= maxForeignID
	})
}

// noResult stands in for a missing result: the provider refuses a call without one.
const noResult = "no result"

// appendResults appends the results of calls, in the calls' order.
//
// A result is used once. A result without an id is found by its tool's name. A result without a
// call is left out.
func (m *chatMessages) appendResults(calls []*chat.Part, ids []string, results []*tool.Result) {
	for i, p := range calls {
		text := noResult
		for j, r := range results {
			if r != nil && r.ID == p.Call.ID && (r.ID != "" || r.Name == p.Call.Name) {
				text, results[j] = r.Text, nil
				break
			}
		}
		m.beginMessage("tool")
		m.b = model.AppendString(append(m.b, `,"tool_call_id":`...), ids[i])
		if m.marks.results && i == len(calls)-1 {
			m.b = m.marks.appendNext(openPart(append(m.b, `,"content":`...), "text", text))
			m.b = append(m.b, `}]}`...)
			continue
		}
		m.b = append(model.AppendString(append(m.b, `,"content":`...), text), '}')
	}
}

// callsOf returns the parts of msg that are calls, in their order.
func callsOf(msg *chat.Message) (calls []*chat.Part) {
	for i := range msg.Parts {
		if msg.Parts[i].Call != nil {
			calls = append(calls, &msg.Parts[i])
		}
	}
	return calls
}

// resultsOf returns the results up to the next message of the model's.
func resultsOf(behind []chat.Message) (results []*tool.Result) {
	for i := range behind {
		if behind[i].Role == chat.RoleModel {
			break
		}
		for j := range behind[i].Parts {
			if p := &behind[i].Parts[j]; p.Call == nil && p.Result != nil {
				results = append(results, p.Result)
			}
		}
	}
	return results
}
