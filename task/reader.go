package task

import (
	"bytes"
	"context"
	"iter"

	"sluice/store"
	"sluice/stream"
)

// Reader is what is needed of a store to read a log.
type Reader interface {
	ReadLog(ctx context.Context, turn string, after, limit int) ([]store.Entry, error)
	Watch(topic string) *store.Watch
}

// Stamped is an event of a log.
type Stamped struct {
	stream.Stamp
	stream.Event
	// Last says that no other event is known yet: it is time for a Flush.
	Last bool
}

// Events returns the events of a turn behind after, on any gateway: first those that
// came, then those that come. It ends behind Done, or with an error, which comes alone
// and last: store.ErrNotFound if there is no log or none any more, ctx's own, or one that
// wraps stream.ErrStored.
func Events(ctx context.Context, r Reader, turn string, after int) iter.Seq2[Stamped, error] {
	return func(yield func(Stamped, error) bool) {
		for entry, err := range store.Follow(ctx, r, turn, after) {
			if err != nil {
				yield(Stamped{}, err)
				return
			}
			for line := range bytes.Lines(entry.Data) {
				s, err := readLine(line)
				if err != nil {
					yield(Stamped{}, err)
					return
				}
				s.Last = s.N == entry.N
				_, done := s.Event.(*stream.Done)
				if s.N > after && !yield(s, nil) || done {
					return
				}
			}
		}
	}
}

func readLine(line []byte) (s Stamped, err error) {
	s.Stamp, s.Event, err = stream.ReadStored(bytes.TrimSuffix(line, []byte("\n")))
	return s, err
}

// Tell tells out the events of a turn behind after, flushed as they were at first, until
// Done. If skip is not nil it is given the events before: an encoder whose frames hold
// what came so far has to see them. The error is that of Events, or out's.
func Tell(ctx context.Context, r Reader, turn string, after int, skip func(stream.Stamp, stream.Event), out stream.Output) error {
	from := after
	if skip != nil {
		from = 0
	}
	for s, err := range Events(ctx, r, turn, from) {
		if err != nil {
			return err
		}
		if s.N <= after {
			if skip != nil {
				skip(s.Stamp, s.Event)
			}
			continue
		}
		if err := out.Write(s.Stamp, s.Event); err != nil {
			return err
		}
		if s.Last {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Ends says whether event n of a turn is its Done, so that nothing follows it. n is at
// least 1.
func Ends(ctx context.Context, r Reader, turn string, n int) (bool, error) {
	entries, err := r.ReadLog(ctx, turn, n-1, 1)
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		for line := range bytes.Lines(entry.Data) {
			s, err := readLine(line)
			if err != nil {
				return false, err
			}
			if _, done := s.Event.(*stream.Done); done && s.N == n {
				return true, nil
			}
		}
	}
	return false, nil
}
