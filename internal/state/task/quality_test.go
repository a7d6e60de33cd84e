package task

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/state/store/memory"
	"sluice/stream"
)

// A draft is not in the log, and what was checked is in the task.
func TestDraftsAreNotKept(t *testing.T) {
	t.Parallel()
	s := New(Config{Store: memory.New(memory.Config{})})
	defer s.Close()
	draft := &stream.InnerDelta{Delta: "a canary", Attempt: 1}
	turn := begin(t, s, nil, &stream.Start{}, &stream.Quality{Phase: stream.Composing, Attempt: 1})
	out := turn.Before(nowhere{})
	_ = out.Write(stream.Stamp{At: 3}, draft)
	_ = out.Write(stream.Stamp{N: 3, At: 4}, &stream.Delta{Text: "Hi."})
	_ = out.Write(stream.Stamp{N: 4, At: 5}, &stream.Done{Reason: stream.Stop, Checked: jsontext.Value(`{"status":"completed"}`)})
	turn.End()
	if lines := logLines(t, s, turn.id); strings.Join(lines, " ") != "start quality response_delta done stop" {
		t.Errorf("the log has %q", lines)
	}
	doc, err := s.Show(t.Context(), Caller{}, turn.task)
	if err != nil || !strings.Contains(string(doc), `"quality":{"status":"completed"}`) || strings.Contains(string(doc), "canary") {
		t.Errorf("%s %v", doc, err)
	}
}
