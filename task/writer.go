package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/chat"
	"sluice/store"
	"sluice/stream"
)

// maxResult is how many bytes of a tool's result are kept, which is what an encoder
// tells of it at most.
const maxResult = 2 << 10

// maxAppend is up to how many bytes a Writer that is behind appends at once.
const maxAppend = 512 << 10

// settleEvery is how often Settle tries.
const settleEvery = 500 * time.Millisecond

// Log is what a Writer needs of a store.
type Log interface {
	AppendLog(ctx context.Context, turn string, a store.Append) error
	DropLog(ctx context.Context, turn string) error
}

// WriterConfig describes a Writer. Log, Turn, TTL and EventTTL are required.
type WriterConfig struct {
	Log  Log
	Turn string
	// Task, if not empty, is the task that Holder must hold for an append.
	Task   string
	Holder store.Holder
	// TTL is how long the log is kept after an append, EventTTL after the one of Done.
	TTL, EventTTL time.Duration
	// Detach lets the turn go on when its client is gone.
	Detach bool
	// OnLost is told, once, why the log cannot go on. An error that wraps
	// store.ErrConflict says that another process has taken the turn over, or closed it.
	OnLost func(error)
}

// Writer is a stream.Output that writes the events of a turn to its log before it hands
// them on: one append a flush. What a client has seen can be read again.
//
// While the store is unavailable the client's stream goes on, and what could not be
// appended is kept, up to store.MaxLog bytes. It is appended later, so that the log
// has no gap; or the log is removed. One goroutine at a time may call it.
type Writer struct {
	cfg WriterConfig
	ctx context.Context
	out stream.Output // nil: nobody is told

	held []held
	line []byte // events of this flush, as they are stored
	last int    // number of the last one
	over bool   // it is Done

	end     int           // where the log ends, as far as we know
	backlog []store.Entry // not confirmed, oldest first
	behind  int           // bytes in backlog
	state   logState
}

type logState int

const (
	logging  logState = iota
	dropping          // the log has to be removed
	lost              // it is gone, or another's
)

// held is an event that waits for its append.
type held struct {
	stamp stream.Stamp
	delta stream.Delta // if ev is nil; most are
	ev    stream.Event
}

// NewWriter returns a Writer in front of out, which may be nil. ctx carries values alone:
// the log is also told how a turn ended that was cancelled.
func NewWriter(ctx context.Context, out stream.Output, cfg WriterConfig) *Writer {
	return &Writer{cfg: cfg, ctx: context.WithoutCancel(ctx), out: out}
}

// Write takes the next event. It reaches log and client with the next Flush.
func (w *Writer) Write(s stream.Stamp, ev stream.Event) error {
	if c, ok := ev.(*stream.ToolCompleted); ok && len(c.Result) > maxResult {
		short := *c
		text, _ := chat.Truncate(c.Result, maxResult)
		short.Result, short.Truncated = text, true
		ev = &short
	}
	before := len(w.line)
	line, err := stream.AppendStored(w.line, s, ev)
	if err != nil {
		return err
	}
	w.line, w.last = append(line, '\n'), s.N
	if _, ok := ev.(*stream.Done); ok {
		w.over = true
	}
	return w.hold(s, ev, w.line[before:])
}

// hold keeps a copy of ev, which belongs to its sender: of what is rare, the one that
// others will read.
func (w *Writer) hold(s stream.Stamp, ev stream.Event, line []byte) error {
	if w.out == nil {
		return nil
	}
	h := held{stamp: s}
	switch ev := ev.(type) {
	case *stream.Delta:
		h.delta = *ev
	case *stream.Thinking:
		c := *ev
		h.ev = &c
	default:
		var err error
		if _, h.ev, err = stream.ReadStored(line); err != nil {
			return err
		}
	}
	w.held = append(w.held, h)
	return nil
}

// Flush appends what was written to the log, and then hands it on. Its error is the
// client's; that of the log goes to OnLost.
func (w *Writer) Flush() error {
	if len(w.line) > 0 {
		if w.state == logging {
			w.backlog = append(w.backlog, store.Entry{N: w.last, Data: w.line})
			w.behind += len(w.line)
			w.line = nil
		}
		w.line = w.line[:0]
	}
	w.catchUp(w.ctx)
	return w.deliver()
}

// catchUp appends what is not in the log yet, or removes the log, as far as the store
// takes it now.
func (w *Writer) catchUp(ctx context.Context) {
	for w.state == logging && len(w.backlog) > 0 {
		n, entry := w.next()
		a := store.Append{Entry: entry, At: w.end, TTL: w.cfg.TTL, Task: w.cfg.Task, Holder: w.cfg.Holder}
		if w.over {
			a.TTL = w.cfg.EventTTL
		}
		err := w.cfg.Log.AppendLog(ctx, w.cfg.Turn, a)
		end, other := errors.AsType[*store.EndError](err)
		switch {
		case err == nil:
			w.confirm(n)
		case other && w.confirm(w.wrote(end.End)): // an append whose reply was lost
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrTooLarge):
			w.lose(lost, err)
		case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrFull):
			if w.behind > store.MaxLog {
				w.lose(dropping, fmt.Errorf("too much to append later: %w", err))
			}
			w.drop(ctx)
			return
		default: // ErrNotFound, ErrDamaged
			w.lose(dropping, err)
		}
	}
	w.drop(ctx)
}

// next joins what is to be appended now, and says of how many entries it is.
func (w *Writer) next() (n int, joined store.Entry) {
	joined, n = w.backlog[0], 1
	if len(w.backlog) == 1 {
		return n, joined
	}
	joined.Data = append([]byte{}, joined.Data...)
	for _, e := range w.backlog[1:] {
		if len(joined.Data)+len(e.Data) > maxAppend {
			break
		}
		joined.N, joined.Data, n = e.N, append(joined.Data, e.Data...), n+1
	}
	return n, joined
}

// wrote returns up to how many entries the log has ours if it ends so; 0: it does not.
func (w *Writer) wrote(end int) int {
	for i, e := range w.backlog {
		if e.N == end {
			return i + 1
		}
	}
	return 0
}

// confirm notes that the first n entries are in the log, if there are any.
func (w *Writer) confirm(n int) bool {
	if n == 0 {
		return false
	}
	w.end = w.backlog[n-1].N
	for _, e := range w.backlog[:n] {
		w.behind -= len(e.Data)
	}
	w.line = w.backlog[0].Data[:0] // to be filled again
	w.backlog = append(w.backlog[:0], w.backlog[n:]...)
	return true
}

func (w *Writer) lose(state logState, err error) {
	w.state, w.backlog, w.behind = state, nil, 0
	if w.cfg.OnLost != nil {
		w.cfg.OnLost(err)
	}
}

// drop removes a log that cannot go on: one with a gap, or without an end, would be told
// as if it were whole.
func (w *Writer) drop(ctx context.Context) {
	if w.state == dropping && w.cfg.Log.DropLog(ctx, w.cfg.Turn) == nil {
		w.state = lost
	}
}

// deliver hands on what the log has, or will have.
func (w *Writer) deliver() (err error) {
	if w.out == nil {
		return nil
	}
	for i := range w.held {
		h := &w.held[i]
		ev := h.ev
		if ev == nil {
			ev = &h.delta
		}
		if err = w.out.Write(h.stamp, ev); err != nil {
			break
		}
	}
	clear(w.held) // lets go of the texts
	w.held = w.held[:0]
	if err == nil {
		err = w.out.Flush()
	}
	if err != nil && w.cfg.Detach {
		w.out, w.held, err = nil, nil, nil
	}
	return err
}

// Settle waits until the log is whole, or gone. It is called after the last Flush, and
// returns nil at once if there is nothing to wait for.
func (w *Writer) Settle(ctx context.Context) error {
	for {
		w.catchUp(ctx)
		if len(w.backlog) == 0 && w.state != dropping {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(settleEvery):
		}
	}
}

// Logged says whether the log has all that was flushed.
func (w *Writer) Logged() bool { return w.state == logging && len(w.backlog) == 0 }

// Blocked returns the time spent in writes to the client.
func (w *Writer) Blocked() time.Duration {
	if w.out == nil {
		return 0
	}
	return w.out.Blocked()
}
