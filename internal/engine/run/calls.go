package run

import (
	"slices"
	"sync"

	"sluice/internal/turn/chat"
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

// IDs are the ids of the calls of one or several runs, if an id depends on earlier ones. The zero
// value is empty. Many goroutines may use it.
type IDs struct {
	// ByKey are the ids by what names the call. It is read and stored while no run is going on.
	ByKey map[string]string

	mu   sync.Mutex // guards the field below, and ByKey
	used map[string]bool
}

// Of returns the id of the call that key names: the same each time, and the first of form(1),
// form(2), … that is still free.
func (i *IDs) Of(key string, form func(n int) string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if id, ok := i.ByKey[key]; ok {
		return id
	}
	if i.used == nil {
		i.used = map[string]bool{}
		for _, id := range i.ByKey {
			i.used[id] = true
		}
	}
	if i.ByKey == nil {
		i.ByKey = map[string]string{}
	}
	id := form(1)
	for n := 2; i.used[id]; n++ {
		id = form(n)
	}
	i.ByKey[key], i.used[id] = id, true
	return id
}

// Use gives a call that id. No other call gets it then.
func (i *IDs) Use(key, id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ByKey == nil {
		i.ByKey = map[string]string{}
	}
	i.ByKey[key] = id
	if i.used != nil {
		i.used[id] = true
	}
}

// Leave returns the calls of a step without those within which somebody waits: they are emitted
// again when they continue. of gives calls the ids of their events. A nil q: nobody waits.
func Leave(calls stream.Calls, q *chat.Question, of Owner) stream.Calls {
	if q == nil {
		return calls
	}
	for _, c := range q.Calls {
		if c.Within == "" {
			continue
		}
		if i := calls.Index(of.CallID(c.Within, false)); i >= 0 {
			calls = slices.Delete(calls, i, i+1)
		}
	}
	return calls
}
