package task

import (
	"errors"
	"sync/atomic"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

const (
	// maxResult is how many bytes of a tool's result the log keeps.
	maxResult = 2 << 10
	// retryAfter is how long a turn goes without another try to reach a store that is
	// unavailable: its own client must not wait for one try after the other.
	retryAfter = time.Second
)

// writer writes the log of a turn. The log has the events up to at, and pending those behind up to
// n, each of them once. A log that was given up has neither.
type writer struct {
	of      *identity
	ended   bool // the log does not grow: it was given up, or another process writes it
	lines   stream.Storage
	pending []byte  // data that the log does not have yet; nil without any
	lent    *[]byte // the buffer of pending; nil if pending is not lent by the service
	marks   []mark  // parts of pending that were sent, and perhaps arrived
	at      int     // the last event that it has
	n       int     // the last event in pending
	// retry is when the store is tried again after it was unavailable.
	retry time.Time
	// noRoom says that the log was given up for want of room, until the client learns of it.
	noRoom atomic.Bool
	saved  saving
}

// mark is the place in writer.pending where an append ended that may or may not have arrived.
type mark struct{ n, offset int }

// isComplete reports whether the log has all events so far, or was given up.
func (w *writer) isComplete() bool { return w.ended || w.n == w.at }

// addEvent adds the event to the pending ones.
func (w *writer) addEvent(s stream.Stamp, ev stream.Event) {
	if w.ended || stream.Passing(ev) {
		return
	}
	if completed, ok := ev.(*stream.ToolCompleted); ok && len(completed.Result) > maxResult {
		short := *completed
		short.Result, short.Truncated = cutResult(completed.Result), true
		ev = &short
	}
	lines, err := w.lines.Append(w.pendingRoom(), s, ev)
	if err != nil || len(lines) > store.MaxLog { // the log would have a gap
		w.giveUp()
		return
	}
	w.pending, w.n = lines, s.N
}

// beginLog makes h the first line of the log. It is sent with the first event.
func (w *writer) beginLog(h head) { w.pending = h.appendLine(w.pendingRoom()) }

// cutResult shortens a result for a document.
func cutResult(text string) string {
	head, _ := chat.Truncate(text, maxResult)
	return head
}

// appendPending sends pending to the log. Data that cannot be sent is kept for the next time. It
// returns false if another writer has the log.
func (w *writer) appendPending() (ours bool) {
	if w.isComplete() && w.saved.pending == nil || !w.retry.IsZero() && time.Now().Before(w.retry) {
		return true
	}
	err := w.sendPending()
	var end *store.EndError
	if errors.As(err, &end) && w.dropArrived(end.End) {
		err = nil
		if w.n != w.at || w.saved.pending != nil {
			err = w.sendPending()
		}
	}
	switch {
	case err == nil:
		w.recordAppended()
	case errors.Is(err, store.ErrUnavailable):
		_ = w.of.store.recordOutage(err)
		w.marks = append(w.marks, mark{w.n, len(w.pending)})
		w.retryLater()
	case errors.Is(err, store.ErrConflict) && !errors.As(err, &end):
		return false
	default:
		w.noRoom.Store(errors.Is(err, store.ErrFull))
		w.giveUp()
	}
	return true
}

// recordAppended records that the log has all events.
func (w *writer) recordAppended() {
	if w.n != w.at {
		w.dropPending()
	}
	w.at, w.retry, w.saved.pending = w.n, time.Time{}, nil
}

// retryLater has the log tried again in a while.
func (w *writer) retryLater() { w.retry = time.Now().Add(retryAfter) }

// sendPending appends the pending events to the log. The store refuses it if another process holds
// the task by now.
func (w *writer) sendPending() error {
	return w.of.store.cfg.Store.AppendLog(w.of.ctx, w.of.id, w.nextAppend())
}

// nextAppend returns the append of the pending events.
func (w *writer) nextAppend() store.Append {
	w.lines.Cut()
	s := w.of.store
	return store.Append{
		Entry: store.Entry{N: w.n, Data: w.pending}, At: w.at, TTL: s.cfg.EventTTL, Task: w.of.task, Holder: s.holder, Side: w.savedSide(),
	}
}

// dropArrived removes from pending the events that the log has after all. It returns false if the
// log ends where it cannot.
func (w *writer) dropArrived(end int) bool {
	for _, m := range w.marks {
		if m.n == end {
			w.pending = append(w.pending[:0], w.pending[m.offset:]...)
			w.at, w.marks = end, w.marks[:0]
			return true
		}
	}
	return false
}

// giveUp removes the log: one with a gap must not be read. The turn continues, and cannot be
// resumed.
func (w *writer) giveUp() {
	w.ended = true
	w.dropPending()
	w.forgetSaved()
	_ = w.of.store.recordOutage(w.of.store.cfg.Store.DropLog(w.of.ctx, w.of.id))
}

// closeLog ends the log for its readers: the turn has ended without an end of its own. ours is false
// if another writer has the log, and closed is false if the store is unavailable.
func (w *writer) closeLog() (ours, closed bool) {
	kept, err := w.of.store.readAll(w.of.ctx, w.of.id)
	if err != nil {
		return true, !errors.Is(err, store.ErrUnavailable)
	}
	data, n := kept.closingEvents(cancelledFault(), time.Since(w.of.began), nil)
	if n == 0 {
		return true, true
	}
	w.dropPending()
	w.pending, w.n, w.at, w.retry = data, n, kept.last, time.Time{}
	ours = w.appendPending()
	return ours, !ours || w.isComplete()
}

// pendingRoom returns pending, and gives it a buffer if it is nil.
//
// The caller appends to the result and puts it back into pending.
func (w *writer) pendingRoom() []byte {
	if w.pending == nil {
		w.lent = w.of.store.buffers.get()
		w.pending = *w.lent
	}
	return w.pending
}

// dropPending releases pending: the store has its events, or never will.
func (w *writer) dropPending() {
	w.lines.Cut()
	if w.lent != nil {
		*w.lent = w.pending // it may have grown
		w.of.store.buffers.put(w.lent)
	}
	w.lent, w.pending, w.marks = nil, nil, w.marks[:0]
}

// savedSide returns the change of the saved states with the next append to the log.
func (w *writer) savedSide() store.Side {
	if w.saved.pending == nil {
		return store.Side{}
	}
	return store.Side{Key: store.TurnKey(w.of.id), Item: w.saved.pending}
}

// forgetSaved removes the saved states of a turn whose log is given up: no process continues it.
func (w *writer) forgetSaved() {
	if !w.of.saves || w.saved.dropped {
		return
	}
	err := w.of.store.recordOutage(w.of.store.cfg.Store.DeleteList(w.of.ctx, store.TurnKey(w.of.id)))
	w.saved.dropped, w.saved.full, w.saved.pending = err == nil, true, nil
}
