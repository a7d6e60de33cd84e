package quality

import (
	"encoding/json"
	"sync"

	"sluice/internal/quality/check"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// evidence is the results of a turn's tools, also those before a pause. An answer may speak of
// them. A question to a person is put by whatever goroutine runs the agent that asks, so the list
// is locked.
type evidence struct {
	mu   sync.Mutex
	list []check.Evidence // in the order of the events
	// seenCalls are the calls, by id, that another process has seen the end of: it is emitted again.
	seenCalls map[string]bool
}

// storedEvidence is one piece of evidence as a turn that waits keeps it. A result that is
// not JSON is kept as well, so it is a string.
type storedEvidence struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments,omitempty"`
	Result    string `json:"result,omitempty"`
	ID        string `json:"call_id,omitempty"` // of a call in a turn that is taken over
}

// Before returns the evidence of a turn that another process has begun. events are those of the
// turn; earlier is the evidence at its begin, and may be empty.
func Before(earlier []byte, events []stream.Event) []byte {
	var all []storedEvidence
	if len(earlier) > 0 && json.Unmarshal(earlier, &all) != nil {
		all = nil
	}
	for _, ev := range events {
		if e, ok := ev.(*stream.ToolCompleted); ok {
			all = append(all, storedEvidence{e.Tool, string(e.Arguments), e.Result, e.ID})
		}
	}
	if len(all) == 0 {
		return nil
	}
	text, _ := json.Marshal(all) // of strings
	return text
}

// add records that a tool has done its work.
func (e *evidence) add(ev *stream.ToolCompleted) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seenCalls[ev.ID] {
		return
	}
	e.list = append(e.list, check.Evidence{Tool: ev.Tool, Arguments: string(ev.Arguments), Result: ev.Result, Completed: true})
}

// snapshot returns the results so far. An append to them does not change the evidence.
func (e *evidence) snapshot() []check.Evidence {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list[:len(e.list):len(e.list)]
}

// restore takes over the evidence of a turn that continues. Unreadable evidence is dropped: the
// checks are stricter then, and the turn continues.
func (e *evidence) restore(r *chat.Resumed) {
	if r == nil || len(r.Evidence) == 0 {
		return
	}
	var stored []storedEvidence
	if json.Unmarshal(r.Evidence, &stored) != nil {
		return
	}
	for _, s := range stored {
		if s.ID != "" {
			if e.seenCalls == nil {
				e.seenCalls = map[string]bool{}
			}
			e.seenCalls[s.ID] = true
		}
		e.list = append(e.list, check.Evidence{Tool: s.Tool, Arguments: s.Arguments, Result: s.Result, Completed: true})
	}
}

// storeOnPause adds the evidence to the state of a turn that pauses.
func (e *evidence) storeOnPause(f *chat.Facts) {
	if ask := f.Ask; ask != nil {
		f.Ask = func(p *chat.Paused) string {
			p.Evidence = e.encodeStored()
			return ask(p)
		}
	}
}

// encodeStored returns the evidence in the form that restore reads, or nil without evidence.
func (e *evidence) encodeStored() []byte {
	var stored []storedEvidence
	for _, one := range e.snapshot() {
		stored = append(stored, storedEvidence{one.Tool, one.Arguments, one.Result, ""})
	}
	if len(stored) == 0 {
		return nil
	}
	text, _ := json.Marshal(stored) // of strings
	return text
}
