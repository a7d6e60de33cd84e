package agui_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/internal/edge/dialect/jsonline"
	"sluice/stream"
)

// rounds is how many deltas an answer has.
const rounds = 200

// A delta costs no allocation of its own: what all deltas of a stretch share is rendered once.
func TestDeltaCostsNoAllocation(t *testing.T) {
	for name, ev := range map[string]stream.Event{"text": &stream.Delta{Text: "a \"piece\" 漢字\n"}, "thought": &stream.Thinking{Content: "a piece"}} {
		enc := encoderOf(stored())
		buf := enc.Encode(make([]byte, 0, 64<<10), stream.Stamp{N: 1}, begun)
		for range rounds { // the pieces are listed for done, in a list that doubles
			buf = enc.Encode(buf[:0], stream.Stamp{}, ev)
		}
		if n := testing.AllocsPerRun(100, func() { buf = enc.Encode(buf[:0], stream.Stamp{}, ev) }); n != 0 {
			t.Errorf("%s: %v allocations a delta", name, n)
		}
	}
}

// BenchmarkDelta encodes answers of 200 deltas of 25 characters; the figures are for one delta.
// bare is the least that a frame can cost: its constant beginning, and the text as JSON.
func BenchmarkDelta(b *testing.B) {
	delta := &stream.Delta{Text: "five and twenty letters, "}
	buf := make([]byte, 0, 64<<10)
	b.Run("agui", func(b *testing.B) {
		enc := encoderOf(stored())
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			if n%rounds == 0 {
				enc = encoderOf(stored())
				buf = enc.Encode(buf[:0], stream.Stamp{N: 1}, begun)
			}
			buf = enc.Encode(buf[:0], stream.Stamp{N: n, At: time.Second}, delta)
		}
	})
	b.Run("bare", func(b *testing.B) {
		prefix := fmt.Appendf(nil, `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_%s_1","delta":`, "0123456789abcdef")
		b.ReportAllocs()
		for b.Loop() {
			buf = append(jsonline.String(append(buf[:0], prefix...), delta.Text), "}\n\n"...)
		}
	})
}
