package stream

import "time"

// Stamp says which event of its turn an event is, and when it came. Every event has
// its stamp before an encoder sees it, so an encoder needs no counter and no clock:
// events that were stored are encoded again to the same bytes.
type Stamp struct {
	// N counts the events of a turn: 1, 2, 3, … without gaps. An event that is Passing
	// has 0.
	N int
	// At is the time since the turn's request arrived. Pieces of the answer that came
	// together, without a Flush between them, share that of the first.
	At time.Duration
}

// Output takes the stamped events of one turn in order: an encoder with a client
// behind it, or a store. One goroutine at a time may call it.
type Output interface {
	// Write takes the next event. It may hold it back until Flush.
	Write(Stamp, Event) error
	// Flush hands on what was held back.
	Flush() error
	// Blocked returns the time spent in writes so far.
	Blocked() time.Duration
}

// Encoder turns the events of one turn into what a client reads. It is a pure
// function of the request it was made for, the turn's start time, and the stamped
// events: it has no clock, no randomness and no store. It must skip, or write by a
// general rule, an event that it does not know. One goroutine at a time calls
// Encode.
type Encoder interface {
	// Encode appends the frames of ev, if it has any, to dst.
	Encode(dst []byte, s Stamp, ev Event) []byte
	// Heartbeat returns what is sent after a silence: bytes that mean nothing to the
	// client. It may be called from another goroutine at any time.
	Heartbeat() []byte
}

// Stamper is the Sink in front of an Output: it numbers the events, notes their
// times, and fills in the Timings of Done. Use NewStamper.
type Stamper struct {
	// out gets each event with its stamp. n is the number of the last one.
	out   Output
	began time.Time
	n     int
	fresh time.Duration // of a Delta that nothing but others followed; 0: look at the clock

	// Times from began to what users wait for; 0: there was none.
	firstEvent, firstDelta time.Duration
}

// NewStamper returns a Stamper for a turn whose request arrived at began.
func NewStamper(out Output, began time.Time) *Stamper { return &Stamper{out: out, began: began} }

// NewStamperAt returns a Stamper for a turn that has had n events.
func NewStamperAt(out Output, began time.Time, n int) *Stamper {
	return &Stamper{out: out, began: began, n: n}
}

// Emit passes ev on with its stamp.
func (s *Stamper) Emit(ev Event) error {
	s.n++
	if _, ok := ev.(*Delta); ok { // the hot path: many, and mostly several at once
		if s.fresh == 0 {
			s.fresh = s.sinceBegin()
		}
		if s.firstDelta == 0 {
			s.firstDelta = s.fresh
		}
		return s.out.Write(Stamp{s.n, s.fresh}, ev)
	}
	s.fresh = 0
	at := s.sinceBegin()
	if Passing(ev) {
		s.n--
		return s.out.Write(Stamp{At: at}, ev)
	}
	switch e := ev.(type) {
	case *Start:
		s.firstEvent = at
	case *Done:
		done := *e // the sender's own stays as it is
		done.Timings = Timings{Total: at, FirstEvent: s.firstEvent, FirstDelta: s.firstDelta, Blocked: s.out.Blocked()}
		ev = &done
	}
	return s.out.Write(Stamp{s.n, at}, ev)
}

// sinceBegin returns the time since the turn began, which is never 0.
func (s *Stamper) sinceBegin() time.Duration { return max(time.Since(s.began), 1) }

// Flush passes the call on.
func (s *Stamper) Flush() error {
	s.fresh = 0
	return s.out.Flush()
}

// First returns when the first event and the first piece of the answer came, since
// the turn began; 0 means that there was none.
func (s *Stamper) First() (event, delta time.Duration) { return s.firstEvent, s.firstDelta }
