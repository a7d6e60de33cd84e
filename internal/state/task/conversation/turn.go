package conversation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// maxText bounds each text of a stored turn, in bytes.
const maxText = 256 << 10

// turn is a turn in the list of a conversation: a record, with the facts that a person is shown.
type turn struct {
	ID   string `json:"id"`
	Task string `json:"task,omitzero"`
	// After is the turn before. If Forked, the request named it; else it is the head as it was known
	// when the turn was appended, and the list's order decides. Empty: the turn begins a line.
	After  string `json:"after,omitzero"`
	Forked bool   `json:"forked,omitzero"`
	// Takeovers is the number of processes that have taken the turn over. If two processes believed
	// to own it, the record with more counts.
	Takeovers int `json:"takeovers,omitzero"`
	record
	Began  int64  `json:"began"` // Unix time in milliseconds
	Ended  int64  `json:"ended"`
	Agent  string `json:"agent,omitzero"`
	Finish string `json:"finish"`
	// Tools names the tools that were called, each once.
	Tools []string `json:"tools,omitzero"`
	// Cut is the marker that a model is shown behind an answer that is incomplete.
	Cut string `json:"cut,omitzero"`
	// Markdown is the answer as a model is shown it, if it was sent in the form of a channel.
	Markdown string `json:"markdown,omitzero"`
	// Continues is true if the turn continues a paused one: its input is not a new message.
	Continues bool `json:"continues,omitzero"`
	// Clipped is true if a text is cut.
	Clipped bool `json:"clipped,omitzero"`

	waits bool // for a person, at its end
}

// encode returns the JSON that readTurn reads.
func (t *turn) encode() []byte {
	data, _ := json.Marshal(t, jsontext.AllowInvalidUTF8(true)) // texts and numbers: cannot fail
	return data
}

// readTurn reads a turn. ok is false if it cannot be read.
func readTurn(data []byte) (t turn, ok bool) {
	err := json.Unmarshal(data, &t, jsontext.AllowInvalidUTF8(true))
	if err != nil || t.Version != recordVersion || t.ID == "" {
		return turn{}, false
	}
	for i := range t.Steps {
		if !t.Steps[i].isSound() {
			return turn{}, false
		}
	}
	return t, true
}

// forModel returns the turn as later ones are shown it, with texts of at most limit bytes.
func (t *turn) forModel(limit int) record {
	r := t.record
	text := strings.TrimSpace(cmp.Or(t.Markdown, t.Answer))
	switch {
	case t.Cut != "" && text != "":
		r.Answer = clipText(text, max(limit/2, limit-len(t.Cut)-2)) + "\n\n" + t.Cut
	case t.Cut != "":
		r.Answer = t.Cut
	default:
		r.Answer = clipText(cmp.Or(text, "[No text.]"), limit)
	}
	r.Input = clipText(cmp.Or(r.Input, "[No text.]"), limit)
	return r
}

// fillFrom fills in the facts that the events of a turn have reported, and how it ended. made are
// the messages of its agents.
func (t *turn) fillFrom(l *listener, reason stream.FinishReason, err error, made []chat.TurnMessages, keepsCalls bool) {
	t.Version, t.Finish = recordVersion, string(reason)
	if err != nil {
		t.Finish = string(stream.ReasonFor(err))
	}
	if err != nil || !reason.Success() {
		t.Cut = l.answerMarker(err)
	}
	t.Answer, t.Clipped = chat.Truncate(l.Text(), maxText)
	if input, cut := chat.Truncate(t.Input, maxText); cut {
		t.Input, t.Clipped = input, true
	}
	if l.Route != nil {
		t.Agent = l.Route.AgentID
	}
	for _, c := range l.Calls {
		if c.SessionID == "" && !slices.Contains(t.Tools, c.Tool) && len(t.Tools) < maxTools {
			t.Tools = append(t.Tools, chat.Line(c.Tool, maxToolName))
		}
	}
	t.waits = reason == stream.ApprovalRequired
	if !keepsCalls {
		return
	}
	if t.Steps = stepsOfAgents(made); len(t.Steps) == 0 {
		t.Steps = stepsOfCalls(l.Calls)
	}
}

// Bounds of Tools.
const (
	maxTools    = 64
	maxToolName = 128
)

// stepsOfCalls makes a step of the finished calls that a turn has reported. Without an origin,
// models are shown a line for each call.
func stepsOfCalls(calls stream.Calls) []step {
	var s step
	for i := range calls {
		c := &calls[i]
		if c.SessionID != "" || c.Outcome == "" || !c.Arguments.IsValid() {
			continue
		}
		s.Calls = append(s.Calls, call{ID: c.ID, Name: c.Tool, Arguments: string(c.Arguments), Result: clipText(c.Result, maxResult), Failed: c.Outcome != stream.CallCompleted})
	}
	if len(s.Calls) == 0 {
		return nil
	}
	return []step{s}
}

// isLost reports whether a turn that ended with err belongs to another process.
func isLost(err error) bool {
	f := fault.From(err)
	return f != nil && f.Type == fault.TurnLost
}
