package run

import (
	"slices"
	"sync"

	"sluice/chat"
	"sluice/stream"
)

// maxCallID is the longest id that an event may carry, in bytes.
const maxCallID = 64

// CallID returns the id that the events of a call carry. Agents number their calls each for
// itself, so that own is unique only among the calls of one of them; before and behind make
// it unique in the stream:
//
//	n3r2a2-call_1  the third node of a workflow, its second round and attempt
//	call_1-2       an agent of a team; another one has used call_1
//	d4f0c2aa1_1    an agent that another one called, in the session 4f0c2aa1…; own is empty
//
// own is cut where the id would be too long: its begin is what differs.
func CallID(before, own, behind string) string {
	return before + own[:max(0, min(len(own), maxCallID-len(before)-len(behind)))] + behind
}

// IDs are the ids of the calls of several runs, or of one, where they depend on what was
// given before. The zero value is empty. Many goroutines may use it.
type IDs struct {
	// Known are the ids by what names the call. It is read and stored while no run goes on.
	Known map[string]string

	mu   sync.Mutex // guards the field below, and Known
	used map[string]bool
}

// Of returns the id of the call that key names: the same each time, and the first of
// form(1), form(2), … that no other call has.
func (i *IDs) Of(key string, form func(n int) string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if id, ok := i.Known[key]; ok {
		return id
	}
	if i.used == nil {
		i.used = map[string]bool{}
		for _, id := range i.Known {
			i.used[id] = true
		}
	}
	if i.Known == nil {
		i.Known = map[string]string{}
	}
	id := form(1)
	for n := 2; i.used[id]; n++ {
		id = form(n)
	}
	i.Known[key], i.used[id] = id, true
	return id
}

// Step is the calls that an agent made since its last step was complete, and what came of
// them, in the order of the calls. The zero value is empty.
type Step struct {
	Calls   []stream.Call
	Results []string // of the calls; empty: not yet
}

// Note notes what an event tells of a call; others change nothing.
func (s *Step) Note(ev stream.Event) {
	switch e := ev.(type) {
	case *stream.ToolStarted:
		c := e.Call
		c.Arguments = c.Arguments.Clone()
		s.Calls, s.Results = append(s.Calls, c), append(s.Results, "")
	case *stream.ToolCompleted:
		s.answered(e.ID, e.Result)
	case *stream.ToolFailed:
		s.answered(e.ID, e.Message)
	case *stream.ToolUnknown:
		s.answered(e.ID, e.Message)
	}
}

// answered puts the result of a call in its place. A call that the step does not have is
// passed over.
func (s *Step) answered(id, text string) {
	if i := s.index(id); i >= 0 {
		s.Results[i] = text
	}
}

func (s *Step) index(id string) int {
	return slices.IndexFunc(s.Calls, func(c stream.Call) bool { return c.ID == id })
}

// Leave drops the calls within which somebody waits: they are told again when they go on.
// of gives calls the ids of their events. A nil q: nobody waits.
func (s *Step) Leave(q *chat.Question, of Owner) {
	if q == nil {
		return
	}
	for _, c := range q.Calls {
		if c.Within == "" {
			continue
		}
		if i := s.index(of.CallID(c.Within, false)); i >= 0 {
			s.Calls, s.Results = slices.Delete(s.Calls, i, i+1), slices.Delete(s.Results, i, i+1)
		}
	}
}
