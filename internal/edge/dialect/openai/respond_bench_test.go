package openai

import (
	"strconv"
	"testing"

	"sluice/stream"
)

// A delta of a response costs no allocation of its own: what all deltas of a stretch share is
// rendered once, and its text is added to the item.
func TestDeltaOfAResponseCostsNoAllocation(t *testing.T) {
	e := newResponder("req_1", began, smallFacts(), asStream)
	buf := e.Encode(make([]byte, 0, 64<<10), stream.Stamp{}, &stream.Start{TurnID: keptTurn})
	delta := &stream.Delta{Text: "a \"piece\" 漢字\n"}
	buf = e.Encode(buf[:0], stream.Stamp{}, delta)
	e.stretch.item = append(make([]byte, 0, 1<<20), e.stretch.item...)
	if n := testing.AllocsPerRun(100, func() { buf = e.Encode(buf[:0], stream.Stamp{}, delta) }); n != 0 {
		t.Errorf("%v allocations a delta", n)
	}
}

// BenchmarkResponseDelta encodes answers of so many deltas of 25 characters; the figures are for one
// delta. chunks is what Chat Completions costs, which repeats nothing at the end.
func BenchmarkResponseDelta(b *testing.B) {
	delta := &stream.Delta{Text: "five and twenty letters, "}
	buf := make([]byte, 0, 64<<10)
	for _, rounds := range []int{200, 2_000, 20_000} {
		b.Run("responses "+strconv.Itoa(rounds), func(b *testing.B) {
			var e *responder
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if n%rounds == 0 {
					e = newResponder("req_1", began, smallFacts(), asStream)
					buf = e.Encode(buf[:0], stream.Stamp{}, &stream.Start{TurnID: keptTurn})
				}
				buf = e.Encode(buf[:0], stream.Stamp{}, delta)
			}
		})
	}
	b.Run("chunks", func(b *testing.B) {
		e := newEncoder("req_1", began, "sluice", false)
		b.ReportAllocs()
		for b.Loop() {
			buf = e.Encode(buf[:0], stream.Stamp{}, delta)
		}
	})
}
