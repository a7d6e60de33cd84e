// This file saves the data that another process needs to continue a running turn. It is a list next
// to the log. The first item is the request, and the others are states. Each item is written in the
// same step as a task or a log. So it does not cost a further command, and the log is never ahead
// of the list.

package task

import (
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// saving holds the states that a turn saves. Its zero value is that of a turn which saves nothing.
type saving struct {
	full    bool
	size    int    // of all states
	pending []byte // lines that the store does not have; nil: none
	// dropped is true once the store's copy was removed, since the log was given up.
	dropped bool

	mu     sync.Mutex // guards the fields below
	unsafe int        // calls under way that must not be made twice
	idle   chan struct{}
}

// addState adds a state.
func (s *saving) addState(part string, text int, state []byte) {
	if s.full {
		return
	}
	if s.size += len(state); s.size > maxSaved {
		s.full, s.pending = true, append(s.pending, `{"too_large":true}`+"\n"...)
		return
	}
	if part == chat.SavedSeam {
		s.pending = append(append(append(s.pending, `{"seam":`...), state...), "}\n"...)
		return
	}
	line := append(s.pending, `{"text":`...)
	line = strconv.AppendInt(line, int64(text), 10)
	if part != "" {
		line, _ = jsontext.AppendQuote(append(line, `,"part":`...), part)
	}
	line = append(append(line, `,"state":`...), state...)
	s.pending = append(line, "}\n"...)
}

// whenSafe returns a channel that is closed when no unsafe call is under way.
func (s *saving) whenSafe() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsafe == 0 {
		now := make(chan struct{})
		close(now)
		return now
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	return s.idle
}
