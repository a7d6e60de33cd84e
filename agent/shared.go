package agent

import (
	"context"
	"sync"

	"sluice/tool"
)

// shared is what the agents of one turn know of one another's calls: those whose
// outcome is unknown, by callKey. A nil shared is that of a turn of one agent, whose
// ledger says it all.
type shared struct {
	mu   sync.Mutex // guards the field below
	keys map[string]struct{}
}

// sharedKey is the key of what agents of one turn share, in its context.
type sharedKey struct{}

// WithShared returns a context for a turn in which several agents take part: a call
// whose outcome is unknown to one of them is refused to all.
func WithShared(ctx context.Context) context.Context {
	return context.WithValue(ctx, sharedKey{}, &shared{keys: map[string]struct{}{}})
}

// sharedOf returns what the agents of a team share, or nil in a turn of one
// agent. All methods work on nil.
func sharedOf(ctx context.Context) *shared {
	s, _ := ctx.Value(sharedKey{}).(*shared)
	return s
}

// lose notes that a call went out whose outcome is unknown. It is safe for
// concurrent use, as are all methods.
func (s *shared) lose(key string) {
	if s == nil || key == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[key] = struct{}{}
}

// lost says whether another agent of the turn sent the same call and never
// learned what became of it.
func (s *shared) lost(c tool.Call) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) == 0 {
		return false
	}
	_, lost := s.keys[callKey(c)]
	return lost
}
