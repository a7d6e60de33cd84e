package sse_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/stream/sse"
	"sluice/stream/sse/ssetest"
)

// Vectors after the parsing rules of WHATWG HTML, section 9.2.6.
func TestReader(t *testing.T) {
	t.Parallel()
	message := func(data string) sse.Event { return sse.Event{Type: "message", Data: data} }
	for _, tt := range []struct {
		name, text string
		want       []sse.Event
	}{
		{"nothing", "", nil},
		{"one event", "id: 1\nevent: start\ndata: {}\n\n", []sse.Event{{ID: "1", Type: "start", Data: "{}"}}},
		{"CR", "event: e\rdata: a\r\r", []sse.Event{{Type: "e", Data: "a"}}},
		{"CRLF", "event: e\r\ndata: a\r\n\r\n", []sse.Event{{Type: "e", Data: "a"}}},
		{"all mixed", "data: a\rdata: b\r\ndata: c\n\r\ndata: d\r\n\n", []sse.Event{message("a\nb\nc"), message("d")}},
		{"LF CR are two ends", "data: a\n\rdata: b\n\n", []sse.Event{message("a"), message("b")}},
		{"CR CR LF are two ends", "data: a\r\r\ndata: b\n\n", []sse.Event{message("a"), message("b")}},
		{"byte order mark", "\ufeffdata: a\n\n", []sse.Event{message("a")}},
		{"only one mark is dropped", "\ufeff\ufeffdata: a\n\ndata: b\n\n", []sse.Event{message("b")}},
		{"a mark later is not", "data: a\n\n\ufeffdata: b\n\n", []sse.Event{message("a")}},
		{"comments", ": ping\n\n:\ndata: a\n: data: b\n\n", []sse.Event{message("a")}},
		{"one space is dropped", "data:a\ndata: b\ndata:  c\ndata:\td\n\n", []sse.Event{message("a\nb\n c\n\td")}},
		{"no colon", "data\ndata\n\n", []sse.Event{message("\n")}},
		{"a colon in the value", "data: a: b\n\n", []sse.Event{message("a: b")}},
		{"empty data is an event", "data:\n\ndata\n\n", []sse.Event{message(""), message("")}},
		{"no data is none", "event: e\nid: 1\n\ndata: a\n\n", []sse.Event{{ID: "1", Type: "message", Data: "a"}}},
		{"unknown fields", "Data: x\nda ta: x\n data: x\nfoo\ndata: a\n\n", []sse.Event{message("a")}},
		{"an id stays", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
			[]sse.Event{{ID: "1", Type: "message", Data: "a"}, {ID: "1", Type: "message", Data: "b"}, message("c")}},
		{"an id with NUL is ignored", "id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n",
			[]sse.Event{{ID: "1", Type: "message", Data: "a"}, {ID: "1", Type: "message", Data: "b"}}},
		{"a type does not stay", "event: e\ndata: a\n\ndata: b\n\n", []sse.Event{{Type: "e", Data: "a"}, message("b")}},
		{"the last type counts, an empty one is message", "event: e\nevent: f\ndata: a\n\nevent: e\nevent:\ndata: b\n\n",
			[]sse.Event{{Type: "f", Data: "a"}, message("b")}},
		{"retry", "retry: 1500\ndata: a\n\nretry: 0\ndata: b\n\n",
			[]sse.Event{{Type: "message", Data: "a", Retry: 1500 * time.Millisecond}, message("b")}},
		{"retry that is no number", "retry: 1e3\nretry: -5\nretry: 1500x\nretry: +1\nretry:\nretry: 1_0\ndata: a\n\n", []sse.Event{message("a")}},
		{"line separators end no line", "data: a\u2028b\u2029c\u0085d\x0be\n\n", []sse.Event{message("a\u2028b\u2029c\u0085d\x0be")}},
		{"NUL in data", "data: a\x00b\n\n", []sse.Event{message("a\x00b")}},
		{"cut before the empty line", "data: a\n\ndata: b\n", []sse.Event{message("a")}},
		{"cut in a line", "data: a\n\ndata: b", []sse.Event{message("a")}},
		{"cut in the mark", "\xef\xbb", nil},
		{"a mark and nothing else", "\ufeff", nil},
	} {
		for _, wrap := range []func(io.Reader) io.Reader{same, iotest.OneByteReader, iotest.DataErrReader} {
			got, err := ssetest.ReadAll(wrap(strings.NewReader(tt.text)), 64)
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: events (-want +got):\n%s", tt.name, diff)
			}
		}
	}
}

func same(r io.Reader) io.Reader { return r }

func TestReaderLimit(t *testing.T) {
	t.Parallel()
	const limit = 16
	for _, tt := range []struct {
		name, text string
		want       error
	}{
		{"a line that fits", "data:" + strings.Repeat("a", limit-5) + "\n\n", nil},
		{"a line that does not", "data:" + strings.Repeat("a", limit-4) + "\n\n", sse.ErrTooLong},
		{"a comment that does not", ":" + strings.Repeat("a", limit) + "\n", sse.ErrTooLong},
		{"a line without an end", strings.Repeat("a", 1<<20), sse.ErrTooLong},
		{"data that fits", strings.Repeat("data:abc\n", 4) + "\n", nil}, // 4 × 3 and 4 LF, the last of which goes
		{"data that does not", strings.Repeat("data:abc\n", 5) + "\n", sse.ErrTooLong},
		{"empty lines of data", strings.Repeat("data\n", 1000) + "\n", sse.ErrTooLong},
		{"many small events", strings.Repeat("data:abc\n\n", 1000), nil},
	} {
		if _, err := ssetest.ReadAll(strings.NewReader(tt.text), limit); err != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestReaderPassesOnErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	got, err := ssetest.ReadAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 64)
	if err != broken || len(got) != 1 || got[0].Data != "a" {
		t.Errorf("got %v, %v; want the first event and the reader's error", got, err)
	}
}

// An event is there as soon as the line end that completes it is: a Reader that
// waits to see whether LF follows CR would be one event late.
func TestReaderDoesNotWait(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r"} {
		pr, pw := io.Pipe()
		go func() { _, _ = pw.Write([]byte(text)) }() // and no more
		ev, err := sse.NewReader(pr, 64).Next()
		if err != nil || ev.Data != "a" {
			t.Errorf("%q: %v, %v", text, ev, err)
		}
		_ = pr.Close()
	}
}
