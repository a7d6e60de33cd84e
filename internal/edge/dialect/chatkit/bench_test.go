package chatkit_test

import (
	"testing"

	"sluice/internal/edge/dialect/chatkit"
	"sluice/stream"
)

func speaking(t testing.TB) stream.Encoder {
	x, err := chatkit.New(chatkit.Config{}).Open(t.Context(), []byte(create("hi")))
	if err != nil {
		t.Fatal(err)
	}
	x.Encoder.Encode(nil, stream.Stamp{}, &stream.Start{})
	return x.Encoder
}

// Once its buffers have grown, an encoder encodes a delta without allocating.
func TestSteadyDeltaCostsNoAllocation(t *testing.T) {
	enc, delta := speaking(t), &stream.Delta{Text: "a piece of \"text\", 漢字 😀\n"}
	var buf []byte
	for range 200 {
		buf = enc.Encode(buf[:0], stream.Stamp{}, delta)
	}
	// The text so far grows, but by doubling: AllocsPerRun rounds that down.
	if n := testing.AllocsPerRun(100, func() { buf = enc.Encode(buf[:0], stream.Stamp{}, delta) }); n != 0 {
		t.Errorf("%v allocations a delta", n)
	}
}

// BenchmarkDelta encodes answers of 200 deltas of 25 characters; the figures are for
// one delta.
func BenchmarkDelta(b *testing.B) {
	delta := &stream.Delta{Text: "five and twenty letters, "}
	enc := speaking(b)
	var buf []byte
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%200 == 199 {
			enc = speaking(b)
		}
		buf = enc.Encode(buf[:0], stream.Stamp{}, delta)
	}
}
