package sluice_test

import (
	stdjson "encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/stream"
)

// A name that a model or a client made up is seen as it is in the raw stream, while
// a parser finds it unchanged. Texts are nobody's to change.
func TestHiddenCharactersInNamesAreEscaped(t *testing.T) {
	t.Parallel()
	const name, text = "del\u202eete\u2066_\U000E0041\u200b\ufeff", "a\u200db \u202e c"
	call := stream.Call{ID: name, Tool: name, Server: name, Arguments: jsontext.Value(`{}`)}
	got := body(t, encoding{RequestID: "req_1"},
		&stream.Start{UserID: name, Model: "m"},
		&stream.ToolStarted{Call: call},
		&stream.ToolFailed{Call: call, Message: "no"},
		&stream.Delta{Text: text},
		&stream.Done{Reason: stream.Stop, Tools: []stream.ToolTiming{{Tool: name}}},
	)
	if n := strings.Count(got, name); n != 0 {
		t.Errorf("the raw name is there %d times", n)
	}
	if n := strings.Count(got, `del\u202eete\u2066_\udb40\udc41\u200b\ufeff`); n != 9 {
		t.Errorf("the escaped name is there %d times, want 9:\n%s", n, got)
	}
	if !strings.Contains(got, `"delta":"`+text+`"`) {
		t.Errorf("the text was changed:\n%s", got)
	}
	for line := range strings.Lines(got) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || !strings.Contains(data, "tool_name") || strings.Contains(data, "final_output") {
			continue
		}
		var parsed struct {
			Tool string `json:"tool_name"`
		}
		if err := stdjson.Unmarshal([]byte(data), &parsed); err != nil || parsed.Tool != name {
			t.Errorf("parsed, the name is %q (%v)", parsed.Tool, err)
		}
	}
}
