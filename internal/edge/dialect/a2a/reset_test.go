package a2a

import (
	"fmt"
	"testing"

	"sluice/stream"
)

// Text that is taken back replaces the artifact, and further pieces are appended to what stays.
func TestResetReplacesTheArtifact(t *testing.T) {
	t.Parallel()
	for name, w := range wires {
		e := newTeller(w, `1`)
		var frames []byte
		for _, ev := range []stream.Event{&stream.Delta{Text: "one "}, &stream.Delta{Text: "two"}, &stream.Reset{Accumulated: "one ", Reason: stream.ResetFallback}, &stream.Delta{Text: "three"}} {
			frames = e.Encode(frames, stream.Stamp{}, ev)
		}
		text := ""
		for i, frame := range data(t, frames) {
			update := frame.(map[string]any)
			for _, inner := range []string{"result", "artifactUpdate"} {
				if m, ok := update[inner].(map[string]any); ok {
					update = m
				}
			}
			part := update["artifact"].(map[string]any)["parts"].([]any)[0].(map[string]any)["text"].(string)
			if update["append"] == true {
				text += part
			} else {
				text = part
			}
			if want := []string{"one ", "one two", "one ", "one three"}[i]; text != want {
				t.Errorf("%s: after frame %d a client has %q, want %q: %v", name, i, text, want, frame)
			}
		}
		if e.Text() != "one three" {
			t.Errorf("%s: %q", name, e.Text())
		}
	}
}

// A client that follows a turn which is not kept has its text at each moment, taken back or not.
func TestFollowedRunIsReset(t *testing.T) {
	t.Parallel()
	a := new(run)
	a.recordEvent(stream.Stamp{}, &stream.Delta{Text: "one "})
	a.notifyReaders()
	a.recordEvent(stream.Stamp{}, &stream.Delta{Text: "two"})
	a.recordEvent(stream.Stamp{}, &stream.Reset{Accumulated: "one ", Reason: stream.ResetFallback})
	a.recordEvent(stream.Stamp{}, &stream.Delta{Text: "three"})
	a.notifyReaders()
	if got := fmt.Sprintf("%q %d %d", a.Pieces, a.Size, a.resets); got != `["one " "three"] 9 1` {
		t.Error(got)
	}
}
