package events

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	t.Parallel()
	const start = "retry: 1000\n\nid: t:1\nevent: start\ndata: {\"a\":1}\n\n"
	tests := []struct {
		name, stream string
		most         int // events that are wanted
		want         []string
		end          error
	}{
		{"two", start + ": still here\n\nid: t:2\nevent: done\ndata: {}\n\n", 9, []string{`t 1 start {"a":1}`, "t 2 done {}"}, io.EOF},
		{"enough", start + "id: t:2\nevent: done\ndata: {}\n\n", 1, []string{`t 1 start {"a":1}`}, nil},
		{"half an event", start + "id: t:2\nevent: done\ndata: {}\n", 9, []string{`t 1 start {"a":1}`}, io.EOF},
		{"half a line", start + "id: t:2\nevent: do", 9, []string{`t 1 start {"a":1}`}, io.EOF},
		{"nothing is kept of the one before", start + "event: done\n\n", 9, []string{`t 1 start {"a":1}`, " 0 done "}, io.EOF},
		{"nothing", "", 9, nil, io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			err := Read(iotest.OneByteReader(strings.NewReader(tt.stream)), func(e Event) bool {
				got = append(got, fmt.Sprintf("%s %d %s %s", e.Turn, e.N, e.Name, e.Data))
				return len(got) < tt.most
			})
			if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.end) {
				t.Errorf("ends with %v, want %v (-want +got):\n%s", err, tt.end, diff)
			}
		})
	}
	cut := errors.New("cut")
	if err := Read(io.MultiReader(strings.NewReader(start), iotest.ErrReader(cut)), func(Event) bool { return true }); !errors.Is(err, cut) {
		t.Errorf("a broken connection ends with %v", err)
	}
}
