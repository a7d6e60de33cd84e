// Package ssetest reads streams of server-sent events in tests, with two readers: ours,
// and one that we did not write.
package ssetest

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	judge "github.com/tmaxmax/go-sse"

	"sluice/stream/sse"
)

// ReadAll returns the events of a stream up to its end, with a nil error at io.EOF. A line, and the
// data of an event, have at most limit bytes.
func ReadAll(r io.Reader, limit int) (events []sse.Event, err error) {
	reader := sse.NewReader(r, limit)
	for {
		ev, err := reader.Next()
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
}

// SameForBothReaders reads a stream of ours with our Reader and with one that we
// did not write, and fails the test if they differ or if retry stands anywhere but in
// the first event. It returns the events.
func SameForBothReaders(t *testing.T, text string) []sse.Event {
	t.Helper()
	events, err := ReadAll(strings.NewReader(text), 1<<20)
	if err != nil {
		t.Fatalf("our Reader: %v", err)
	}
	var ours, theirs [][3]string
	for i, ev := range events {
		ours = append(ours, [3]string{ev.ID, ev.Type, ev.Data})
		if i == 0 && ev.Retry == 0 || i > 0 && ev.Retry != 0 {
			t.Errorf("retry of event %d is %v: it belongs to the first block alone", i+1, ev.Retry)
		}
	}
	for ev, err := range judge.Read(strings.NewReader(text), &judge.ReadConfig{MaxEventSize: 1 << 20}) {
		if err != nil {
			t.Fatalf("go-sse: %v", err)
		}
		theirs = append(theirs, [3]string{ev.LastEventID, ev.Type, ev.Data})
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("events (-go-sse +ours):\n%s", diff)
	}
	return events
}
