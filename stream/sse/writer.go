// Package sse writes events to a client as Server-Sent Events (WHATWG HTML, section 9.2), and reads
// such streams. An encoder (stream.Encoder) makes the content of the frames.
//
// A Writer gathers frames and writes them when its user is about to wait, or when there are many. A
// heartbeat goes out after a silence. Each write has a deadline, so that a client that stopped
// reading cannot hold a goroutine for long. A failed write ends the turn, with a cause that names
// the side at fault.
package sse

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// NoRetry is the retry time of a stream that cannot be resumed: a day. EventSource reconnects after
// a clean end as well, and a turn must not run again. 0 would make it a hot loop, and more than
// 2147483647 ms overflows timers of some clients.
const NoRetry = 24 * time.Hour

// keepBuffer is the largest buffer that goes to other streams. The stream that needed
// a larger one, for the text of a long answer in each event, keeps it to its end.
const keepBuffer = 64 << 10

// buffers hold the frames that wait for a Flush. A stream has one only while it has
// such frames: most of its time it waits for the model.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// spillAt is the number of bytes that Write holds back before it writes by itself. spillKept is the
// same if Config.Spill also writes to a store.
const spillAt, spillKept = 16 << 10, 48 << 10

// ping is the heartbeat of streams whose clients read comments.
var ping = []byte(": ping\n\n")

// Ping returns a comment, which clients of event streams ignore. It must not be changed.
func Ping() []byte { return ping }

// Config describes the stream of one turn. Encoder is required; everything else may be
// zero.
type Config struct {
	Encoder stream.Encoder
	// Heartbeat is the silence after which the Encoder's heartbeat is sent; 0 turns it off.
	Heartbeat time.Duration
	// BeatEvents makes the heartbeat an event with the time, in place of the Encoder's: clients that
	// drop comments see it. An id is absent, so that no client resumes behind it.
	BeatEvents bool
	// WriteTimeout bounds one write to the client; 0 turns the limit off.
	WriteTimeout time.Duration
	// HTTP1 is true if the response goes over HTTP/1 without TLS. There a deadline that passes
	// while nothing is written does no harm. One deadline then serves several writes, and each
	// write may take up to a sixteenth longer.
	HTTP1 bool
	// If many bytes have gathered, Write calls Spill in place of Flush. Spill must call Flush. nil:
	// Flush.
	Spill func() error
	// OnFail is called, once and perhaps from another goroutine, when a write
	// fails. The error wraps fault.ErrClientGone. It must not call the Writer.
	OnFail func(error)
}

// Stats holds the figures of a Writer.
type Stats struct {
	Blocked time.Duration // time spent in writes
	Stalled bool          // a write ran into WriteTimeout
}

// Writer is a stream.Output that writes to an HTTP response. Write, WriteFrame,
// Flush and Close belong to one goroutine; the heartbeat runs in another, inside.
type Writer struct {
	cfg Config
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf *[]byte // frames not yet written; nil: none

	mu      sync.Mutex // guards the response and the fields below
	timer   *time.Timer
	last    time.Time // of the last write
	expires time.Time // the write deadline that is set; zero: none
	blocked time.Duration
	stalled bool
	err     error
	closed  bool
}

// NewWriter commits a 200 with the headers of an event stream and starts the heartbeat. The caller
// must Close it before the handler returns. w must be the server's own writer: echo's writer, for
// example, hides the error of Flush.
func NewWriter(w http.ResponseWriter, cfg Config) *Writer {
	s := &Writer{cfg: cfg, w: w, rc: http.NewResponseController(w), last: time.Now()}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	if cfg.Heartbeat > 0 {
		s.mu.Lock() // the timer must not fire before it is stored
		// Timer (heartbeat): writes a heartbeat after a silence, and sets itself again for the rest
		// of it.
		// Ends: `Close`.
		// Waits: nobody: it works under the Writer's lock, and after `Close` it finds `closed` set
		// and touches nothing.
		s.timer = time.AfterFunc(cfg.Heartbeat, s.heartbeatIfSilent)
		s.mu.Unlock()
	}
	return s
}

// Write encodes ev. It reaches the client with the next Flush, or when enough has
// come together.
func (s *Writer) Write(stamp stream.Stamp, ev stream.Event) error {
	buf := s.currentBuffer()
	*buf = s.cfg.Encoder.Encode(*buf, stamp, ev)
	return s.flushIfFull()
}

// WriteFrame adds a frame that is not an event of a turn.
func (s *Writer) WriteFrame(frame []byte) error {
	buf := s.currentBuffer()
	*buf = append(*buf, frame...)
	return s.flushIfFull()
}

// currentBuffer returns the buffer for frames that wait. A stream without such frames has no buffer:
// most streams wait for a model.
func (s *Writer) currentBuffer() *[]byte {
	if s.buf == nil {
		s.buf = buffers.Get().(*[]byte)
	}
	return s.buf
}

// flushIfFull writes when enough has come together.
func (s *Writer) flushIfFull() error {
	switch n := len(*s.buf); {
	case n < spillAt, n < spillKept && s.cfg.Spill != nil:
		return nil
	case s.cfg.Spill != nil:
		return s.cfg.Spill()
	}
	return s.Flush()
}

// Flush writes what Write collected. After an error, which wraps
// fault.ErrClientGone, nothing is written any more.
func (s *Writer) Flush() error {
	s.mu.Lock()
	err := s.flushLocked()
	s.mu.Unlock()
	return err
}

// flushLocked writes the collected frames and releases the buffer. The caller must hold s.mu.
func (s *Writer) flushLocked() error {
	if s.buf != nil {
		if len(*s.buf) > 0 { // an encoder may write nothing for an event
			s.writeLocked(*s.buf)
		}
		*s.buf = (*s.buf)[:0]
		if cap(*s.buf) <= keepBuffer {
			buffers.Put(s.buf)
			s.buf = nil
		}
	}
	return s.err
}

// errDiscarded is the error of a Writer whose reply breaks off.
var errDiscarded = fmt.Errorf("%w: its stream breaks off", fault.ErrClientGone)

// Discard drops the frames that are not yet written. After it nothing more is written, and Close
// returns an error.
func (s *Writer) Discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = errDiscarded
	}
	_ = s.flushLocked()
}

// Close writes the rest, stops the heartbeat and gives the response back to the
// server: nothing touches it afterwards.
func (s *Writer) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.flushLocked()
	s.disarmLocked()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	return err
}

// Stats may be called after Close.
func (s *Writer) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Blocked: s.blocked, Stalled: s.stalled}
}

// writeLocked writes p to the client, unless an earlier write failed. The caller must hold s.mu.
func (s *Writer) writeLocked(p []byte) {
	if s.err != nil || s.closed {
		return
	}
	began := time.Now()
	s.armLocked(began)
	_, err := s.w.Write(p)
	if err == nil {
		err = s.rc.Flush()
	}
	if !s.cfg.HTTP1 {
		s.disarmLocked()
	}
	s.last = time.Now()
	s.blocked += s.last.Sub(began)
	if err == nil || errors.Is(err, http.ErrNotSupported) {
		return
	}
	s.stalled = s.cfg.WriteTimeout > 0 && s.last.Sub(began) >= s.cfg.WriteTimeout
	s.err = fmt.Errorf("%w: %w", fault.ErrClientGone, err)
	if s.cfg.OnFail != nil {
		s.cfg.OnFail(s.err)
	}
}

// armLocked sets the deadline of a write that begins now. Setting it costs as much as encoding a
// delta, so over HTTP/1 it is set ahead. The caller must hold s.mu.
func (s *Writer) armLocked(now time.Time) {
	timeout := s.cfg.WriteTimeout
	if timeout <= 0 || s.expires.Sub(now) >= timeout {
		return
	}
	s.expires = now.Add(timeout)
	if s.cfg.HTTP1 {
		s.expires = s.expires.Add(timeout / 16)
	}
	_ = s.rc.SetWriteDeadline(s.expires)
}

// disarmLocked removes the write deadline. HTTP/2 resets a stream whose write deadline passes even
// while nothing is being written, and an HTTP/1 connection goes on to its next request. The caller
// must hold s.mu.
func (s *Writer) disarmLocked() {
	if !s.expires.IsZero() {
		s.expires = time.Time{}
		_ = s.rc.SetWriteDeadline(s.expires)
	}
}

// heartbeatIfSilent runs when the timer fires. The timer is not reset by each write, which
// would cost every event; it looks how long the silence was and sleeps the rest.
func (s *Writer) heartbeatIfSilent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.err != nil {
		return
	}
	rest := s.cfg.Heartbeat - time.Since(s.last)
	if rest <= 0 {
		if s.cfg.BeatEvents {
			s.writeLocked(beatEvent())
		} else {
			s.writeLocked(s.cfg.Encoder.Heartbeat())
		}
		rest = s.cfg.Heartbeat
	}
	s.timer.Reset(rest)
}

// beatEvent returns the frame of a heartbeat with the time.
func beatEvent() []byte {
	b := append(make([]byte, 0, 64), `event: heartbeat`+"\n"+`data: {"at":"`...)
	b = time.Now().UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return append(b, `"}`+"\n\n"...)
}

// Blocked returns the time spent in writes so far.
func (s *Writer) Blocked() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocked
}
