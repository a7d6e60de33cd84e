// This file bridges a short failure of the store. The process that made an unsafe call has its
// result. If the store does not accept the result, the process keeps it in memory for a while. If
// the process continues its own run, it then need not ask a person about a result that it has.

package records

import (
	"maps"

	"sluice/internal/turn/tool"
)

// results are the results of calls, by the keys of their intents; nil for a call that was not made.
// Results that the store did not accept stay in this process: if it continues the run itself,
// people need not be asked about the calls.
type results map[string]*tool.Result

// maxSettled bounds the runs of which results are kept here. People are asked about the calls of
// further runs.
const maxSettled = 256

// mergeInto puts the results into the record of their run.
//
// It changes the map of r and no value in it, as these are shared with copies of the record. An
// intent that the record lacks is left out.
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

// keepSettled remembers results that the store did not take.
//
// With maxSettled runs the results of a further run are dropped: then a person is asked. This is
// right and only slower.
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

// settledResults returns the remembered results of a run.
//
// The map is a copy, as calls of the run may still end.
func (s *RunStore) settledResults(id string) results {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.settled[id])
}

// forgetSettled drops the results of a run, as the store has them or another process has the run.
func (s *RunStore) forgetSettled(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.settled, id)
}
