// This file keeps what another process needs to go on with a turn that runs: a list next to its
// log, whose first item is the request, and the others where the turn stood when they were added.
// Each goes to the store in the step in which a task or a log is written, so that it costs no
// command of its own, and the log never has what the list does not know of.

package task

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
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

// first returns the first item of a turn's list; nil: the turn saves nothing.
func (t *Turn) first(req *Request) []byte {
	if s := t.store; s.cfg.Turns == nil || !req.Detached || req.Durable {
		return nil
	}
	request, err := req.Chat.Stored()
	if err != nil || len(request) > maxSaved {
		return nil
	}
	line := append(make([]byte, 0, len(request)+64), `{"version":`...)
	line = append(strconv.AppendInt(line, savedVersion, 10), `,"request":`...)
	line = append(line, request...)
	line = append(line, `,"head":`...)
	line = bytes.TrimSuffix(t.head(req).append(line), []byte("\n"))
	if req.Retracts {
		line = append(line, `,"retracts":true`...)
	}
	return append(line, '}')
}

// saves begins what a turn saves of itself, and returns what changes with its task.
func (t *Turn) save(req *Request) store.Side {
	item := t.first(req)
	if t.identity.saves = item != nil; item == nil {
		return store.Side{}
	}
	return store.Side{Key: store.TurnKey(t.id), Item: item}
}

// Saving returns what keeps where the turn stands; nil: nothing does.
func (t *Turn) Saving() *chat.Saving {
	if !t.saves {
		return nil
	}
	return &chat.Saving{Saver: saver{t}}
}

// saver is the chat.Saver of a Turn.
type saver struct{ of *Turn }

// Save implements chat.Saver.
func (s saver) Save(part string, state []byte) {
	t := s.of
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log.saved.add(part, t.said.Size, state)
}

// add notes what is new.
func (s *saving) add(part string, text int, state []byte) {
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

// Confirm implements chat.Saver.
func (s saver) Confirm() error {
	t := s.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client.broken || t.life != running {
		return lost()
	}
	t.append()
	switch w := &t.log; {
	case t.life == gone:
		return lost()
	case w.ended && !w.saved.dropped:
		w.forget()
		if !w.saved.dropped {
			return unavailable(nil)
		}
	case w.saved.pending != nil:
		return unavailable(nil)
	}
	return nil
}

// Begin implements chat.Saver.
func (s saver) Begin() (end func()) {
	k := &s.of.log.saved
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unsafe++
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.unsafe--; k.unsafe == 0 && k.idle != nil {
			close(k.idle)
			k.idle = nil
		}
	}
}

// Together implements chat.Saver.
func (s saver) Together(f func()) {
	defer s.Begin()() // a turn is not left in the middle
	s.of.hold()
	f()
}

// Left implements chat.Saver.
func (s saver) Left() bool {
	t := s.of
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.life == gone || t.life == leftOff
}

// quiet is closed when no call is under way that must not be made twice.
func (s *saving) quiet() <-chan struct{} {
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

// side returns what changes with the next append to the log.
func (w *writer) side() store.Side {
	if w.saved.pending == nil {
		return store.Side{}
	}
	return store.Side{Key: store.TurnKey(w.of.id), Item: w.saved.pending}
}

// forget removes what was saved of a turn whose log is given up: nobody goes on with it.
func (w *writer) forget() {
	if !w.of.saves || w.saved.dropped {
		return
	}
	err := w.of.store.recordOutage(w.of.store.cfg.Store.DeleteList(w.of.ctx, store.TurnKey(w.of.id)))
	w.saved.dropped, w.saved.full, w.saved.pending = err == nil, true, nil
}

// saved returns what changes with the last state of a turn's task: nothing is left of what was
// saved.
func (of *identity) saved() store.Side {
	if !of.saves {
		return store.Side{}
	}
	return store.Side{Key: store.TurnKey(of.id), Drop: true}
}
