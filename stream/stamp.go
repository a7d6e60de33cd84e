package stream

import "time"

// Stamp is the number and the time of an event within its turn. Every event gets its stamp before
// an encoder sees it. So an encoder needs neither a counter nor a clock, and encodes stored events
// to the same bytes.
type Stamp struct {
	// N counts the events of a turn: 1, 2, 3, … without gaps. An event that is Passing
	// has 0.
	N int
	// At is the time since the turn's request arrived. Pieces of the answer that came
	// together, without a Flush between them, share that of the first.
	At time.Duration
}

// Output takes the stamped events of one turn in order: an encoder with a client behind it, or a
// store. Only one goroutine at a time may call it.
type Output interface {
	// Write takes the next event. It may hold it back until Flush.
	Write(Stamp, Event) error
	// Flush writes the events that Write has held back.
	Flush() error
	// Blocked returns the time spent in writes so far.
	Blocked() time.Duration
}

// Encoder encodes the events of one turn for a client. It is a pure function of its request, the
// turn's start time and the stamped events: it reads neither a clock, randomness nor a store. It
// must skip, or write by a general rule, an event that it does not know. Only one goroutine at a
// time may call Encode.
type Encoder interface {
	// Encode appends the frames of ev, if it has any, to dst.
	Encode(dst []byte, s Stamp, ev Event) []byte
	// Heartbeat returns bytes without a meaning, which are sent to the client after a silence. It
	// may be called from another goroutine at any time.
	Heartbeat() []byte
}

// Stamper is the Sink in front of an Output: it numbers the events, records their times, and fills
// in the Timings of Done. Use NewStamper.
type Stamper struct {
	// out gets each event with its stamp. n is the number of the last one.
	out   Output
	began time.Time
	n     int
	fresh time.Duration // of a Delta that nothing but others followed; 0: look at the clock

	// Times from began to the first event and the first piece of the answer; 0 before it.
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

// sinceBegin returns the time since the turn began, at least 1 ns.
func (s *Stamper) sinceBegin() time.Duration { return max(time.Since(s.began), 1) }

// Flush passes the call on.
func (s *Stamper) Flush() error {
	s.fresh = 0
	return s.out.Flush()
}

// First returns the time from the turn's begin to its first event, and to the first piece of the
// answer; 0 without one.
func (s *Stamper) First() (event, delta time.Duration) { return s.firstEvent, s.firstDelta }
