package sse_test

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"
	judge "github.com/tmaxmax/go-sse"

	"sluice/stream"
	"sluice/stream/sse"
)

// Whatever text and arguments a model comes up with: two readers see the same
// events, and encoding/json finds in them what was sent.
func FuzzWriterReaderRoundTrip(f *testing.F) {
	f.Add("plan", "Hel", "lo", []byte(`{"a":1}`), true)
	f.Add("", "\n\nevent: done\ndata: {}\n\n", "\u2028\"\\\x00", []byte("{\n\"a\": [1e400, \"\\ud83d\"]}"), false)
	f.Add("\xff\xf0\x9f", "😀", "\r", []byte(`{"a":1,"a":{}}`), true)
	f.Add("data: x", "\ufeff", ": ping", []byte(`[{}]`), false)
	f.Fuzz(func(t *testing.T, thought, delta1, delta2 string, args []byte, accumulated bool) {
		call := stream.Call{ID: "call_1", Tool: "t", Server: "s", Arguments: jsontext.Value(args)}
		rec := httptest.NewRecorder()
		w := newTurn(rec, sse.Config{RequestID: "req_1", Accumulated: accumulated})
		for _, ev := range []stream.Event{
			&stream.Start{Model: "m"}, &stream.Thinking{Content: thought}, &stream.ToolStarted{Call: call},
			&stream.ToolCompleted{Call: call, Result: thought}, &stream.Delta{Text: delta1}, &stream.Delta{Text: delta2}, &stream.Done{Reason: stream.Stop},
		} {
			if err := w.Emit(ev); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		events := sameForBothReaders(t, rec.Body.String())
		if len(events) != 7 {
			t.Fatalf("%d events, want 7", len(events))
		}
		want := func(event int, field, text string) {
			if got := decode(t, events[event].Data)[field]; got != text {
				t.Errorf("%s of event %d is %q, want %q", field, event+1, got, text)
			}
		}
		joined := replaced(delta1) + replaced(delta2)
		want(1, "content", replaced(thought))
		want(4, "delta", replaced(delta1))
		want(5, "delta", replaced(delta2))
		if accumulated {
			want(5, "accumulated", joined)
		}
		want(6, "final_output", joined)
		if got := arguments(t, []byte(events[2].Data)); !reflect.DeepEqual(got, expected(args)) {
			t.Errorf("arguments are %v, want %v", got, expected(args))
		}
	})
}

// replaced is s with U+FFFD for each byte that is not part of a code point.
func replaced(s string) string { return string([]rune(s)) }

func arguments(t *testing.T, data []byte) any {
	t.Helper()
	var m struct{ Arguments any }
	if err := exactly(data, &m); err != nil {
		t.Fatalf("data is not JSON: %v", err)
	}
	return m.Arguments
}

// expected is what the arguments should be for a client.
func expected(args []byte) any {
	var v any
	if err := exactly(args, &v); err != nil {
		return map[string]any{}
	}
	if m, ok := v.(map[string]any); ok {
		return m
	}
	return map[string]any{}
}

// exactly decodes JSON with the digits of its numbers.
func exactly(data []byte, v any) error {
	if !stdjson.Valid(data) {
		return stdjson.Unmarshal(data, v)
	}
	d := stdjson.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

// agree fails if our Reader and go-sse do not read the same events, but for what
// is known to differ:
//   - go-sse yields a frame without data as an event and the frame that the end of
//     the stream cuts; the rules drop both. So events without data are left out,
//     and the input ends with an empty line.
//   - go-sse leaves the type of an event without one empty.
//   - go-sse drops a byte order mark after empty lines too. So those are left out.
func agree(t *testing.T, text []byte) {
	t.Helper()
	text = append(bytes.Clone(bytes.TrimLeft(text, "\r\n")), "\n\n"...)
	events, err := readAll(bytes.NewReader(text), 1<<20)
	if err != nil {
		t.Fatalf("our Reader: %v", err)
	}
	var ours, theirs [][3]string
	for _, ev := range events {
		if ev.Data != "" {
			ours = append(ours, [3]string{ev.ID, ev.Type, ev.Data})
		}
	}
	for ev, err := range judge.Read(bytes.NewReader(text), &judge.ReadConfig{MaxEventSize: 1 << 20}) {
		if err != nil {
			t.Fatalf("go-sse: %v", err)
		}
		if ev.Data != "" {
			theirs = append(theirs, [3]string{ev.LastEventID, cmp.Or(ev.Type, "message"), ev.Data})
		}
	}
	if diff := gocmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%q (-go-sse +ours):\n%s", text, diff)
	}
	bytewise, err := readAll(iotest.OneByteReader(bytes.NewReader(text)), 1<<20)
	if err != nil || !reflect.DeepEqual(events, bytewise) {
		t.Errorf("%q read a byte at a time: %v, %v", text, bytewise, err)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"retry: 5\nid: 1\nevent: e\ndata: a\n\n", "data: a\r\rdata\r\n\r\n", "\ufeffdata:a\n\n: c\n\n", "id: \x00\ndata:b", "data: a\r\n\rid\n\nevent:\ndata\ndata: x",
		"\n\r\n\rdata:  two\n", "datax: a\ndata:b:c\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(agree)
}

// Chance alone seldom hits on a field's name: here the input is made of what
// means something.
func TestReaderAgreesWithGoSSE(t *testing.T) {
	t.Parallel()
	words := []string{"\n", "\n", "\r", "\r\n", "data", "data:", "data: ", "event:", "id:", "id", "retry: 5", ":", " ", "x", "\x00", "\ufeff", "é"}
	r := rand.New(rand.NewPCG(9, 10))
	for range 5_000 {
		var text []byte
		for range r.IntN(24) {
			text = append(text, words[r.IntN(len(words))]...)
		}
		agree(t, text)
	}
}
