package task

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"sluice/chat"
	"sluice/store"
	"sluice/stream"
	"sluice/task/record"
)

const (
	// maxResult is how many bytes of a tool's result the log keeps.
	maxResult = 2 << 10
	// retryAfter is how long a turn goes without another try to reach a store that is
	// unavailable: its own client must not wait for one try after the other.
	retryAfter = time.Second
)

// Turn is a stream.Output in front of the client's. Its methods belong to the goroutine of
// the turn, which is that of the request that began it; what waits may be handed on by
// another one (gather.go).
type Turn struct {
	mu sync.Mutex // held while an event is sent, until Rest
	gathering
	service  *Service
	id, task string
	key      string // of the store; empty: none
	keyed    keyed  // what is kept under it
	version  int64  // of the task, as this process wrote it
	began    time.Time
	ctx      context.Context // for the store: it does not end with the turn
	cancel   context.CancelCauseFunc
	// next is the client's, which gets an event once the log has it.
	next     stream.Output
	discard  func()          // drops what next holds back; see OnBreak
	broken   bool            // the client gets nothing more, not even an end
	detached bool            // the turn continues without its client
	left     bool            // the client has: a write has failed
	presence atomic.Int32    // of the client: present, absent or over
	durable  bool            // another process can continue with it
	leftOff  bool            // and one will
	fenced   bool            // and one may by now; guarded by Service.mu
	work     context.Context // of a turn that began without a client here; else nil

	// Of the log.
	logging bool // false: it is given up
	lines   stream.Storage
	pending []byte  // what it does not have yet; nil: nothing
	lent    *[]byte // the buffer of pending; nil: it is none of the service's
	marks   []mark  // what was sent of pending, and perhaps arrived
	at      int     // the last event that it has
	n       int     // the last event in pending
	// retry is when the store is tried again after it was unavailable.
	retry time.Time

	// doc is what the store has, as this process wrote it last.
	doc  *Document
	said answer
	// gathered is the buffer of said.text; nil: it is none of the service's.
	gathered *[]byte
	last     []byte // the document at the end, and the task's state
	long     []byte // texts for which the document has no room, and the store has not yet
	state    string
	kept     time.Duration // for how long the store keeps it by itself
	known    bool          // to the store
	trace    *record.Recorder
	// traced says that the store has what the turn adds to the trace, or never will.
	traced bool
	gone   bool // another process owns the task now
	// noRoom says that the log was given up for want of room, until the client learns of it.
	noRoom atomic.Bool
	short  bool // the document at the end is without the answer
}

// mark is the place in Turn.pending where an append ended that may or may not have arrived.
type mark struct{ n, offset int }

// Task returns the id of the turn's task.
func (t *Turn) Task() string { return t.task }

// ID returns the turn's id.
func (t *Turn) ID() string { return t.id }

// Before makes next the output of the turn's client.
func (t *Turn) Before(next stream.Output) stream.Output {
	t.next = next
	return t
}

// OnBreak sets what drops the events that the client's output holds back. It is called when
// the turn is another process's, or is left to one: what becomes of it this one does not know,
// and its client must not receive what no log has. Every method returns ErrBroken from then on.
func (t *Turn) OnBreak(discard func()) { t.discard = discard }

// ErrBroken says that the client's stream ends here, without Done: the client comes back for
// what follows, and gets it from the log.
var ErrBroken = errors.New("the turn is another process's")

// leaveOff ends the client's stream with what the log has. It needs mu.
func (t *Turn) leaveOff() error {
	if t.n == t.at && !t.left {
		_ = t.next.Flush()
	}
	return t.breakOff()
}

// breakOff ends the client's stream. It needs mu.
func (t *Turn) breakOff() error {
	if !t.broken && t.discard != nil {
		t.discard()
	}
	t.broken = true
	return ErrBroken
}

// Write takes the next event.
func (t *Turn) Write(s stream.Stamp, ev stream.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken {
		return ErrBroken
	}
	t.sent(ev)
	if start, ok := ev.(*stream.Start); ok {
		named := *start
		named.TaskID, named.TurnID = t.task, t.id
		ev = &named
	}
	if t.leaves(ev) {
		return t.leaveOff()
	}
	t.said.note(ev)
	t.trace.Observe(s.At, ev)
	t.log(s, ev)
	if t.left {
		return nil
	}
	return t.leave(t.next.Write(s, ev))
}

// log adds the event to what the log will get.
func (t *Turn) log(s stream.Stamp, ev stream.Event) {
	if !t.logging || stream.Passing(ev) {
		return
	}
	if completed, ok := ev.(*stream.ToolCompleted); ok && len(completed.Result) > maxResult {
		short := *completed
		short.Result, short.Truncated = cut(completed.Result), true
		ev = &short
	}
	lines, err := t.lines.Append(t.room(), s, ev)
	if err != nil || len(lines) > store.MaxLog { // the log would have a gap
		t.giveUp()
		return
	}
	t.pending, t.n = lines, s.N
}

// cut bounds what a document keeps of a result.
func cut(text string) string {
	head, _ := chat.Truncate(text, maxResult)
	return head
}

// leave notes that the client has left. A turn that continues without it has no error then.
func (t *Turn) leave(err error) error {
	if err == nil || !t.detached {
		return err
	}
	t.left = true
	t.Left()
	return nil
}

// Values of Turn.presence.
const (
	present = iota
	absent  // and the turn is counted as one that continues alone
	over    // the turn is
)

// Left notes that the connection of the turn's client is gone. It may be called from any
// goroutine, more than once, and after End.
func (t *Turn) Left() {
	if t.detached && t.presence.CompareAndSwap(present, absent) {
		t.service.detached.Add(1)
	}
}

// handOn appends what came since the last time to the log, and then hands it to the client.
// Before a client learns of the end the task has its state: what the client sends next may
// depend on that. A turn that another process continues with has not ended, whatever its client
// receives.
//
// It needs mu.
func (t *Turn) handOn() error {
	defer t.handedOn()
	if !t.broken {
		t.append()
	}
	if t.broken || t.gone {
		return t.breakOff()
	}
	if t.said.Done != nil && !t.leftOff && (!t.logging || t.n == t.at) {
		t.settle()
	}
	if t.left {
		return nil
	}
	return t.leave(t.next.Flush())
}

// Blocked returns the time that the client's writes took.
func (t *Turn) Blocked() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next.Blocked()
}

// append sends pending to the log. What cannot be sent is kept for the next time.
func (t *Turn) append() {
	if !t.logging || t.n == t.at || t.gone || !t.retry.IsZero() && time.Now().Before(t.retry) {
		return
	}
	err := t.send()
	var end *store.EndError
	if errors.As(err, &end) && t.arrived(end.End) {
		err = nil
		if t.n != t.at {
			err = t.send()
		}
	}
	switch {
	case err == nil:
		t.drop()
		t.at, t.retry = t.n, time.Time{}
	case errors.Is(err, store.ErrUnavailable):
		_ = t.service.note(err)
		t.marks = append(t.marks, mark{t.n, len(t.pending)})
		t.retry = time.Now().Add(retryAfter)
	case errors.Is(err, store.ErrConflict) && !errors.As(err, &end):
		t.lose()
	default:
		t.noRoom.Store(errors.Is(err, store.ErrFull))
		t.giveUp()
	}
}

// NoRoom is true from when the store has refused an event of the turn for lack of room. Who
// says so to the client resets it.
func (t *Turn) NoRoom() *atomic.Bool { return &t.noRoom }

// send appends what is pending to the log. The store refuses it if another
// process holds the task by now.
func (t *Turn) send() error {
	t.lines.Cut()
	return t.service.cfg.Store.AppendLog(t.ctx, t.id, store.Append{
		Entry: store.Entry{N: t.n, Data: t.pending}, At: t.at, TTL: t.service.cfg.EventTTL, Task: t.task, Holder: t.service.holder,
	})
}

// arrived removes from pending what the log turns out to have. It returns false if the log
// ends where it cannot.
func (t *Turn) arrived(end int) bool {
	for _, m := range t.marks {
		if m.n == end {
			t.pending = append(t.pending[:0], t.pending[m.offset:]...)
			t.at, t.marks = end, t.marks[:0]
			return true
		}
	}
	return false
}

// lose ends a turn that another process has closed because it took this one for dead. A task
// that is not there any more was removed, or the store has lost it: then the turn continues.
func (t *Turn) lose() {
	_, err := t.service.cfg.Store.Task(t.ctx, t.task)
	switch {
	case errors.Is(err, store.ErrNotFound):
		t.giveUp()
	case err != nil:
		t.retry = time.Now().Add(retryAfter)
	default:
		t.gone, t.logging = true, false
		t.cancel(lost())
	}
}

// giveUp removes the log: one with a gap must not be read. The turn continues, and cannot be
// resumed.
func (t *Turn) giveUp() {
	t.logging = false
	t.drop()
	_ = t.service.note(t.service.cfg.Store.DropLog(t.ctx, t.id))
}

// End is called once, when the turn is over.
func (t *Turn) End() {
	t.Rest()
	s := t.service
	if t.presence.Swap(over) == absent {
		s.detached.Add(-1)
	}
	s.mu.Lock()
	delete(s.running, t.task)
	s.mu.Unlock()
	if t.leftOff {
		s.leave(t.task)
		return
	}
	if !t.finish() {
		s.later(t)
		return
	}
	t.giveBack()
}

// finish brings log and task to their end. It returns false if the store is unavailable.
func (t *Turn) finish() bool {
	s := t.service
	t.retry = time.Time{}
	t.append()
	if t.logging && t.n != t.at {
		return false
	}
	if t.logging && t.said.Done == nil {
		t.closeLog()
	}
	if t.key != "" {
		s.releaseKey(t)
	}
	return t.gone || t.settle() && t.keepTrace()
}

// closeLog ends the log for its readers: the turn has ended with its client.
func (t *Turn) closeLog() {
	kept, err := t.service.readAll(t.ctx, t.id)
	if err != nil {
		return
	}
	data, n := kept.close(cancelled(), time.Since(t.began), nil)
	if n == 0 {
		return
	}
	t.drop()
	t.pending, t.n = data, n
	t.append()
}

// settle writes the task's last state, once. It returns false if the store is unavailable, or
// has no room even for a document without the answer.
func (t *Turn) settle() bool {
	if t.known {
		return true
	}
	s := t.service
	waited := t.doc.Status.Approvals
	if t.last == nil {
		t.state = Canceled // its client left, and the turn with it
		if t.said.Done != nil {
			t.state = stateOf(t.said.Reason())
		}
		t.doc.ended(t.state, &t.said, t.id, time.Now(), s.cfg.MaxHistory)
		t.last, t.long = t.doc.stored()
	}
	err := t.keepFor()
	if err == nil {
		err = s.keepLong(t.ctx, t.doc, t.long, t.kept)
	}
	if err == nil {
		t.long = nil
		err = s.cfg.Store.UpdateTask(t.ctx, t.task, store.Task{Doc: t.last, Meta: store.Meta{
			Version: t.version, Turn: t.id, State: t.state,
		}}, t.kept)
	}
	_ = s.note(err)
	if err == nil {
		s.changed(t.ctx, t.task, Working, t.state)
		if t.durable && t.state != InputRequired {
			_ = s.cfg.Runs.Finish(t.ctx, t.task)
			s.withdraw(t.ctx, waited)
		}
	}
	if errors.Is(err, store.ErrFull) && !t.short {
		t.short = true
		t.doc.dropAnswer(t.id)
		t.last, t.long = t.doc.stored()
		return t.settle()
	}
	t.known = !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrFull)
	return t.known
}

// keepFor decides how long the store keeps the task by itself. One that runs on after a wait
// does not expire: the run ends its wait itself.
func (t *Turn) keepFor() (err error) {
	if t.durable && t.state == InputRequired {
		t.kept = 0
		return nil
	}
	t.kept, err = t.service.keepEnded(t.ctx, t.task, t.doc, t.said.waits())
	return err
}
