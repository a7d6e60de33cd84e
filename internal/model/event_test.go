package model

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/tmaxmax/go-sse"
)

// readEvents returns the data of all events in body, and how the stream ended.
func readEvents(body io.Reader) (data []string, err error) {
	r := eventReader{}
	r.reset(body, false)
	for {
		_, b, err := r.nextEvent()
		if err != nil {
			return data, err
		}
		data = append(data, string(b))
	}
}

func TestEventReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*largeWindow)
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"LF", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"no space", "data:a\n\n", []string{"a"}},
		{"two spaces", "data:  a\n\n", []string{" a"}},
		{"several lines", "data: a\ndata\ndata: b\n\n", []string{"a\n\nb"}},
		{"comments and fields", ": c\n\nevent: x\nid: 1\nretry: 5\ndatax: no\ndata: a\nfoo\n\n", []string{"a"}},
		{"blank lines", "\n\n\r\ndata: a\n\n\n\n", []string{"a"}},
		{"no blank line at the end", "data: a\n\ndata: b\n", []string{"a", "b"}},
		{"no line end at the end", "data: a\r\n\r\ndata: b", []string{"a", "b"}},
		{"a long line", "data: " + long + "\n\ndata: b\n\n", []string{long, "b"}},
		{"a long comment", ": " + long + "\ndata: b\n\n", []string{"b"}},
		{"empty data", "data:\n\n", []string{""}},
	}
	for _, tt := range tests {
		for how, r := range map[string]io.Reader{"at once": strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in))} {
			got, err := readEvents(r)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != io.EOF {
				t.Errorf("%s, %s (-want +got):\n%s%v", tt.name, how, diff, err)
			}
		}
	}
}

func TestEventReaderErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: half"), iotest.ErrReader(broken)))
	if diff := cmp.Diff([]string{"a"}, got); diff != "" || err != broken {
		t.Errorf("cut (-want +got):\n%s%v", diff, err)
	}
	for name, body := range map[string]string{
		"line": "data: " + strings.Repeat("x", maxChunk+100), "lines": strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", maxChunk/1000+2),
		"comment": ":" + strings.Repeat("x", maxChunk+1000) + "\n",
	} {
		if _, err := readEvents(strings.NewReader(body)); err != ErrTooLarge {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
	}
	if got, err := readEvents(strings.NewReader("data: " + strings.Repeat("x", maxChunk) + "\n\n")); len(got) != 1 || err != io.EOF {
		t.Errorf("a chunk of the largest size: %d, %v", len(got), err)
	}
}

func TestBuffered(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]bool{
		"": false, "data: b": false, "data: b\n": false, "data: b\n\n": true, "data: b\r\n\r": false, "data: b\r\n\r\n": true,
		"\ndata: b\ndata: c\n\n": true, ": ping\n\n": false, ": ping\n\ndata: b\n\n": false, "event: x\ndata: b\n\n": true, "event: x\n\n": false, "event: x\n: c\n\n": false,
	} {
		r := eventReader{}
		r.reset(strings.NewReader("data: a\n\n"+rest), false)
		r.nextEvent()
		if got := r.hasBuffered(); got != want {
			t.Errorf("%q: %t, want %t", rest, got, want)
		}
	}
}

// FuzzEventReader compares with a reader that we did not write.
func FuzzEventReader(f *testing.F) {
	f.Add("data: a\ndata: b\n\n: c\r\nevent: x\r\ndata:y\r\n\r\ndata")
	f.Fuzz(func(t *testing.T, in string) {
		if strings.Contains(strings.ReplaceAll(in, "\r\n", ""), "\r") || strings.HasPrefix(in, "\ufeff") {
			return // lone CRs and a byte order mark are not for us
		}
		for line := range strings.Lines(in) {
			if isJSON([]byte(strings.TrimSpace(line))) {
				return // an extension of ours
			}
		}
		in = strings.TrimRight(in, "\r\n") + "\n\n" // the end of input is one, too
		var want []string
		for e, err := range sse.Read(strings.NewReader(in), nil) {
			if err != nil {
				return
			}
			want = append(want, e.Data)
		}
		got, err := readEvents(strings.NewReader(in))
		if err != io.EOF {
			t.Fatal(err)
		}
		if diff := cmp.Diff(nonEmpty(want), nonEmpty(got)); diff != "" {
			t.Errorf("events of %q (-theirs +ours):\n%s", in, diff)
		}
	})
}

// nonEmpty leaves out events without data, about which readers differ.
func nonEmpty(list []string) (out []string) {
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
