package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"sluice/run"
	"sluice/tool"
)

// shared is what the agents of one turn know of one another's calls: those that nobody
// may make any more, by callKey. A nil shared is that of a turn of one agent, whose
// ledger says it all.
type shared struct {
	mu   sync.Mutex // guards the field below
	keys map[string]verdict
}

// verdict says why a call may not be made.
type verdict int

const (
	lostOnce verdict = iota + 1 // its outcome is unknown
	rejected                    // a person has not allowed it
)

// sharedKey is the key of what agents of one turn share, in its context.
type sharedKey struct{}

// WithShared returns a context for a turn in which several agents take part: a call
// whose outcome is unknown to one of them, or that a person has not allowed one of
// them, is refused to all. state is that of SharedState if the turn goes on; empty: it begins.
func WithShared(ctx context.Context, state []byte) (context.Context, error) {
	s := &shared{keys: map[string]verdict{}}
	if len(state) > 0 {
		if err := json.Unmarshal(state, &s.keys); err != nil {
			return nil, fmt.Errorf("%w: %w", run.ErrPaused, err)
		}
	}
	return context.WithValue(ctx, sharedKey{}, s), nil
}

// sharedOf returns what the agents of a team share, or nil in a turn of one
// agent. All methods work on nil.
func sharedOf(ctx context.Context) *shared {
	s, _ := ctx.Value(sharedKey{}).(*shared)
	return s
}

func (s *shared) note(key string, v verdict) {
	if s == nil || key == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[key] = v
}

// refusal returns why a call may not be made; nil: it may.
func (s *shared) refusal(c tool.Call) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) == 0 {
		return nil
	}
	switch s.keys[callKey(c)] {
	case lostOnce:
		return refusalOfLost(c)
	case rejected:
		return refusalOfRejected(c)
	}
	return nil
}
