package task_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/task"
)

// reads reads a document and returns it as it is written again.
func reads(t *testing.T, text string) string {
	t.Helper()
	d, err := task.ReadDocument([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return writes(t, d)
}

func writes(t *testing.T, d *task.Document) string {
	t.Helper()
	text, err := d.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDocument(t *testing.T) {
	t.Parallel()
	confidence := task.Number(0.9)
	d := &task.Document{ID: "task_1", SessionID: "c", ContextID: "c"}
	d.Enter(task.Working, time.Date(2026, 1, 2, 3, 4, 5, 600e6, time.FixedZone("", 3600)))
	d.History = []task.Message{{Role: "user", Content: "a", MessageID: "m1"}, {Role: "assistant", Content: "b", AgentID: "light"}}
	d.Artifacts = []task.Artifact{{ArtifactID: "answer", Parts: []task.Part{{Text: "b"}}}}
	d.Metadata = task.Metadata{AgentSelections: []string{"light"}, RoutingConfidence: &confidence, AgentResponses: []task.AgentResponse{{AgentID: "light", Content: "b", ExecutionTimeMS: 12}}}
	want := `{"id":"task_1","sessionId":"c","contextId":"c","status":{"state":"working","timestamp":"2026-01-02T02:04:05.600Z"},` +
		`"history":[{"role":"user","content":"a","messageId":"m1"},{"role":"assistant","content":"b","agentId":"light"}],` +
		`"artifacts":[{"artifactId":"answer","parts":[{"text":"b"}]}],` +
		`"metadata":{"agentSelections":["light"],"routingConfidence":0.9,"agentResponses":[{"agentId":"light","content":"b","success":false,"executionTimeMs":12}]}}`
	if diff := cmp.Diff(want, writes(t, d)); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, reads(t, want)); diff != "" {
		t.Errorf("read and written (-want +got):\n%s", diff)
	}
}

func TestDocumentsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{`{}`, `{}`},
		{`{"Id":"a","SESSIONID":"s","Status":{"State":"working"}}`, `{"id":"a","sessionId":"s","status":{"state":"working"}}`},
		{`{"id":null,"history":null,"status":null,"metadata":{"routing":null,"routingConfidence":null}}`, `{}`},
		{`{"metadata":{"RoutingConfidence":"0.5","retentionDays":" 7 ","routing":{"confidence":"1e-1"}}}`, `{"metadata":{"routingConfidence":0.5,"routing":{"confidence":0.1},"retentionDays":7}}`},
		{`{"metadata":{"agentResponses":[{"success":"True","executionTimeMs":"12"}]}}`, `{"metadata":{"agentResponses":[{"success":true,"executionTimeMs":12}]}}`},
		{`{"new":[1, 1.50],"metadata":{"room":"x","turns":{"a":null}},"history":[{"role":"user","mood":1}],"status":{"x":"y"}}`,
			`{"status":{"x":"y"},"history":[{"role":"user","mood":1}],"metadata":{"room":"x","turns":{"a":null}},"new":[1,1.50]}`},
	} {
		if diff := cmp.Diff(tt.want, reads(t, tt.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestDocumentsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `null x`, `[]`, `"canary"`, `{"id":"canary"`, `{"id":{"canary":1}}`, `{"history":"canary"}`, `{"history":[{"role":"canary","role":"b"}]}`,
		`{"metadata":{"routingConfidence":"canary"}}`, `{"metadata":{"routingConfidence":"NaN"}}`, `{"metadata":{"retentionDays":[1]}}`, `{"id":"canary","ID":"b"}`,
		`{"x":` + strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000) + `}`,
	} {
		_, err := task.ReadDocument([]byte(text))
		if !errors.Is(err, task.ErrDocument) {
			t.Errorf("%.60s: %v, want %v", text, err, task.ErrDocument)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%.60s: the error quotes it: %v", text, err)
		}
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	for text, want := range map[task.State]task.State{
		"working": task.Working, "Working": task.Working, "INPUT-REQUIRED": task.InputRequired, "": task.Unknown, "paused": task.Unknown, "unknown": task.Unknown,
	} {
		if got := text.Known(); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	states := []task.State{task.Submitted, task.Working, task.InputRequired, task.Completed, task.Failed, task.Canceled, "paused"}
	allowed := map[task.State]string{
		task.Submitted: "working input-required completed failed canceled", task.Working: "input-required completed failed canceled",
		task.InputRequired: "working completed failed canceled", "paused": "submitted working input-required completed failed canceled",
	}
	for _, before := range states {
		var got []string
		for _, s := range states[:6] {
			if s.Follows(before) {
				got = append(got, string(s))
			}
		}
		if strings.Join(got, " ") != allowed[before] {
			t.Errorf("after %s come %q, want %q", before, got, allowed[before])
		}
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	d := &task.Document{History: []task.Message{{Content: "a"}, {Content: "b"}, {Content: "c"}}}
	d.Prune(3)
	if len(d.History) != 3 {
		t.Errorf("%d messages, want 3", len(d.History))
	}
	d.Prune(2)
	if len(d.History) != 2 || d.History[0].Content != "b" {
		t.Errorf("kept %+v, want the last two", d.History)
	}
}

func FuzzReadDocument(f *testing.F) {
	f.Add(`{"id":"a","status":{"state":"x"},"metadata":{"routingConfidence":"0.5","agentResponses":[{"success":"true"}]},"n":[1]}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := task.ReadDocument([]byte(text))
		if err != nil {
			return
		}
		once, err := d.Append(nil)
		if err != nil {
			t.Fatalf("%q cannot be written: %v", text, err)
		}
		again, err := task.ReadDocument(once)
		if err != nil {
			t.Fatalf("%q cannot be read again: %v", once, err)
		}
		if twice, _ := again.Append(nil); string(twice) != string(once) {
			t.Fatalf("written %q and then %q", once, twice)
		}
	})
}
