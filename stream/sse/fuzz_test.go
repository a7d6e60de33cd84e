package sse_test

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/iotest"

	gocmp "github.com/google/go-cmp/cmp"
	judge "github.com/tmaxmax/go-sse"

	"sluice/stream/sse/ssetest"
)

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
	events, err := ssetest.ReadAll(bytes.NewReader(text), 1<<20)
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
	bytewise, err := ssetest.ReadAll(iotest.OneByteReader(bytes.NewReader(text)), 1<<20)
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
