package stream_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/stream"
)

// Pieces of the answer are stored by a way of their own, which must not show: also not in
// who speaks, nor in text that is not UTF-8, which takes the other way.
func TestStoredDeltaIsPlainJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a", "\"\\\n\x00\u2028<&>", "ä€😀", "cut\xff"} {
		for _, a := range []stream.Attribution{
			{}, {AgentID: "a"}, {NodeID: "n"}, {SessionID: "s"}, {AgentID: "a\"", NodeID: "n\n", SessionID: "ß"}, {AgentID: "\xff"},
		} {
			delta := &stream.Delta{Attribution: a, Text: text}
			line, err := stream.AppendStored([]byte("before\n"), stream.Stamp{N: 7, At: 9}, delta)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				N, At int
				Event string
				Data  stream.Delta
			}
			if err := json.Unmarshal(line[len("before\n"):], &got); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			want := stream.Delta{Attribution: a, Text: text}
			want.Text, want.AgentID = strings.ToValidUTF8(text, "\ufffd"), strings.ToValidUTF8(a.AgentID, "\ufffd")
			if diff := cmp.Diff(want, got.Data); diff != "" || got.N != 7 || got.At != 9 || got.Event != "delta" {
				t.Errorf("%s (-want +got):\n%s", line, diff)
			}
		}
	}
}

// A delta costs no allocation, and neither does that of an agent of several.
func TestStoredDeltaAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 1024)
	for _, d := range []*stream.Delta{{Text: "twelve bytes"}, {Attribution: stream.Attribution{AgentID: "light-agent", SessionID: "s"}, Text: "twelve bytes"}} {
		if n := testing.AllocsPerRun(100, func() { buf, _ = stream.AppendStored(buf[:0], stream.Stamp{N: 1}, d) }); n > 0 {
			t.Errorf("%v allocations for %+v", n, d)
		}
	}
}

func BenchmarkStored(b *testing.B) {
	for name, ev := range map[string]stream.Event{
		"delta": &stream.Delta{Text: "twelve bytes"}, "delta-of-agent": &stream.Delta{Attribution: stream.Attribution{AgentID: "light-agent"}, Text: "twelve bytes"},
		"start": &stream.Start{}, "done": &stream.Done{Reason: stream.Stop},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf, _ = stream.AppendStored(buf[:0], stream.Stamp{N: 1}, ev)
			}
		})
	}
}
