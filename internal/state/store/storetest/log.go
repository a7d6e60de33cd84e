// This file has the rules of logs: one writer at a time, appends at the end only, a bound
// on the whole, and readers that see each entry once. The comment of each test is the
// contract of a method.

package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/internal/state/store"
)

// add appends one entry of one event.
func add(t *testing.T, s store.Store, turn string, n int) {
	t.Helper()
	must(t, s.AppendLog(t.Context(), turn, store.Append{Entry: store.Entry{N: n, Data: fmt.Append(nil, n)}, At: n - 1, TTL: long}))
}

// numbers returns the N of entries.
func numbers(entries []store.Entry) (n []int) {
	for _, e := range entries {
		n = append(n, e.N)
	}
	return n
}

// An append counts only at the end of the log as it is. Otherwise the error is ErrConflict with an
// *EndError that holds the end, or ErrNotFound without a log. Numbers may leave gaps: an entry can
// stand for several events.
func logAtItsEnd(t *testing.T, s store.Store) {
	ctx := t.Context()
	want(t, store.ErrNotFound, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 2}, At: 1, TTL: long}))
	_, err := s.ReadLog(ctx, "x", 0, 9)
	want(t, store.ErrNotFound, err)
	must(t, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 3, Data: []byte("a")}, TTL: long}))
	must(t, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 4, Data: []byte("b")}, At: 3, TTL: long}))
	for _, at := range []int{0, 3, 5} {
		err := s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 9}, At: at, TTL: long})
		want(t, store.ErrConflict, err)
		var end *store.EndError
		if !errors.As(err, &end) || end.End != 4 {
			t.Errorf("at %d: %v, want the end 4", at, err)
		}
	}
	log, err := s.ReadLog(ctx, "x", 0, 9)
	must(t, err)
	same(t, "log", log, []store.Entry{{N: 3, Data: []byte("a")}, {N: 4, Data: []byte("b")}})
}

// An append that names a task counts only while that holder, of that epoch, has the task: a process
// that was taken for dead cannot write into the log of its successor.
func logFenced(t *testing.T, s store.Store) {
	ctx := t.Context()
	mine := store.Holder{Owner: "g", Epoch: 7}
	fenced := func(n int, h store.Holder) error {
		return s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: n}, At: n - 1, TTL: long, Task: "a", Holder: h})
	}
	want(t, store.ErrConflict, fenced(1, mine)) // the task does not exist
	must(t, s.CreateTask(ctx, "a", task("u", "c"), long))
	must(t, fenced(1, mine))
	want(t, store.ErrConflict, fenced(2, store.Holder{Owner: "g", Epoch: 6}))
	want(t, store.ErrConflict, fenced(2, store.Holder{Owner: "h", Epoch: 7}))
	must(t, fenced(2, mine))
}

// ReadLog returns at most limit entries after a number. An empty result behind the end is not an
// error.
func logInPieces(t *testing.T, s store.Store) {
	ctx := t.Context()
	for n := 1; n <= 10; n++ {
		add(t, s, "x", n)
	}
	for _, tt := range []struct {
		after, limit int
		want         []int
	}{
		{0, 3, []int{1, 2, 3}}, {3, 3, []int{4, 5, 6}}, {8, 9, []int{9, 10}}, {10, 9, nil}, {99, 9, nil}, {1 << 40, 9, nil},
	} {
		log, err := s.ReadLog(ctx, "x", tt.after, tt.limit)
		must(t, err)
		same(t, fmt.Sprintf("after %d", tt.after), numbers(log), tt.want)
		for _, e := range log {
			same(t, fmt.Sprintf("entry %d after %d", e.N, tt.after), string(e.Data), fmt.Sprint(e.N))
		}
	}
}

// Entries that were read do not change, whatever happens to the log. Data that was handed over
// belongs to its owner again.
func logReadStays(t *testing.T, s store.Store) {
	ctx, read := t.Context(), [][]store.Entry{}
	data := make([]byte, 300)
	must(t, s.CreateTask(ctx, "a", store.Task{Meta: store.Meta{Holder: store.Holder{Owner: "g", Epoch: 7}, Turn: "x"}}, long))
	for n := 1; n <= 40; n++ {
		for i := range data {
			data[i] = byte('a' + n%26)
		}
		must(t, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: n, Data: data}, At: n - 1, TTL: long}))
		log, err := s.ReadLog(ctx, "x", n-1, 9)
		must(t, err)
		read = append(read, log)
	}
	must(t, s.UpdateTask(ctx, "a", store.Task{Meta: store.Meta{Version: 1, Turn: "x"}}, long)) // nobody adds to it any more
	all, err := s.ReadLog(ctx, "x", 0, 99)
	must(t, err)
	same(t, "entries", len(all), 40)
	must(t, s.DropLog(ctx, "x"))
	for i, e := range all {
		same(t, fmt.Sprintf("entry %d", i+1), string(e.Data), strings.Repeat(string(rune('a'+(i+1)%26)), 300))
		same(t, fmt.Sprintf("entry %d as it was read first", i+1), read[i], []store.Entry{e})
	}
}

// A log that would exceed MaxLog is dropped as a whole, with ErrTooLarge: readers are never given a
// log with a gap.
func logBounded(t *testing.T, s store.Store) {
	ctx := t.Context()
	half := bytes.Repeat([]byte("x"), store.MaxLog/2)
	must(t, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 1, Data: half}, TTL: long}))
	must(t, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 2, Data: half}, At: 1, TTL: long}))
	want(t, store.ErrTooLarge, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 3, Data: []byte("1")}, At: 2, TTL: long}))
	_, err := s.ReadLog(ctx, "x", 0, 9)
	want(t, store.ErrNotFound, err)
	want(t, store.ErrNotFound, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 4}, At: 3, TTL: long}))
	want(t, store.ErrTooLarge, s.AppendLog(ctx, "y", store.Append{Entry: store.Entry{N: 1, Data: append(half, append(half, 1)...)}, TTL: long}))
}

// Each append sets the time to live of the whole log. A log that expired can begin again.
func logExpires(t *testing.T, s store.Store) {
	add(t, s, "x", 1)
	must(t, s.AppendLog(t.Context(), "x", store.Append{Entry: store.Entry{N: 2}, At: 1, TTL: short}))
	awaitGone(t, "the log", func() error { _, err := s.ReadLog(t.Context(), "x", 0, 9); return err })
	add(t, s, "x", 1)
}

// DropLog of a log that does not exist succeeds.
func logDropped(t *testing.T, s store.Store) {
	add(t, s, "x", 1)
	must(t, s.DropLog(t.Context(), "x"))
	must(t, s.DropLog(t.Context(), "x"))
	_, err := s.ReadLog(t.Context(), "x", 0, 9)
	want(t, store.ErrNotFound, err)
}

// If several appends come at one place, exactly one succeeds.
func logOneWriter(t *testing.T, s store.Store) {
	for n := 1; n <= 5; n++ {
		same(t, "writers", countSucceeded(8, func(int) error {
			return s.AppendLog(t.Context(), "x", store.Append{Entry: store.Entry{N: n}, At: n - 1, TTL: long})
		}), 1)
	}
}

// Follow returns every entry once and in order to any number of readers, while the log is written.
func followSeesAll(t *testing.T, s store.Store) {
	const readers, events = 20, 60
	add(t, s, "x", 1)
	done := make(chan error)
	for range readers {
		go func() {
			next := 1
			for e, err := range store.Follow(t.Context(), s, "x", 0) {
				if err == nil && e.N != next {
					err = fmt.Errorf("entry %d, want %d", e.N, next)
				}
				if err != nil {
					done <- err
					return
				}
				if next++; e.N == events {
					break
				}
			}
			done <- nil
		}()
	}
	for n := 2; n <= events; n++ {
		add(t, s, "x", n)
	}
	for range readers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Follow ends with ErrNotFound when the log is gone, and with the error of its context.
func followEndsWithLog(t *testing.T, s store.Store) {
	for _, err := range store.Follow(t.Context(), s, "nothing", 0) {
		want(t, store.ErrNotFound, err)
	}
	add(t, s, "x", 1)
	read := 0
	for e, err := range store.Follow(t.Context(), s, "x", 0) {
		if err != nil {
			want(t, store.ErrNotFound, err)
			break
		}
		read = e.N
		must(t, s.DropLog(t.Context(), "x"))
	}
	same(t, "read", read, 1)
	ctx, cancel := contextWithCancel(t)
	add(t, s, "y", 1)
	n := 0
	for _, err := range store.Follow(ctx, s, "y", 0) {
		if n++; err == nil {
			cancel()
			continue
		}
		want(t, ctx.Err(), err)
	}
	same(t, "steps", n, 2)
}

// LogLeft returns how long a log is kept, and an append begins that time again.
func logLeft(t *testing.T, s store.Store) {
	ctx := t.Context()
	_, err := s.LogLeft(ctx, "x")
	want(t, store.ErrNotFound, err)
	for n, ttl := range []time.Duration{long, 2 * long} {
		must(t, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: n + 1, Data: []byte("e")}, At: n, TTL: ttl}))
		left, err := s.LogLeft(ctx, "x")
		must(t, err)
		if left > ttl || left < ttl-10*time.Minute {
			t.Errorf("of %s %s are left", ttl, left)
		}
	}
}
