package stream_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/stream"
)

// stamped is an event as it was stored.
type stamped struct {
	At stream.Stamp
	Ev stream.Event
}

// readLines reads what a Storage wrote.
func readLines(t *testing.T, text []byte) (all []stamped) {
	t.Helper()
	for line := range bytes.Lines(text) {
		if err := stream.ReadStoredLine(line, func(s stream.Stamp, ev stream.Event) { all = append(all, stamped{s, ev}) }); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return all
}

// Pieces that came together share a line, and are read back each by itself: with its number
// and time, and who said it. All else has a line of its own.
func TestPiecesShareALine(t *testing.T) {
	t.Parallel()
	a := stream.Attribution{AgentID: "a\""}
	piece := func(text string) *stream.Delta { return &stream.Delta{Text: text} }
	for name, tt := range map[string]struct {
		events []stamped
		lines  int
	}{
		"together":            {[]stamped{{stream.Stamp{N: 3, At: 5}, piece("a")}, {stream.Stamp{N: 4, At: 5}, piece("\"\\\n\u2028")}, {stream.Stamp{N: 5, At: 5}, piece("")}}, 1},
		"at other times":      {[]stamped{{stream.Stamp{N: 3, At: 5}, piece("a")}, {stream.Stamp{N: 4, At: 6}, piece("b")}}, 2},
		"with a gap":          {[]stamped{{stream.Stamp{N: 3, At: 5}, piece("a")}, {stream.Stamp{N: 5, At: 5}, piece("b")}}, 2},
		"of two agents":       {[]stamped{{stream.Stamp{N: 3, At: 5}, piece("a")}, {stream.Stamp{N: 4, At: 5}, &stream.Delta{Attribution: a, Text: "b"}}, {stream.Stamp{N: 5, At: 5}, &stream.Delta{Attribution: a, Text: "c"}}}, 2},
		"around something":    {[]stamped{{stream.Stamp{N: 3, At: 5}, piece("a")}, {stream.Stamp{N: 4, At: 5}, &stream.Thinking{Content: "t"}}, {stream.Stamp{N: 5, At: 5}, piece("b")}}, 3},
		"first of all":        {[]stamped{{stream.Stamp{N: 1}, piece("a")}, {stream.Stamp{N: 2}, piece("b")}}, 1},
		"behind what is none": {[]stamped{{stream.Stamp{N: 1}, &stream.Start{}}, {stream.Stamp{N: 2, At: time.Hour}, piece("a")}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s stream.Storage
			text := []byte(nil)
			for _, e := range tt.events {
				var err error
				if text, err = s.Append(text, e.At, e.Ev); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.events, readLines(t, text)); diff != "" {
				t.Errorf("%s (-stored +read):\n%s", text, diff)
			}
			if n := bytes.Count(text, []byte("\n")); n != tt.lines {
				t.Errorf("%d lines, want %d: %s", n, tt.lines, text)
			}
		})
	}
}

// A line that was sent does not grow any more, and text that is not UTF-8 has its own.
func TestLinesThatDoNotGrow(t *testing.T) {
	t.Parallel()
	var s stream.Storage
	sent, _ := s.Append(nil, stream.Stamp{N: 1, At: 5}, &stream.Delta{Text: "a"})
	s.Cut()
	text, _ := s.Append(nil, stream.Stamp{N: 2, At: 5}, &stream.Delta{Text: "b"})
	text, _ = s.Append(text, stream.Stamp{N: 3, At: 5}, &stream.Delta{Text: "\xff"})
	text, _ = s.Append(text, stream.Stamp{N: 4, At: 5}, &stream.Delta{Text: "c"})
	want := []stamped{{stream.Stamp{N: 1, At: 5}, &stream.Delta{Text: "a"}}}
	if diff := cmp.Diff(want, readLines(t, sent)); diff != "" {
		t.Errorf("what was sent (-want +got):\n%s", diff)
	}
	var said strings.Builder
	for i, e := range readLines(t, text) {
		if e.At.N != i+2 {
			t.Errorf("event %d has the number %d", i+2, e.At.N)
		}
		said.WriteString(e.Ev.(*stream.Delta).Text)
	}
	if said.String() != "b\ufffdc" {
		t.Errorf("%q: %s", said.String(), text)
	}
	before := string(text)
	if text, err := s.Append(text, stream.Stamp{N: 5}, foreign{&stream.Delta{Text: "d"}}); err == nil || string(text) != before {
		t.Errorf("%v: %s", err, text)
	}
}

// Of a line that cannot be read nothing is handed on.
func TestStoredLinesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		``, `{}`, `{"n":1,"at":0,"event":"deltas","data":{"texts":["a"]}`, `{"n":0,"at":0,"event":"deltas","data":{"texts":["a"]}}`,
		`{"n":1,"at":-1,"event":"deltas","data":{"texts":["a"]}}`, `{"n":1,"at":0,"event":"deltas","data":{"texts":[]}}`,
		`{"n":1,"at":0,"event":"deltas","data":{"texts":["a",1]}}`, `{"n":1,"at":0,"event":"deltas"}`, `{"n":1,"at":0,"event":"from_the_future","data":{}}`,
	} {
		handed := 0
		if err := stream.ReadStoredLine([]byte(line), func(stream.Stamp, stream.Event) { handed++ }); !errors.Is(err, stream.ErrStored) || handed > 0 {
			t.Errorf("ReadStoredLine(%s) = %v, and handed on %d", line, err, handed)
		}
	}
	if got := readLines(t, []byte(`{"n":7,"at":9,"event":"delta","data":{"text":"a"}}`)); len(got) != 1 || got[0].At.N != 7 { // as earlier versions wrote it
		t.Errorf("%+v", got)
	}
}

// A piece costs no allocation.
func TestStoredPieceAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 1<<20)
	var s stream.Storage
	n, d := 0, &stream.Delta{Attribution: stream.Attribution{AgentID: "light-agent"}, Text: "twelve bytes"}
	if allocs := testing.AllocsPerRun(100, func() { n++; buf, _ = s.Append(buf, stream.Stamp{N: n, At: time.Duration(n / 8)}, d) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
