// This file bridges a short failure of the store. The result of a call that is not safe to
// repeat is known to the process that made it; if the store does not accept it, the process
// keeps it in memory for a while. A process that continues with its own run then need not ask a
// person what it knows itself.

package records

import (
	"maps"

	"sluice/internal/turn/tool"
)

// results are what became of calls, by the keys of their intents; nil: a call was not made.
// Those that the store did not accept stay with the process that knows them: if it continues with
// the run itself, nobody need be asked what became of the calls.
type results map[string]*tool.Result

// maxSettled bounds the runs of which results are kept here. Of others people are asked.
const maxSettled = 256

// mergeInto puts the results into the record of their run.
//
// It changes the map of r and no value in it, as these are shared with copies of the
// record. An intent that the record has no more is left out.
func (known results) mergeInto(r *storedRun) {
	for key, result := range known {
		made := r.Intents[key]
		switch {
		case made == nil:
		case result == nil:
			delete(r.Intents, key)
		default:
			r.Intents[key] = &storedIntent{Intent: made.Intent, Tries: made.Tries, Result: result}
		}
	}
}

// keepSettled keeps what the store did not take.
//
// With maxSettled runs the result of a further one is dropped: then a person is asked,
// which is right and only slower.
func (s *RunStore) keepSettled(id string, more results) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settled[id] == nil {
		if len(s.settled) >= maxSettled {
			return
		}
		s.settled[id] = results{}
	}
	maps.Copy(s.settled[id], more)
}

// settledResults returns what is kept of a run.
//
// The map is a copy, as calls of the run may still end.
func (s *RunStore) settledResults(id string) results {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.settled[id])
}

// forgetSettled is called when the store has it, or somebody else has the run.
func (s *RunStore) forgetSettled(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.settled, id)
}
