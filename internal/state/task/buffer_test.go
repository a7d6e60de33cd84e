package task

import (
	"testing"

	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// A turn that waits holds no buffer for its log, one that has ended none at all; and one that
// grew large is not lent again.
func TestBuffersAreGivenBack(t *testing.T) {
	t.Parallel()
	s := New(Config{Store: memory.New(memory.Config{})})
	defer s.Close()
	turn, err := s.Begin(t.Context(), Request{Chat: &chat.Request{Input: "hi"}})
	if err != nil || turn == nil {
		t.Fatal(turn, err)
	}
	out := turn.Before(nowhere{})
	if err := out.Write(stream.Stamp{N: 1}, &stream.Start{}); err != nil || turn.log.lent == nil {
		t.Fatalf("%v; nothing is lent to an event", err)
	}
	lent := turn.log.lent
	if err := out.Flush(); err != nil || turn.log.lent != nil || turn.log.pending != nil {
		t.Errorf("%v; behind a flush there are %d bytes", err, len(turn.log.pending))
	}
	// The pool may lose a buffer, and with the race detector often does.
	back := false
	for range 100 {
		got := s.store.buffers.get()
		back = back || got == lent
		if len(*got) != 0 {
			t.Fatalf("a buffer has %d bytes", len(*got))
		}
		turn.log.lent, turn.log.pending = lent, append((*lent)[:0], "text"...)
		turn.log.dropPending()
	}
	if !back {
		t.Error("the buffer is not lent again")
	}
	if err := out.Write(stream.Stamp{N: 2}, &stream.Done{Reason: stream.Stop}); err != nil {
		t.Fatal(err)
	}
	if turn.End(); turn.answer.lent != nil || turn.answer.text != nil || turn.answer.spans != nil {
		t.Error("the turn has ended and holds its answer")
	}
	var few buffers
	for range 100 {
		large := make([]byte, 0, keepBuffer+1)
		if few.put(&large); cap(*few.get()) > keepBuffer {
			t.Fatal("a large buffer is lent again")
		}
	}
}
