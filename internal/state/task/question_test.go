package task

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Of many questions the request stays, and what was said last; and a name of the client's
// context is none of ours, whatever its case.
func TestPendingQuestion(t *testing.T) {
	t.Parallel()
	d := newDocument("task_1", &chat.Request{Context: []chat.ContextEntry{{Name: "pendingquestion", Value: "mine"}, {Name: "agentresponses", Value: "mine"}}})
	for n := range 20 {
		text := strings.Repeat("i", n)
		d.addInput("turn_1", &Request{Chat: &chat.Request{Input: "reply " + text}}, time.Now(), 2)
		d.endTurn(InputRequired, answerOf(&stream.Delta{Text: "question " + text}, &stream.Route{Decision: stream.Clarified}, &stream.Done{Reason: stream.InputRequired}), "turn_1", time.Now(), 2)
		d = readDocument("task_1", store.Task{Doc: d.encode(), Meta: store.Meta{Version: 1}})
	}
	q := d.Metadata.PendingQuestion
	if q == nil || len(q.Messages) != maxAsked || q.Messages[0].Content != "reply " || q.Messages[maxAsked-2].Content != "reply "+strings.Repeat("i", 19) || q.InARow != 20 {
		t.Errorf("%+v", q)
	}
	if got := string(d.Metadata.Others["pendingquestion"]); got != `"mine"` {
		t.Errorf("the context says %s", got)
	}
	d.addInput("turn_1", &Request{Chat: &chat.Request{Input: "reply"}}, time.Now(), 2)
	d.endTurn(InputRequired, answerOf(&stream.Delta{Text: "Which?"}, &stream.Route{Decision: stream.Routed, AgentID: "b"}, &stream.Done{Reason: stream.InputRequired, Asker: "b"}), "turn_1", time.Now(), 2)
	if q := d.Metadata.PendingQuestion; q.AgentID != "b" || q.InARow != 0 {
		t.Errorf("of an agent: %+v", q)
	}
	asked := d.Metadata.PendingQuestion.forRequest().Said
	if diff := cmp.Diff([]chat.HistoryMessage{{Role: chat.RoleUser, Text: "reply"}, {Role: chat.RoleModel, Text: "Which?"}}, asked[len(asked)-2:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.endTurn(Completed, answerOf(&stream.Route{Decision: stream.Routed, AgentID: "b"}, &stream.Done{Reason: stream.Stop}), "turn_1", time.Now(), 2)
	if d.Metadata.PendingQuestion != nil || d.Metadata.LastAgent != "b" {
		t.Errorf("at the end: %+v", d.Metadata)
	}
}
