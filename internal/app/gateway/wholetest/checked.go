package wholetest

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/stream"
)

// Drafts returns the pieces of drafts in a stream.
func Drafts(text string) (all []string) {
	for frame := range strings.SplitSeq(text, "\n\n") {
		if _, data, ok := strings.Cut(frame, "event: inner_delta\ndata: "); ok {
			var d stream.InnerDelta
			_ = json.Unmarshal([]byte(data), &d)
			all = append(all, d.Delta)
		}
	}
	return all
}

// EventOf returns the data of the first event of that name in a stream.
func EventOf(t *testing.T, text, name string) map[string]any {
	t.Helper()
	_, rest, _ := strings.Cut(text, "event: "+name+"\ndata: ")
	line, _, _ := strings.Cut(rest, "\n")
	var data map[string]any
	if err := json.Unmarshal([]byte(line), &data); err != nil {
		t.Fatalf("no %s in %s", name, text)
	}
	return data
}
