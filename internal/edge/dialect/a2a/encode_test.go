package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect/sluice"
	"sluice/stream"
)

// newTeller returns the encoder of a stream.
func newTeller(w wire, id string) *eventEncoder {
	m := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("hi"))
	return &eventEncoder{turn: &turn{envelope: envelope{w, jsontext.Value(id)}, task: "task_1", context: "conv_1", message: m, began: time.Unix(0, 0)}}
}

var wires = map[string]wire{"JSON-RPC 1.0": rpc10, "HTTP+JSON 1.0": rest10, "JSON-RPC 0.3": rpc03, "HTTP+JSON 0.3": rest03}

// data returns the JSON of each frame.
func data(t *testing.T, frames []byte) (list []any) {
	t.Helper()
	for frame := range strings.SplitSeq(strings.TrimSuffix(string(frames), "\n\n"), "\n\n") {
		line, ok := strings.CutPrefix(frame, "data: ")
		if !ok || strings.ContainsAny(line, "\n\r\u0085\u2028\u2029") {
			t.Fatalf("a frame is %q", frame)
		}
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, v)
	}
	return list
}

// A piece of an answer is what a2a-go writes of it, whatever the text, who says it and the
// id of the request.
func TestPieceIsWhatTheLibraryWrites(t *testing.T) {
	t.Parallel()
	for name, w := range wires {
		for _, id := range []string{`1`, `"x"`, `"\u0000"`, `"a\u2028b\u0085"`, `-1.5e3`} {
			e, plain := newTeller(w, id), newTeller(w, id)
			for i, text := range []string{"first", hole, quotedHole, "a\u2028b\u0085c\n\"<&>", "漢字 😀"} {
				agent := []string{"", "lamp", "lamp", "radio", "radio"}[i]
				got := e.Encode(nil, stream.Stamp{}, &stream.Delta{Text: text, Attribution: stream.Attribution{AgentID: agent}})
				want := plain.appendEvent(nil, plain.artifactUpdate(text, i == 0, agent))
				if diff := cmp.Diff(data(t, want), data(t, got)); diff != "" {
					t.Errorf("%s, id %s, %q (-want +got):\n%s", name, id, text, diff)
				}
			}
		}
	}
}

// The same events make the same bytes, and no frame has a line of its own in it.
func TestFramesAreLines(t *testing.T) {
	t.Parallel()
	for name, w := range wires {
		encode := func() (frames []byte) {
			e := newTeller(w, `"x"`)
			e.message.ID, e.message.Parts[0] = "m", sdk.NewTextPart("odd\u2028\u0085\n")
			e.native = sluice.NewEncoder("req_1", false, 0)
			for i, ev := range []stream.Event{
				&stream.Start{ConversationID: "conv_2", TaskID: "task_2", TurnID: "turn_2"}, &stream.Thinking{Content: "odd\u2028"},
				&stream.Delta{Text: "odd\u0085"}, &stream.Error{Message: "odd\u2029", Fatal: true}, &stream.Done{Reason: stream.Failed},
			} {
				frames = e.Encode(frames, stream.Stamp{N: i + 1, At: time.Duration(i)}, ev)
			}
			return frames
		}
		first := encode()
		if !bytes.Equal(first, encode()) {
			t.Errorf("%s: the second time the frames differ", name)
		}
		list := data(t, first)
		if len(list) != 7 || !strings.Contains(fmt.Sprint(list[0]), "task_2") || !strings.Contains(fmt.Sprint(list[6]), "odd\u2029") {
			t.Errorf("%s: %d frames: %v", name, len(list), list)
		}
	}
}

// unknown is an extension that this version does not know, and stray is another package's: an Event to the compiler
// alone.
type (
	unknown struct {
		*stream.Thinking `json:"-"`
		Note             string `json:"note"`
	}
	stray struct{ *stream.Delta }
)

func (unknown) Name() string { return "made_up" }

func (unknown) Allow(*stream.Turn) error { return nil }

// An event that no encoder knows makes a whole frame of our own protocol, if the client wants these, or none at all.
func TestUnknownEventsMakeWholeFramesOrNone(t *testing.T) {
	t.Parallel()
	for name, w := range wires {
		own := newTeller(w, "1")
		own.native = sluice.NewEncoder("req_1", false, 0)
		for kind, e := range map[string]stream.Encoder{
			"stream": newTeller(w, "1"), "stream with our events": own,
			"reply": &collector{turn: newTeller(w, "1").turn}, "early reply": &collector{turn: newTeller(w, "1").turn, early: true},
		} {
			e.Encode(nil, stream.Stamp{N: 1}, &stream.Start{})
			for _, odd := range []stream.Event{nil, stray{&stream.Delta{Text: "stray"}}, unknown{Note: "a\n\nb"}} {
				got := e.Encode(nil, stream.Stamp{N: 2}, odd)
				if _, known := odd.(unknown); known && kind == "stream with our events" {
					if list := data(t, got); len(list) != 1 || !strings.Contains(fmt.Sprint(list[0]), "made_up") {
						t.Errorf("%s, %s: %T has the frames %q", name, kind, odd, got)
					}
					continue
				}
				if len(got) > 0 {
					t.Errorf("%s, %s: %T has a frame: %q", name, kind, odd, got)
				}
			}
		}
	}
}

// A piece costs no allocation besides its place in the answer.
func TestSteadyPieceCostsNoAllocation(t *testing.T) {
	for name, w := range wires {
		e := newTeller(w, "1")
		buf, delta := make([]byte, 0, 4096), &stream.Delta{Text: "a piece of \"text\", 漢字 😀\n"}
		for range 200 {
			buf = e.Encode(buf[:0], stream.Stamp{}, delta)
		}
		if n := testing.AllocsPerRun(100, func() { buf = e.Encode(buf[:0], stream.Stamp{}, delta) }); n != 0 {
			t.Errorf("%s: %v allocations a piece", name, n)
		}
	}
}

// BenchmarkDelta is what a piece of an answer costs to encode, compared with our own protocol.
func BenchmarkDelta(b *testing.B) {
	encoders := map[string]func() stream.Encoder{"own": func() stream.Encoder { return sluice.NewEncoder("req_0123456789ab", false, 0) }}
	for name, w := range wires {
		encoders[name] = func() stream.Encoder { return newTeller(w, "1") }
	}
	delta := &stream.Delta{Text: "Hello, this is a piece. "}
	for name, make := range encoders {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			e, buf, n := make(), []byte(nil), 0
			for b.Loop() {
				if n++; n%10_000 == 0 {
					e = make()
				}
				buf = e.Encode(buf[:0], stream.Stamp{N: n}, delta)
			}
		})
	}
}
