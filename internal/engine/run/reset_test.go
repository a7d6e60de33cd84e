package run_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/run"
	"sluice/stream"
)

// What a speaker takes back is taken out of what waits, or of what was said, and never of what
// others have said.
func TestVoiceRetracts(t *testing.T) {
	t.Parallel()
	whole := new(stream.Fold)
	v := &run.Voice{Out: &run.Out{Sink: folding{whole}}, Natural: true, Lines: make([]run.Line, 2)}
	ended := []bool{false, false}
	advance := func() { v.Advance(func(line int) bool { return ended[line] }) }
	back := func(line, n int) { v.Reset(line, &stream.Reset{Back: n, Runes: n}) }
	v.Text(1, "Twice")
	v.Text(1, " two")
	v.Text(0, "One")
	back(1, 6)
	v.Text(1, "o.")
	back(0, 2)
	v.Text(0, "nly.")
	ended[0] = true
	advance()
	back(1, 2)
	v.Text(1, "e!")
	if diff := cmp.Diff("Only. Twie!", whole.Text()); diff != "" || v.Emitted.Length != len("Only. Twie!") {
		t.Errorf("length %d (-want +got):\n%s", v.Emitted.Length, diff)
	}
}

type folding struct{ *stream.Fold }

func (f folding) Emit(ev stream.Event) error {
	f.Add(ev)
	return nil
}

func (folding) Flush() error { return nil }

// A text of which all was taken back is empty for those who join another to it.
func TestJoinOfNothing(t *testing.T) {
	t.Parallel()
	var j run.Join
	j.Add("- a list\n")
	j.Cut(4)
	if got := j.Between("Next", true); got == "" {
		t.Error("nothing stands behind a text")
	}
	j.Cut(5)
	if got := j.Between("Next", true); got != "" || j.Block {
		t.Errorf("%q stands behind nothing", got)
	}
}

// The bound of a branch is that of the text that counts.
func TestBranchCountsWhatStays(t *testing.T) {
	t.Parallel()
	b, _ := newBranch(5)
	for range 3 {
		if err := b.Emit(&stream.Delta{Text: "12345"}); err != nil {
			t.Fatal(err)
		}
		if err := b.Emit(&stream.Reset{Back: 5, Reason: stream.ResetFallback}); err != nil || b.Size != 0 {
			t.Fatalf("%v, size %d", err, b.Size)
		}
	}
}
