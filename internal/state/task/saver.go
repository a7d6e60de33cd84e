// This file lets a turn save where it stands, for another process to continue it.

package task

import (
	"bytes"
	"strconv"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// logHead returns the first line of the turn's log.
func (t *Turn) logHead(req *Request) head {
	return head{t.task, t.id, ownership{req.Chat.Principal.Tenant, provedOwner(req.Chat.Owner())}, req.RequestID, req.Accumulated, req.Protocol}
}

// firstItem returns the first item of a turn's list; nil: the turn saves nothing.
func (t *Turn) firstItem(req *Request) []byte {
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
	line = bytes.TrimSuffix(t.logHead(req).appendLine(line), []byte("\n"))
	if req.Retracts {
		line = append(line, `,"retracts":true`...)
	}
	return append(line, '}')
}

// beginSaving begins to save a turn. It returns the change of the list that is written with its
// task.
func (t *Turn) beginSaving(req *Request) store.Side {
	item := t.firstItem(req)
	if t.identity.saves = item != nil; item == nil {
		return store.Side{}
	}
	return store.Side{Key: store.TurnKey(t.id), Item: item}
}

// Saving returns the saver of the turn's states, or nil if the turn saves nothing.
func (t *Turn) Saving() *chat.Saving {
	if !t.saves {
		return nil
	}
	return &chat.Saving{Saver: saver{t}, Takeovers: t.takeovers}
}

// saver is the chat.Saver of a Turn.
type saver struct{ of *Turn }

// Save implements chat.Saver.
func (s saver) Save(part string, state []byte) {
	t := s.of
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log.saved.addState(part, t.answer.Size, state)
}

// Confirm implements chat.Saver.
func (s saver) Confirm() error {
	t := s.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client.broken || !t.end.state.isOpen() {
		return lostFault()
	}
	t.appendLog()
	switch w := &t.log; {
	case t.end.state == endAbandoned:
		return lostFault()
	case w.ended && !w.saved.dropped:
		w.forgetSaved()
		if !w.saved.dropped {
			return storeUnavailable(nil)
		}
	case w.saved.pending != nil:
		return storeUnavailable(nil)
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
	defer s.Begin()() // the turn must not be handed over in between
	s.of.holdUntilFlush()
	f()
}

// IsHandedOver implements chat.Saver.
func (s saver) IsHandedOver() bool {
	t := s.of
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end.state.isElsewhere()
}
