package approval

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// A question says all that a person must know to answer it. Arguments that are no object are
// shown as an empty one: with these the call would be refused.
func TestQuestionOfARecord(t *testing.T) {
	t.Parallel()
	r := &record{
		ID: "appr_1", Kind: chat.AskHuman, Prompt: "Which one?", Fill: []byte(`{"type":"object"}`), Task: "task_1",
		Expires: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli(),
		Calls: []recordedCall{
			{ID: "c1", Tool: "pay", Server: "bank", Agent: "money", Arguments: `{"sum": 3}`, Reason: "destructive"},
			{ID: "c2", Tool: "pay", Arguments: `[3]`, Reason: "all"},
		},
	}
	want := &stream.Approval{
		ID: "appr_1", Kind: chat.AskHuman, Prompt: "Which one?", Schema: jsontext.Value(`{"type":"object"}`), ExpiresAt: "2026-01-02T03:04:05.000Z", TaskID: "task_1",
		Calls: []stream.ApprovalCall{
			{CallID: "c1", Tool: "pay", Server: "bank", Arguments: jsontext.Value(`{"sum": 3}`), Reason: "destructive", AgentID: "money"},
			{CallID: "c2", Tool: "pay", Arguments: jsontext.Value(`{}`), Reason: "all"},
		},
	}
	if diff := cmp.Diff(want, r.questionEvent()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
