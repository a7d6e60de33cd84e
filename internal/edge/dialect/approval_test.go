package dialect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// A question about calls comes back as it went: in whatever order its ids do, the token is
// found.
func TestQuestionsOfCallsComeBack(t *testing.T) {
	t.Parallel()
	q := &stream.Approval{ID: "ap_1", Token: "slap1.token", Calls: []stream.ApprovalCall{{CallID: "a~b"}, {CallID: "c"}}}
	ids := []string{dialect.CallQuestion(q, 0), dialect.CallQuestion(q, 1)}
	if diff := cmp.Diff([]string{"slap1.token~a~b", "ap_1~c"}, ids); diff != "" {
		t.Error(diff)
	}
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		var a chat.Answer
		for _, i := range order {
			if call, ofCall := dialect.AnswerTo(&a, ids[i]); call != q.Calls[i].CallID || !ofCall {
				t.Errorf("%s is about %q", ids[i], call)
			}
		}
		if a.Token != q.Token {
			t.Errorf("token %q", a.Token)
		}
	}
	var a chat.Answer
	if call, ofCall := dialect.AnswerTo(&a, "slap1.token"); call != "" || ofCall || a.Token != "slap1.token" {
		t.Errorf("a question about no call: %q, %v, %+v", call, ofCall, a)
	}
}

func TestReportedBefore(t *testing.T) {
	t.Parallel()
	result := func(id string) chat.ClientMessage {
		return chat.ClientMessage{Speaker: chat.SpeakerTool, Result: tool.Result{ID: id}}
	}
	user := chat.ClientMessage{Speaker: chat.SpeakerUser}
	got := dialect.ReportedBefore(&chat.Answer{Calls: []chat.CallAnswer{{CallID: "w"}}},
		[]chat.ClientMessage{user, result("old"), user, {Speaker: chat.SpeakerAssistant}, result("d"), result("d")})
	if diff := cmp.Diff(dialect.Reported{Waited: []string{"w"}, Closed: []string{"d"}}, got); diff != "" {
		t.Error(diff)
	}
	calls := got.Calls()
	if calls["w"] != dialect.Waited || calls["d"] != dialect.Closed || calls["old"] != 0 {
		t.Errorf("calls %v", calls)
	}
	if calls := (dialect.Reported{}).Calls(); calls != nil {
		t.Errorf("of nothing there is %v", calls)
	}
}
