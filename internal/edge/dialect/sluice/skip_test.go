package sluice_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/sluice"
	"sluice/stream"
)

// A client that comes back gets the same bytes as one that stayed, wherever it left.
func TestSkippedEventsChangeNoByteOfTheRest(t *testing.T) {
	t.Parallel()
	call := stream.Call{ID: "c", Tool: "look", Server: "s", Arguments: jsontext.Value(`{}`)}
	events := []stream.Event{
		&stream.Start{Model: "m"}, &stream.Delta{Text: "plain"}, &stream.Delta{Text: "two\nlines"}, &stream.ToolStarted{Call: call},
		&stream.ToolCompleted{Call: call}, &stream.Delta{Text: "\"and\" more"}, &stream.Delta{Text: "\xff\u2028"}, &stream.Delta{Text: "end"}, &stream.Done{Reason: stream.Stop},
	}
	for _, accumulated := range []bool{false, true} {
		for left := range events {
			stayed, back := sluice.NewEncoder("r", accumulated, 0), sluice.NewEncoder("r", accumulated, 0)
			var want, got []byte
			for i, ev := range events {
				at := stream.Stamp{N: i + 1}
				if i < left {
					stayed.Encode(nil, at, ev)
					back.(dialect.Skipper).Skip(ev)
					continue
				}
				want, got = stayed.Encode(want, at, ev), back.Encode(got, at, ev)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("accumulated %v, left behind event %d (-stayed +back):\n%s", accumulated, left, diff)
			}
		}
	}
}
