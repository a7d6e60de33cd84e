package task

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// reread reads a document as somebody else wrote it, and writes it again.
func reread(text string) string {
	return string(readDocument("task_1", store.Task{Doc: []byte(text)}).encode())
}

// The bytes of a document are a contract: other programs read them.
func TestDocument(t *testing.T) {
	t.Parallel()
	d := &document{ID: "task_1", SessionID: "c", ContextID: "c"}
	d.Status = status{State: Working, Timestamp: formatTime(time.Date(2026, 1, 2, 3, 4, 5, 600e6, time.FixedZone("", 3600)))}
	d.History = []message{{Role: "user", Content: "a", MessageID: "m1"}, {Role: "assistant", Content: "b", AgentID: "light"}}
	d.Artifacts = []artifact{{ArtifactID: "answer", Name: "answer", Parts: []part{{Text: "b"}}}}
	d.Metadata = metadata{
		AgentSelections: []string{"light"}, RoutingConfidence: 0.9, Routing: &routing{AgentID: "light", Confidence: 0.9, Reasoning: "r", AdditionalAgents: []string{"x"}},
		AgentResponses: []agentResponse{{AgentID: "light", Content: "b", ExecutionTimeMs: 12}, {AgentID: "x", Success: true, ErrorMessage: "e"}}, Turns: []string{"turn_1"},
	}
	const want = `{"id":"task_1","sessionId":"c","contextId":"c","status":{"state":"working","timestamp":"2026-01-02T02:04:05.600Z"},` +
		`"history":[{"role":"user","content":"a","messageId":"m1"},{"role":"assistant","content":"b","agentId":"light"}],` +
		`"artifacts":[{"artifactId":"answer","name":"answer","parts":[{"text":"b"}]}],` +
		`"metadata":{"agentSelections":["light"],"routingConfidence":0.9,"routing":{"agentId":"light","confidence":0.9,"reasoning":"r","additionalAgents":["x"]},` +
		`"agentResponses":[{"agentId":"light","content":"b","success":false,"executionTimeMs":12},{"agentId":"x","content":"","success":true,"errorMessage":"e","executionTimeMs":0}],"turns":["turn_1"]}}`
	if diff := cmp.Diff(want, string(d.encode())); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, reread(want)); diff != "" {
		t.Errorf("read and written (-want +got):\n%s", diff)
	}
}

// What other programs and newer versions have written is read as far as it goes: names and
// states in any case, numbers in strings, null for what is absent. Members that are not known, or
// are of another form, stay as they are.
func TestDocumentsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"Id":"a","SESSIONID":"s","Status":{"State":"Working"}}`:                                                                                     `{"id":"task_1","sessionId":"s","contextId":"s","status":{"state":"working"}}`,
		`{"id":null,"history":null,"artifacts":null,"status":{"state":"failed","message":null},"metadata":{"routing":null,"routingConfidence":null}}`: `{"id":"task_1","status":{"state":"failed"}}`,
		`{"status":{"state":"completed"},"metadata":{"RoutingConfidence":"0.5","retentionDays":7,"routing":{"agentId":"a","confidence":"1e-1"}}}`:     `{"id":"task_1","status":{"state":"completed"},"metadata":{"routingConfidence":0.5,"routing":{"agentId":"a","confidence":0.1},"retentionDays":7}}`,
		`{"status":{"state":"completed","x":"y"},"new":[1, 1.50],"metadata":{"room":"x"},"history":[{"role":"user","content":"a","mood":1}]}`:         `{"id":"task_1","status":{"state":"completed","x":"y"},"history":[{"role":"user","content":"a","mood":1}],"metadata":{"room":"x"},"new":[1,1.50]}`,
		// Of another form: what is next to it is read all the same.
		`{"status":{"state":"completed"},"History":{"pages":2},"artifacts":[{"artifactId":"a","parts":[{"text":"b"}]}]}`:                    `{"id":"task_1","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"text":"b"}]}],"history":{"pages":2}}`,
		`{"status":{"state":"completed"},"metadata":{"routingConfidence":"sure","turns":["turn_1"],"agentResponses":[{"success":"True"}]}}`: `{"id":"task_1","status":{"state":"completed"},"metadata":{"turns":["turn_1"],"agentResponses":[{"success":"True"}],"routingConfidence":"sure"}}`,
		`{"status":{"state":"completed"},"metadata":{"routingConfidence":"NaN"}}`:                                                           `{"id":"task_1","status":{"state":"completed"},"metadata":{"routingConfidence":"NaN"}}`,
		`{"status":{"state":"completed","message":"text"},"metadata":[1]}`:                                                                  `{"id":"task_1","status":{"state":"completed","message":"text"},"metadata":[1]}`,
		`{"status":{"state":"paused","since":1},"id":5}`:                                                                                    `{"id":"task_1","status":{"state":"unknown","since":1}}`,
		`{"status":7,"contextId":"c"}`: `{"id":"task_1","sessionId":"c","contextId":"c","status":{"state":"unknown"}}`,
	} {
		got := reread(text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if again := reread(got); again != got {
			t.Errorf("read again it is %s", again)
		}
	}
}

// Of what is cut, or no document at all, the state is unknown.
func TestDocumentsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	whole := `{"id":"task_1","status":{"state":"completed"},"history":[{"role":"user","content":"a"}]}`
	texts := []string{``, `null`, `[]`, `"text"`, `{"x":` + strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000) + `}`}
	for cut := range len(whole) {
		texts = append(texts, whole[:cut])
	}
	for _, text := range texts {
		if got := reread(text); got != `{"id":"task_1","status":{"state":"unknown"}}` {
			t.Errorf("%.60s: %s", text, got)
		}
	}
}

// A task that changes keeps what could not be read of its document, unless the change is of
// just that; no name is there twice.
func TestChangedForeignDocument(t *testing.T) {
	t.Parallel()
	d := readDocument("task_1", store.Task{Doc: []byte(`{"status":{"state":"input-required"},"history":{"pages":2},"artifacts":7,"metadata":{"turns":{"first":1},"agentResponses":[{"success":"True"}]}}`)})
	d.addInput("turn_2", &Request{Chat: &chat.Request{Input: "hi"}}, time.Unix(0, 0), 50)
	const want = `{"id":"task_1","status":{"state":"working","message":{"role":"assistant","content":"The request is being worked on"},"timestamp":"1970-01-01T00:00:00.000Z"},` +
		`"history":[{"role":"user","content":"hi","timestamp":"1970-01-01T00:00:00.000Z","messageId":"turn_2:user"}],` +
		`"metadata":{"turns":["turn_2"],"agentResponses":[{"success":"True"}]},"artifacts":7}`
	if diff := cmp.Diff(want, string(d.encode())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The newest messages stay.
func TestHistoryIsPruned(t *testing.T) {
	t.Parallel()
	d := new(document)
	for _, text := range []string{"a", "b", "c"} {
		d.addMessage(message{Content: text}, 2)
	}
	if len(d.History) != 2 || d.History[0].Content != "b" {
		t.Errorf("kept %+v, want the last two", d.History)
	}
}

func FuzzReadDocument(f *testing.F) {
	f.Add(`{"id":"a","status":{"state":"x"},"metadata":{"routingConfidence":"0.5","agentResponses":[{"success":"true"}]},"n":[1]}`)
	f.Add(`{"STATUS":{"state":"failed"},"history":7,"History":[],"metadata":{"Turns":1,"turns":["a"]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		once := reread(text)
		if !json.Valid([]byte(once)) {
			t.Fatalf("%q is written as %q", text, once)
		}
		if twice := reread(once); twice != once {
			t.Fatalf("written %q and then %q", once, twice)
		}
	})
}
