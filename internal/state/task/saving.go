// This file keeps what another process needs to go on with a turn that runs: a list next to its
// log, whose first item is the request, and the others where the turn stood when they were added.
// Each goes to the store in the step in which a task or a log is written, so that it costs no
// command of its own, and the log never has what the list does not know of.

package task

import (
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// saving is what a turn saves of itself. Its zero value is that of a turn which saves nothing.
type saving struct {
	full    bool
	size    int    // of all states
	pending []byte // lines that the store does not have; nil: none
	// dropped says that the store has nothing any more, since the log was given up.
	dropped bool

	mu     sync.Mutex // guards the fields below
	unsafe int        // calls under way that must not be made twice
	idle   chan struct{}
}

// addState notes what is new.
func (s *saving) addState(part string, text int, state []byte) {
	if s.full {
		return
	}
	if s.size += len(state); s.size > maxSaved {
		s.full, s.pending = true, append(s.pending, `{"too_large":true}`+"\n"...)
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

// whenSafe is closed when no call is under way that must not be made twice.
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
