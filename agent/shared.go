package agent

import (
	"context"
	"sync"

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
// them, is refused to all.
func WithShared(ctx context.Context) context.Context {
	return context.WithValue(ctx, sharedKey{}, &shared{keys: map[string]verdict{}})
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
