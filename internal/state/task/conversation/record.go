package conversation

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// recordVersion is the version of a stored turn. A turn of another version is passed over.
const recordVersion = 1

// record is a turn as it is stored.
type record struct {
	Version int    `json:"v"`
	At      string `json:"at,omitempty"` // the line of its time, as models were shown it
	// ShownTurns counts the turns that were shown to this one, and itself: older ones have left. 0:
	// an older version has written it.
	ShownTurns int    `json:"shown,omitempty"`
	Input      string `json:"input"`
	Answer     string `json:"answer"`
	Steps      []step `json:"steps,omitempty"`
}

// step is a model's message with calls, and their results: no call is without one.
type step struct {
	Origin string `json:"origin"`
	Maker  string `json:"maker,omitempty"`
	Calls  []call `json:"calls"`
}

// call is a call with its result. Arguments are a text, so that their bytes stay.
type call struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Signature string `json:"signature,omitempty"`
	Extra     string `json:"kept,omitempty"`
	Result    string `json:"result"`
	Failed    bool   `json:"failed,omitempty"`
}

// maxResult bounds a result, and the arguments of a call that goes back, in bytes.
const maxResult = 2 << 10

// stepsOfAgents takes over what agents did. Their thoughts are left out, and so is their text, as the
// answer has it.
func stepsOfAgents(made []chat.TurnMessages) (steps []step) {
	for _, m := range made {
		for i := 0; i+1 < len(m.Messages); i++ {
			if s, ok := stepOfMessage(&m.Messages[i], &m.Messages[i+1]); ok {
				steps = append(steps, s)
			}
		}
	}
	return steps
}

// stepOfMessage takes over a message with calls. Calls and results are in the same order.
func stepOfMessage(said, results *chat.Message) (step, bool) {
	s := step{Origin: said.Origin, Maker: said.Maker}
	n := 0
	for i := range said.Parts {
		p := &said.Parts[i]
		if p.Call == nil {
			continue
		}
		if n >= len(results.Parts) || results.Parts[n].Result == nil {
			break
		}
		r := results.Parts[n].Result
		n++
		s.Calls = append(s.Calls, call{
			ID: p.Call.ID, Name: p.Call.Name, Arguments: string(p.Call.Arguments), Signature: p.Signature, Extra: p.Kept,
			Result: clipText(r.Text, maxResult), Failed: r.IsError,
		})
	}
	for i := range s.Calls {
		if len(s.Calls[i].Arguments) > maxResult { // cut arguments would not be JSON: all of the step becomes text
			s.Origin = ""
		}
	}
	return s, len(s.Calls) > 0
}

// clipText returns at most limit bytes of a text, the mark of a cut included.
func clipText(text string, limit int) string {
	const mark = " […]"
	if len(text) <= limit {
		return text
	}
	head, _ := chat.Truncate(text, limit-len(mark))
	return head + mark
}

// asMessages returns a turn as later ones are shown it.
func (r *record) asMessages() []chat.Message {
	all := []chat.Message{textMessage(chat.RoleUser, r.Input)}
	all[0].At = r.At
	answer := r.Answer
	var lines string
	for _, s := range r.Steps {
		if s.Origin == "" {
			for i := range s.Calls {
				lines += chat.CallLine(s.Calls[i].toolCall(), s.Calls[i].toolResult()) + "\n"
			}
			continue
		}
		said := chat.Message{Role: chat.RoleModel, Maker: s.Maker, Origin: s.Origin}
		results := chat.Message{Role: chat.RoleUser}
		for i := range s.Calls {
			c := &s.Calls[i]
			said.Parts = append(said.Parts, chat.Part{Call: c.toolCall(), Signature: c.Signature, Kept: c.Extra})
			results.Parts = append(results.Parts, chat.Part{Result: c.toolResult()})
		}
		all = append(all, said, results)
	}
	if lines != "" {
		answer = lines + "\n" + answer
	}
	return append(all, textMessage(chat.RoleModel, answer))
}

// toolCall is the call as a model made it.
func (c *call) toolCall() *tool.Call {
	return &tool.Call{ID: c.ID, Name: c.Name, Arguments: jsontext.Value(c.Arguments)}
}

// toolResult returns the result of the call.
func (c *call) toolResult() *tool.Result {
	return &tool.Result{ID: c.ID, Name: c.Name, Text: c.Result, IsError: c.Failed}
}

// textMessage is a message of one text.
func textMessage(role chat.Role, s string) chat.Message {
	return chat.Message{Role: role, Parts: []chat.Part{{Text: s}}}
}

// countSize returns how many messages a turn is, and how many tokens about.
func (r *record) countSize() (messages, tokens int) {
	messages, tokens = 2, tokensOf(r.Input)+tokensOf(r.Answer)
	for _, s := range r.Steps {
		messages += 2
		for i := range s.Calls {
			tokens += tokensOf(s.Calls[i].Name) + tokensOf(s.Calls[i].Arguments) + tokensOf(s.Calls[i].Result)
		}
	}
	return messages, tokens
}

// tokenBytes is how long a token is taken to be.
const tokenBytes = 4

// tokensOf estimates the tokens of a text, rounded up.
func tokensOf(s string) int { return (len(s) + tokenBytes - 1) / tokenBytes }

// encode returns the JSON that readRecord reads.
func (r *record) encode() []byte {
	data, _ := json.Marshal(r) // texts: cannot fail
	return data
}

// readRecord reads a turn. ok is false if it cannot be read. A turn reads all turns before it. With
// encoding/json, which accepts the same texts, that was half of the cost of a turn in a long
// conversation.
func readRecord(data []byte) (r record, ok bool) {
	err := jsonv2.Unmarshal(data, &r, jsonv2.MatchCaseInsensitiveNames(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil || r.Version != recordVersion || r.Input == "" || r.Answer == "" {
		return record{}, false
	}
	for i := range r.Steps {
		if !r.Steps[i].isSound() {
			return record{}, false
		}
	}
	return r, true
}

// isSound reports whether a step has calls that can be shown.
func (s *step) isSound() bool {
	for _, c := range s.Calls {
		if c.Name == "" || !jsontext.Value(c.Arguments).IsValid() {
			return false
		}
	}
	return len(s.Calls) > 0
}
