package chat

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"sluice/internal/turn/tool"
)

// Facts are the properties that the parts of one turn share, besides the words of the request. They
// travel in the Request, from outer runners to inner ones. A part that changes a fact for the inner
// runners passes them a copy of the request. A request that one part makes for another takes over
// the Facts of its own. Code that gets no Request uses Turn.
//
// The zero value is a turn by itself: nobody can be asked, and nothing is shared.
type Facts struct {
	// A Runner calls Ask with the state in which it would wait for a person, before it returns that
	// in its Result. It returns an empty text if a person can be asked. Otherwise the calls are refused
	// with the text, and the turn continues. Set by approval. Each inner part adds its own part of
	// the state. nil if nobody can be asked. See Facts.Pause.
	Ask func(*Paused) (refusal string)
	// Held reports whether the answer is held back until its check: then it must not be stored
	// before. It is asked by the goroutine of the turn, before the first text. Set by quality, read
	// by workflow, which returns stream.Result.StoreAnswer. nil if the answer is not held.
	Held func() bool
	// Verdicts are about calls that no agent of the turn may make. Set where several agents
	// take part, used by agent; nil for a single agent, whose ledger is enough.
	Verdicts *Verdicts
	// Guard stands around each call of a tool. Set by a workflow for the agents of its nodes,
	// used by agent; nil: calls are made as they come.
	Guard Guard
	// Sessions counts the tasks that agents give each other. Set by the gateway for a turn of
	// a team, used by delegate; nil: no agent calls another.
	Sessions *Sessions
	// Saving saves the state of the turn. Set by the code that stores turns, used by agent, router
	// and delegate; nil for a turn that is not stored.
	Saving *Saving
	// Callers are the agents that wait for the answer to this request, the first one first.
	// Set and read by delegate.
	Callers []string
	// Retracts is true if the reader of the answer can be shown that a part of it no longer counts.
	// This needs a protocol with such an event and a model that is configured for it. Set by
	// the code that serves the turn, used by agent; false for delegates and texts outside the answer.
	Retracts bool
	// CanRetract is true if the reader's protocol has such an event. Set by the code that serves
	// the turn, and stored by a workflow for a process that takes its run over.
	CanRetract bool
	// Seams counts the seams of the turn. Set by the code that serves the turn, used by agent; nil
	// if no model is configured to continue a text.
	Seams *Seams
	// ShownText is the text of the answer behind the last saved state, of a turn that another process
	// began and that continues it. Set by the code that takes turns over, used by agent. For a team it
	// is all text: router knows which of it is saved.
	ShownText string
}

// NobodyToAsk is the refusal where no person can be reached.
const NobodyToAsk = "A person must confirm this call, and this client cannot ask for that. Do not call it again; tell the user so."

// Pause calls Ask. Without Ask it returns NobodyToAsk.
func (f *Facts) Pause(p *Paused) (refusal string) {
	if f.Ask == nil {
		return NobodyToAsk
	}
	return f.Ask(p)
}

// Guard observes the calls of an agent's tools, and may give their results.
type Guard interface {
	// Call makes a call with run, or returns its result without making it. spec is nil for an
	// unknown tool.
	Call(ctx context.Context, spec *tool.Spec, call tool.Call, run func(context.Context, tool.Call) (tool.Result, error)) (tool.Result, error)
}

// Saving lets a request save the state of its turn. It never changes.
type Saving struct {
	Saver
	// Part names the part of the turn that the request is; empty: all of it.
	Part string
	// Before holds the parts that a previous process has saved, for the runners that continue them.
	Before map[string][][]byte
	// Takeovers counts the processes that have taken the turn over, this one included.
	Takeovers int
}

// SavedDelivery begins the name of a saved part. It is a complete answer that was sent and waits
// for its delivery, so that no text of it is sent again.
const SavedDelivery = "delivery:"

// SavedSeam names a saved part that is not a state: a seam of the turn, which its next process reports
// as well.
const SavedSeam = "seam:"

// Saver saves the state of a turn in the store, so that another process can take it over. It
// is safe for concurrent use.
type Saver interface {
	// Save saves the new state of a part of the turn. It goes to the store at the latest with the
	// next events.
	Save(part string, state []byte)
	// Confirm returns when the store has all saved states. After an error no unsafe call may run.
	Confirm() error
	// Begin announces an unsafe call that is under way until its end is called. A process that
	// hands the turn over waits a moment for the end of the call.
	Begin() (end func())
	// Together runs f, which ends with a Flush, and stores the events and states of f in one step.
	// An event without the state that belongs to it cannot be continued.
	Together(f func())
	// IsHandedOver reports whether another process has the turn, or will have it: this process does
	// not learn its outcome.
	IsHandedOver() bool
}

// Sessions counts the tasks that the agents of a turn have given each other. They run at the
// same time.
type Sessions struct {
	Begun   atomic.Int64 // also before the turn was paused
	Running atomic.Int64
}

// Verdict is the reason why a call may not be made. Its numbers are stored.
type Verdict int

// Verdicts on a call.
const (
	CallLost     Verdict = iota + 1 // its outcome is unknown
	CallRejected                    // a person has not allowed it
)

// Verdicts hold the calls that no agent of a turn may make any more, by a key that is equal for
// equal calls. They are safe for concurrent use. A nil *Verdicts is empty.
type Verdicts struct {
	mu    sync.Mutex // guards the field below
	byKey map[string]Verdict
}

// Record adds a verdict. It ignores an empty key.
func (s *Verdicts) Record(key string, v Verdict) {
	if s == nil || key == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[string]Verdict{}
	}
	s.byKey[key] = v
}

// Of returns the verdict on a call, or 0. It calls key only if there are verdicts.
func (s *Verdicts) Of(key func() string) Verdict {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byKey) == 0 {
		return 0
	}
	return s.byKey[key()]
}

// State returns the verdicts in the form of ReadVerdicts, or nil if they are empty.
func (s *Verdicts) State() []byte {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byKey) == 0 {
		return nil
	}
	text, _ := json.Marshal(s.byKey) // of strings and numbers
	return text
}

// ReadVerdicts returns the verdicts of a turn that continues: state is that of State.
func ReadVerdicts(state []byte) (*Verdicts, error) {
	s := new(Verdicts)
	if len(state) == 0 {
		return s, nil
	}
	return s, json.Unmarshal(state, &s.byKey)
}
