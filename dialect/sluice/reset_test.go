package sluice

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/stream"
)

// After text was taken back, what events and the end repeat of it is what stays, whether deltas
// repeat the text or not, and whether a client has read them all or came later.
func TestTextAfterAReset(t *testing.T) {
	t.Parallel()
	events := []stream.Event{
		&stream.Start{}, &stream.Delta{Text: "one\n"}, &stream.Delta{Text: "two"}, &stream.Reset{Accumulated: "one\n", Reason: stream.ResetFallback},
		&stream.Delta{Text: "\"three\""}, &stream.Reset{Reason: stream.ResetTakenOver, Attribution: stream.Attribution{AgentID: "a"}}, &stream.Delta{Text: "four"}, &stream.Done{Reason: stream.Stop},
	}
	for _, accumulated := range []bool{true, false} {
		for skipped := range events {
			e := newEncoder("turn", "req", accumulated, 0)
			var frames []byte
			for i, ev := range events {
				if i < skipped {
					e.Skip(ev)
					continue
				}
				frames = e.Encode(frames, stream.Stamp{N: i + 2}, ev)
			}
			text := string(frames)
			if !strings.Contains(text, `"final_output":"four"`) || accumulated && skipped <= 4 && !strings.Contains(text, `"accumulated":"one\n\"three\""`) {
				t.Errorf("accumulated %t, %d skipped:\n%s", accumulated, skipped, text)
			}
		}
	}
	e := newEncoder("turn", "req", false, 0)
	got := string(e.Encode(nil, stream.Stamp{N: 2}, events[3]))
	want := "id: turn:2\nevent: response_reset\ndata: {\"request_id\":\"req\",\"accumulated\":\"one\\n\",\"reason\":\"fallback\"}\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = string(e.Encode(nil, stream.Stamp{N: 3}, events[5]))
	if want := `{"request_id":"req","accumulated":"","reason":"taken_over","agent_id":"a"}`; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
