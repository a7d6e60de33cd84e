package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// A tool may be an agent itself (Callees). When that agent must wait for a person, the call waits
// with it. The step's other calls run to their ends, then the turn pauses with one question for
// all. The State of the caller holds that of the agent within, to any depth, so there is still one
// value from which everything continues.

// suspendedText is what clients receive of a call that is suspended. Its stream ends, and there
// every call must have ended: it begins again, with its id, in the one that continues.
const suspendedText = "Waits for a person to decide."

// suspendCall takes a suspended call out of the errors: to the step it is one that waits.
func (j *job) suspendCall() {
	if s, ok := errors.AsType[*Suspended](j.err); ok {
		j.err, j.waits = nil, true
		j.within = &Within{State: s.State, Asks: s.Calls}
		j.result = tool.Result{ID: j.call.ID, Name: j.call.Name, Text: suspendedText}
	}
}

// asksOf returns the questions about an open call.
func (t *turn) asksOf(c *OpenCall) []chat.PendingCall {
	if c.Within == nil {
		call := chat.PendingCall{ID: c.ID, Tool: c.Call.Name, Arguments: c.Call.Arguments}
		identifyTool(&call, t.tools.Lookup(c.Call.Name))
		return []chat.PendingCall{call}
	}
	asks := slices.Clone(c.Within.Asks)
	of := t.agent.callees
	for i := range asks {
		asks[i].Within = c.ID
		if asks[i].Spec == nil && of != nil { // it was read back
			asks[i].Server = ""
			identifyTool(&asks[i], of.Spec(t.ctx, asks[i].AgentID, asks[i].Tool))
		}
	}
	return asks
}

// identifyTool sets the tool of a call; spec is nil if no tool has its name.
func identifyTool(c *chat.PendingCall, spec *tool.Spec) {
	c.Fingerprint = ""
	if c.Spec = spec; spec != nil {
		c.Server, c.Fingerprint = spec.Server, spec.Fingerprint()
	}
}

// askedWithin returns the open call within which a call of that id waits, or nil.
func (s *State) askedWithin(id string) *OpenCall {
	for i := range s.Open {
		c := &s.Open[i]
		if c.Answer == answerWaiting && c.Within != nil &&
			slices.ContainsFunc(c.Within.Asks, func(a chat.PendingCall) bool { return a.ID == id }) {
			return c
		}
	}
	return nil
}

// decideWithin takes a decision about a call within this one. A second one about the same call is
// an error.
func (c *OpenCall) decideWithin(d chat.Decision) error {
	w := c.Within
	if slices.ContainsFunc(w.Decided, func(before chat.Decision) bool { return before.CallID == d.CallID }) {
		return fmt.Errorf("call %q is decided twice", d.CallID)
	}
	if w.Decided = append(w.Decided, d); len(w.Decided) == len(w.Asks) {
		c.Answer = answerDecided
	}
	return nil
}

// RefuseAll closes all calls that wait because nobody can be asked about them, also those
// within suspended ones: their agents continue and read the refusal.
func (s *State) RefuseAll(why string) {
	for i := range s.Open {
		c := &s.Open[i]
		switch {
		case c.Answer != answerWaiting:
		case c.Within == nil:
			c.Answer, c.Message = answerRefused, why
		default:
			c.Within.Decided, c.Answer = nil, answerDecided
			for _, a := range c.Within.Asks {
				c.Within.Decided = append(c.Within.Decided, chat.Decision{CallID: a.ID, Action: chat.Refuse, Message: why})
			}
		}
	}
}

// startContinued continues a suspended call, in another stream with the id that it had before. If
// nobody could be asked, the stream is still the same one. An id cannot begin twice in it, so the
// call gets another id.
func (t *turn) startContinued(c *OpenCall) *job {
	id := c.ID
	if c.Within.Decided[0].Action == chat.Refuse {
		id = t.state.calls.newCallID("")
	}
	j := newJob(id, c.Call, t.tools.Lookup(c.Call.Name))
	j.key, c.ID = c.key, id
	j.continued = &Continued{State: c.Within.State, Decisions: c.Within.Decided}
	if j.spec == nil {
		j.err = refusalFault(j.call, "the tool is not available any more", "Do without it.")
	}
	t.emitStarted(j)
	if j.err != nil {
		t.closeCall(j)
	}
	return j
}

// suspendedAgain records which calls of the step wait once more; the others have run. It returns
// false if none waits: then the step is complete.
func (s *State) suspendedAgain(jobs []*job) (again bool) {
	still := func(i int) bool { return jobs[i] == nil && s.Open[i].Answer == answerWaiting }
	for i, j := range jobs {
		again = again || j != nil && j.waits || still(i)
	}
	for i := range s.Open {
		c := &s.Open[i]
		switch {
		case !again, still(i):
		case jobs[i] != nil && jobs[i].waits:
			c.Answer, c.Within = answerWaiting, jobs[i].within
		default:
			c.Answer, c.Within = answerRan, nil
		}
	}
	return again
}

// storedWithin is a Within as it is saved, but for its State.
type storedWithin struct {
	State json.RawMessage `json:"state,omitempty"` // in the forms before the tree
	Asks  []storedAsk     `json:"asks"`
	Done  []chat.Decision `json:"decided,omitempty"`
}

// storedAsk keeps the arguments as a string, as storedCall does.
type storedAsk struct {
	ID        string `json:"id"`
	Agent     string `json:"agent,omitempty"`
	Tool      string `json:"tool"`
	Server    string `json:"server,omitempty"`
	Arguments string `json:"arguments"`
	Print     string `json:"print,omitempty"`
}

func storeWithin(w *Within) *storedWithin {
	if w == nil {
		return nil
	}
	stored := &storedWithin{Done: w.Decided}
	for _, a := range w.Asks {
		stored.Asks = append(stored.Asks, storedAsk{a.ID, a.AgentID, a.Tool, a.Server, string(a.Arguments), a.Fingerprint})
	}
	return stored
}

// toWithin returns the Within that was stored. Tools are looked up when the question is asked
// again.
func (stored *storedWithin) toWithin() *Within {
	if stored == nil {
		return nil
	}
	w := &Within{Decided: stored.Done}
	for _, a := range stored.Asks {
		w.Asks = append(w.Asks, chat.PendingCall{
			ID: a.ID, AgentID: a.Agent, Tool: a.Tool, Server: a.Server, Arguments: jsontext.Value(a.Arguments), Fingerprint: a.Print,
		})
	}
	return w
}

// checkWithin refuses a state that could not continue. An answer that this version does not know
// would leave the call without a result.
func (stored *storedWithin) checkWithin(answer Answer) error {
	switch {
	case stored == nil:
		return checkAlone(answer)
	case answer != answerWaiting && answer != answerDecided:
		return fmt.Errorf("a call within which somebody waits has the answer %q", answer)
	case len(stored.Asks) == 0:
		return errors.New("of a call within which somebody waits something is missing")
	case answer == answerDecided && len(stored.Done) != len(stored.Asks):
		return errors.New("not all calls within a call were decided")
	}
	return nil
}

// checkAlone checks the answer of a call without a waiting call within it.
func checkAlone(answer Answer) error {
	if slices.Contains([]Answer{answerWaiting, answerRan, answerApproved, answerRejected, answerRefused, answerSupplied, answerRuns}, answer) {
		return nil
	}
	return fmt.Errorf("a call has the answer %q", answer)
}
