package agent

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// stateBody is a saved State, without the runs that wait within its calls. Members are only
// ever added; a version that does not know one refuses the state by the version of the tree,
// not by the member.
type stateBody struct {
	System   string              `json:"system"`
	Messages []storedMessage     `json:"messages"`
	Access   chat.ToolAccess     `json:"access,omitempty"`
	Steps    int                 `json:"steps"`
	Open     []storedOpen        `json:"open,omitempty"`
	Dropped  int                 `json:"dropped,omitempty"`
	Usage    chat.Usage          `json:"usage"`
	Model    []time.Duration     `json:"model,omitempty"` // nanoseconds
	Tools    []stream.ToolTiming `json:"tools,omitempty"`
	Reason   stream.FinishReason `json:"reason,omitempty"`
	// Tail is the last byte of the answer so far: whether the next text needs
	// a line end in front. Missing are servers that were reported to be unavailable.
	Tail     byte     `json:"tail,omitempty"`
	Missing  []string `json:"missing,omitempty"`
	Answered string   `json:"answered,omitempty"`
	Models   []string `json:"models,omitempty"`
	// KeptBytes counts the bytes that go back to the model; Given and IDs are what
	// ids of calls are made from.
	KeptBytes   int            `json:"kept,omitempty"`
	Given       int            `json:"given_ids,omitempty"`
	IDs         []string       `json:"ids,omitempty"`
	CallRecords []storedRecord `json:"made,omitempty"`
	// From is how many messages stand before these, of a part that was saved: see Join.
	From int `json:"from,omitempty"`
}

// storedMessage is a chat.Message as it is saved.
type storedMessage struct {
	Role  chat.Role    `json:"role"`
	Parts []storedPart `json:"parts"`
	Maker string       `json:"maker,omitempty"`
}

// storedPart is a chat.Part as it is saved. Signatures and the provider's data are stored to the
// byte: without them the conversation cannot continue.
type storedPart struct {
	Text         string       `json:"text,omitempty"`
	Thought      bool         `json:"thought,omitempty"`
	Signature    string       `json:"signature,omitempty"`
	ProviderData string       `json:"kept,omitempty"` // a string, so that its bytes stay
	Call         *storedCall  `json:"call,omitempty"`
	Result       *tool.Result `json:"result,omitempty"`
}

// storedCall keeps the arguments as a string: as JSON they would be compacted, and
// the model is sent back the bytes that it wrote.
type storedCall struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// storedOpen is an OpenCall as it is saved.
type storedOpen struct {
	ID      string        `json:"id"`
	Call    storedCall    `json:"call"`
	Answer  Answer        `json:"answer,omitempty"`
	Message string        `json:"note,omitempty"`
	Result  *tool.Result  `json:"result,omitempty"`
	Key     string        `json:"key,omitempty"`
	Args    string        `json:"changed,omitempty"`
	Print   string        `json:"print,omitempty"`
	Within  *storedWithin `json:"within,omitempty"`
	Unsafe  bool          `json:"unsafe,omitempty"`
	Outcome bool          `json:"outcome,omitempty"`
}

// storedRecord is a call that was made, as the ledger counts it: by a key that is
// the same for equal arguments.
type storedRecord struct {
	Key   string `json:"key"`
	Times int    `json:"times"`
	Lost  bool   `json:"lost,omitempty"`
	No    bool   `json:"rejected,omitempty"`
}

// Paused returns the State as a tree that waits, with the runs within its calls.
func (s *State) Paused() (*run.Paused, error) {
	var within []*run.Paused
	for _, c := range s.Open {
		if c.Within != nil {
			within = append(within, c.Within.State.As(c.ID))
		}
	}
	return run.Pause(chat.PausedAgent, s.storedBody(), within...)
}

// MarshalJSON returns the State in the form that UnmarshalJSON reads.
func (s State) MarshalJSON() ([]byte, error) {
	p, err := s.Paused()
	if err != nil {
		return nil, err
	}
	return p.Encode(), nil
}

// storedBody returns s as it is saved. It shares no memory with the data that a running turn
// changes.
func (s *State) storedBody() stateBody {
	b := stateBody{
		System: s.System, Access: s.Access, Steps: s.Steps, Dropped: s.Dropped, Usage: s.Usage, Model: s.Model, Tools: s.Tools,
		Reason: s.Reason, Tail: s.Tail, Missing: s.Missing, Given: s.calls.n,
		Answered: s.Answered, Models: s.Models, KeptBytes: s.keptBytes,
	}
	for _, m := range s.Messages {
		stored := storedMessage{Role: m.Role, Parts: []storedPart{}, Maker: m.Maker}
		for _, p := range m.Parts {
			part := storedPart{Text: p.Text, Thought: p.Thought, Signature: p.Signature, ProviderData: p.Kept, Result: p.Result}
			if p.Call != nil {
				c := storeCall(*p.Call)
				part.Call = &c
			}
			stored.Parts = append(stored.Parts, part)
		}
		b.Messages = append(b.Messages, stored)
	}
	for _, c := range s.Open {
		b.Open = append(b.Open, storedOpen{c.ID, storeCall(c.Call), c.Answer, c.Message, c.Result, c.key, string(c.Changed), c.print, storeWithin(c.Within), c.Unsafe, c.Outcome})
	}
	for _, id := range s.calls.ids.entries {
		b.IDs = append(b.IDs, id.key)
	}
	for _, m := range s.calls.records.entries {
		b.CallRecords = append(b.CallRecords, storedRecord{m.key, m.value.times, m.value.lost, m.value.rejected})
	}
	return b
}

// storeCall keeps arguments as a string, so that their bytes stay: a ledger
// compares them.
func storeCall(c tool.Call) storedCall { return storedCall{c.ID, c.Name, string(c.Arguments)} }

// toolCall returns the call as it was made.
func (c storedCall) toolCall() tool.Call {
	return tool.Call{ID: c.ID, Name: c.Name, Arguments: jsontext.Value(c.Arguments)}
}

// changedArguments returns the arguments that replace those of the call, or nil.
func (c *storedOpen) changedArguments() jsontext.Value {
	if c.Args == "" {
		return nil
	}
	return jsontext.Value(c.Args)
}

// UnmarshalJSON reads a stored State. Its error wraps run.ErrPaused.
func (s *State) UnmarshalJSON(data []byte) error {
	p, err := run.ReadPaused(chat.PausedAgent, data)
	if err == nil {
		*s, err = ReadState(p)
	}
	return err
}

// ReadState returns the State that waits. Its error wraps run.ErrPaused.
func ReadState(p *run.Paused) (State, error) {
	var b stateBody
	if err := p.Into(&b); err != nil {
		return State{}, err
	}
	if err := b.checkBody(); err != nil {
		return State{}, fmt.Errorf("%w: %w", run.ErrPaused, err)
	}
	s := b.toState()
	for i, c := range b.Open {
		if c.Within == nil {
			continue
		}
		var err error
		if s.Open[i].Within.State, err = p.Child(run.KindSession, c.ID, c.Within.State); err != nil {
			return State{}, err
		}
	}
	return s, nil
}

// checkBody refuses a state with which the loop could not continue.
func (b *stateBody) checkBody() error {
	switch {
	case len(b.Messages) == 0:
		return errors.New("it has no messages")
	case !b.hasCounts():
		return errors.New("a count is negative")
	case len(b.Open) > maxCalls:
		return errors.New("too many calls are open")
	case b.Reason != "" && len(b.Open) > 0:
		return errors.New("it is over, and calls are open")
	}
	if slices.ContainsFunc(b.CallRecords, func(m storedRecord) bool { return m.Times < 0 }) {
		return errors.New("a count is negative")
	}
	return b.checkOpen()
}

// hasCounts reports whether the counts are such as the loop has.
func (b *stateBody) hasCounts() bool {
	return min(b.Steps, b.Dropped, b.Given, b.KeptBytes) >= 0 && b.KeptBytes <= maxTurnKept
}

// checkOpen compares the open calls with those of the last message.
func (b *stateBody) checkOpen() error {
	if len(b.Open) == 0 {
		return nil
	}
	calls := b.lastCalls()
	if len(calls) != len(b.Open) {
		return errors.New("the open calls are not those of the last message")
	}
	for i, c := range b.Open {
		if c.Call != calls[i] || c.ID == "" {
			return errors.New("the open calls are not those of the last message")
		}
		if err := c.checkAnswer(i); err != nil {
			return err
		}
	}
	return nil
}

// checkAnswer compares the answer of call i with its result, and with the call that waits within
// it.
func (c *storedOpen) checkAnswer(i int) error {
	if c.Answer.hasResult() != (c.Result != nil) {
		return fmt.Errorf("call %d has the answer %q, and its result does not fit that", i, c.Answer)
	}
	return c.Within.checkWithin(c.Answer)
}

// hasResult reports whether a call with this answer has run, or was answered by somebody else.
func (a Answer) hasResult() bool { return a == answerRan || a == answerSupplied }

// lastCalls returns the calls of the last message.
func (b *stateBody) lastCalls() (calls []storedCall) {
	for _, p := range b.Messages[len(b.Messages)-1].Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// toState returns the State of the body, without the runs within its calls: the caller fills them
// in.
func (b *stateBody) toState() State {
	s := State{
		System: b.System, Access: b.Access, Steps: b.Steps, Dropped: b.Dropped, Usage: b.Usage, Model: b.Model, Tools: b.Tools,
		Reason: b.Reason, Tail: b.Tail, Missing: b.Missing,
		Answered: b.Answered, Models: b.Models, keptBytes: b.KeptBytes,
	}
	for _, m := range b.Messages {
		message := chat.Message{Role: m.Role, Maker: m.Maker}
		for _, p := range m.Parts {
			part := chat.Part{Text: p.Text, Thought: p.Thought, Signature: p.Signature, Kept: p.ProviderData, Result: p.Result}
			if p.Call != nil {
				c := p.Call.toolCall()
				part.Call = &c
			}
			message.Parts = append(message.Parts, part)
		}
		s.Messages = append(s.Messages, message)
	}
	for _, c := range b.Open {
		s.Open = append(s.Open, OpenCall{ID: c.ID, Call: c.Call.toolCall(), Answer: c.Answer, Message: c.Message, Changed: c.changedArguments(), Result: c.Result,
			Within: c.Within.toWithin(), Unsafe: c.Unsafe, Outcome: c.Outcome, key: c.Key, print: c.Print})
	}
	s.calls.n = b.Given
	for _, id := range b.IDs {
		s.calls.ids.add(id)
	}
	for _, m := range b.CallRecords {
		*s.calls.records.add(m.Key) = callRecord{m.Times, m.Lost, m.No}
	}
	return s
}
