package task

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/internal/state/store"
)

// answeredDocument is the document of a task with an answer, which stands in four places.
func answeredDocument(answer string, turns int) *document {
	d := &document{ID: "task_1", SessionID: "c", ContextID: "c", Status: statusOf(InputRequired, time.Unix(0, 0))}
	for i := range turns {
		d.History = append(d.History, message{Role: "user", Content: "Q", MessageID: "u" + string(rune('a'+i))}, message{Role: "assistant", Content: answer, MessageID: "a" + string(rune('a'+i))})
	}
	d.Artifacts = []artifact{{ArtifactID: "answer", Parts: []part{{Text: answer}}}}
	d.Metadata.AgentResponses = []agentResponse{{AgentID: "a", Content: answer, Success: true}, {AgentID: "b", ErrorMessage: "It failed."}}
	d.Status.Message.Content = answer
	return d
}

// Other programs read a stored document: its texts are in their places while they are short, and
// a failed part has an empty one. Long texts, and the texts of a long document, stand once.
func TestStoredTextsStandInTheirPlaces(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, answer string
		turns        int
		copies       int // of the answer
	}{
		{"a short answer", "The lights are on.", 1, 4},
		{"the longest that is short", strings.Repeat("a", leastReferred-1), 1, 4},
		{"a long answer", strings.Repeat("a", leastReferred), 1, 1},
		{"short answers of a long document", strings.Repeat("a", 1000), 14, 14},
	} {
		d := answeredDocument(tt.answer, tt.turns)
		want := d.encode()
		stored, _ := d.encodeStored()
		if n := strings.Count(string(stored), tt.answer); n != tt.copies {
			t.Errorf("%s stands %d times, want %d: %s", tt.name, n, tt.copies, stored)
		}
		if refers := strings.Contains(string(stored), `"elsewhere"`); refers != (tt.copies != 4) {
			t.Errorf("%s: refers is %v", tt.name, refers)
		}
		var doc struct {
			Metadata struct {
				AgentResponses []map[string]any `json:"agentResponses"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(stored, &doc); err != nil || doc.Metadata.AgentResponses[1]["content"] != "" {
			t.Errorf("%s: a failed part is %v, %v", tt.name, doc.Metadata.AgentResponses[1], err)
		}
		back := readDocument("task_1", store.Task{Doc: stored, Meta: store.Meta{Version: 1}})
		if got := back.encode(); string(got) != string(want) {
			t.Errorf("%s is read back as %s", tt.name, got)
		}
	}
}

// A state of another program is read whatever its capitals and dashes.
func TestStatesOfOthersAreRead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"InputRequired": InputRequired, "input_required": InputRequired, "INPUT-REQUIRED": InputRequired, "Working": Working, "working": Working,
		"Submitted": submitted, "canceled": Canceled, "cancelled": unknown, "": unknown, "AuthRequired": unknown,
	} {
		text := `{"id":"x","status":{"state":"` + name + `"}}`
		if got := readDocument("x", store.Task{Doc: []byte(text)}).Status.State; got != want {
			t.Errorf("%q is read as %s, want %s", name, got, want)
		}
	}
}
