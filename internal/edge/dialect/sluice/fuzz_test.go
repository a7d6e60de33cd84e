package sluice_test

import (
	"bytes"
	stdjson "encoding/json"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/stream"
	"sluice/stream/sse/ssetest"
)

// Whatever text and arguments a model comes up with: two readers see the same
// events, and encoding/json finds in them what was sent.
func FuzzWriterReaderRoundTrip(f *testing.F) {
	f.Add("plan", "Hel", "lo", []byte(`{"a":1}`), true)
	f.Add("", "\n\nevent: done\ndata: {}\n\n", "\u2028\"\\\x00", []byte("{\n\"a\": [1e400, \"\\ud83d\"]}"), false)
	f.Add("\xff\xf0\x9f", "😀", "\r", []byte(`{"a":1,"a":{}}`), true)
	f.Add("data: x", "\ufeff", ": ping", []byte(`[{}]`), false)
	f.Add("", "plain", "\xf0\x9f\x98", []byte(`{}`), false) // three bytes, as U+FFFD has
	f.Fuzz(func(t *testing.T, thought, delta1, delta2 string, args []byte, accumulated bool) {
		call := stream.Call{ID: "call_1", Tool: "t", Server: "s", Arguments: jsontext.Value(args)}
		rec := httptest.NewRecorder()
		w := newTurn(rec, encoding{RequestID: "req_1", Accumulated: accumulated})
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
		events := ssetest.SameForBothReaders(t, rec.Body.String())
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
		if twice := jsontext.Value(args).IsValid(jsontext.AllowDuplicateNames(true)) && !jsontext.Value(args).IsValid(); twice {
			if !jsontext.Value(events[2].Data).IsValid() {
				t.Errorf("a name comes twice in %s", events[2].Data)
			}
		} else if got := arguments(t, []byte(events[2].Data)); !reflect.DeepEqual(got, expected(args)) {
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
