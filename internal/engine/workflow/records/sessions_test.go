package records_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/records"
	"sluice/internal/engine/workflow/engine"
	flow "sluice/internal/engine/workflow/records"
	"sluice/internal/state/store/memory"
)

// history words the messages of a session.
func history(s flow.SubAgentSession) (list []string) {
	for _, m := range s.MessageHistory {
		line := m.Role + ": " + m.Content
		for _, c := range m.ToolCalls {
			line += " [" + c.Server + "/" + c.Tool + "]"
		}
		list = append(list, line)
	}
	return list
}

// A session has a record, from its begin to its end and over a pause, with what was said
// in it and nothing of its caller's.
func TestSessionIsKept(t *testing.T) {
	t.Parallel()
	for _, who := range []string{`"agent":"boss"`, `"workflow":"flow"`} {
		in := memory.New(memory.Config{})
		o := wholetest.OpenOfficeWith(t, wholetest.FirmFile, map[string]string{"SLUICE_CONFIRM": "writes"}, map[string][]string{
			"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"Note it","context":"now"}`), wholetest.TextPart("All done.")},
			"researcher": {wholetest.TextPart("First I look.") + "," + wholetest.CallPart("list_todos", `{}`), wholetest.CallPart("delegate_to_writer", `{"task":"Write it"}`), wholetest.TextPart("NOTED")},
			"writer":     {wholetest.CallPart("create_todo", `{"title":"eggs"}`), wholetest.TextPart("WRITTEN")},
		}, gateway.Seams{Store: in})
		q, first := o.Pauses(`{"input":"BOSSONLY","user_id":"ann",` + who + `}`)
		ids := map[string]string{}
		for _, a := range wholetest.EventsOf(t, first, "agent") {
			if a["role"] == "delegate" {
				ids[a["agent_id"].(string)] = a["session_id"].(string)
			}
		}
		path := func(agent string) string { return "/tasks/" + q.Task + "/sessions/" + ids[agent] + "?user_id=ann" }
		var s flow.SubAgentSession
		o.Into(path("researcher"), &s)
		want := "user: Note it\n\nContext:\nnow|assistant: First I look. [todo/list_todos]|tool: {"
		if got := strings.Join(history(s), "|"); s.Status != flow.SessionRunning || !strings.HasPrefix(got, want) || len(s.MessageHistory) != 3 {
			t.Errorf("%s: while it waits: %+v", who, s)
		}
		_, second := o.Answers(q, `"action":"approve"`)
		var spent float64
		for _, a := range append(wholetest.EventsOf(t, first, "agent"), wholetest.EventsOf(t, second, "agent")...) {
			if used, ok := a["usage"].(map[string]any); ok && a["agent_id"] == "researcher" {
				spent += used["input_tokens"].(float64)
			}
		}
		if spent != 50 { // five calls of models: three of its own, and two of the writer within
			t.Errorf("%s: the researcher has spent %v tokens", who, spent)
		}
		s = flow.SubAgentSession{}
		o.Into(path("researcher"), &s)
		got := history(s)
		if s.Status != flow.SessionCompleted || s.Summary != "First I look.\n\nNOTED" || s.AgentName != "researcher" || s.ParentTaskID != q.Task ||
			s.SessionID != ids["researcher"] || s.CreatedAt.IsZero() || len(got) != 6 || strings.Join(got[3:], "|") != "assistant:  [agents/delegate_to_writer]|tool: WRITTEN|assistant: NOTED" && strings.Join(got[3:], "|") != "assistant:  [agents/delegate_to_writer]|tool: WRITTEN|assistant: \n\nNOTED" {
			t.Errorf("%s: %+v", who, s)
		}
		if strings.Contains(fmt.Sprint(s), "BOSSONLY") {
			t.Errorf("%s: its caller's messages are in it: %+v", who, s)
		}
		var inner flow.SubAgentSession
		if o.Into(path("writer"), &inner); inner.Status != flow.SessionCompleted || inner.Summary != "WRITTEN" || len(inner.MessageHistory) != 4 {
			t.Errorf("%s: %+v", who, inner)
		}
		var tr struct {
			Sessions map[string]any `json:"sub_agent_sessions"`
		}
		if o.Into("/tasks/"+q.Task+"/trace?user_id=ann", &tr); len(tr.Sessions) != 2 {
			t.Errorf("%s: the trace has sessions %v", who, tr.Sessions)
		}
		for _, bad := range []string{
			"/tasks/" + q.Task + "/sessions/" + strings.Repeat("0", 36) + "?user_id=ann",
			"/tasks/" + q.Task + "/sessions/" + q.Task + "?user_id=ann", "/tasks/task_00000000000000000000000000/sessions/" + ids["writer"] + "?user_id=ann",
		} {
			if status, text := o.Get(bad); status != http.StatusNotFound {
				t.Errorf("%s: %s: %d %s", who, bad, status, text)
			}
		}
		kept, err := (&flow.Sessions{Store: in}).Of(context.Background(), q.Task)
		if err != nil || len(kept) != 2 {
			t.Errorf("%s: sessions of the task: %v, %v", who, kept, err)
		}
		if err := records.Of(in).Forget(context.Background(), q.Task); err != nil {
			t.Error(err)
		}
		if status, text := o.Get(path("writer")); status != http.StatusNotFound {
			t.Errorf("%s: a forgotten session: %d %s", who, status, text)
		}
	}
}

// The checkpoints of a run are listed in pages, each with the state as it was then.
func TestCheckpointsAreShown(t *testing.T) {
	t.Parallel()
	research, err := os.ReadFile("../../../../examples/workflows/research.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f := wholetest.StartFlows(t, string(research), nil)
	_, stream := f.Post(`{"input":"How do tides work?","workflow":"research","user_id":"ann"}`)
	var start struct {
		Task string `json:"task_id"`
	}
	wholetest.DataOf(t, stream, "start", &start)
	type page struct {
		Checkpoints []flow.ShownCheckpoint `json:"checkpoints"`
		Next        string                 `json:"next_cursor"`
	}
	at := "/tasks/" + start.Task + "/checkpoints"
	var all page
	if f.Into(at+"?user_id=ann", &all); len(all.Checkpoints) < 6 || all.Next != "" {
		t.Fatalf("%d checkpoints, next %q", len(all.Checkpoints), all.Next)
	}
	said := 0
	for i, c := range all.Checkpoints {
		if c.Sequence != i || c.TaskID != start.Task || c.Frontier == nil || c.Status != engine.CheckpointCreated || len(c.State.Messages) < said {
			t.Errorf("checkpoint %d: %+v", i, c)
		}
		said = len(c.State.Messages)
		var one flow.ShownCheckpoint
		if f.Into(fmt.Sprint(at, "/", i, "?user_id=ann"), &one); one.ID != c.ID || len(one.State.Messages) != said {
			t.Errorf("checkpoint %d by itself: %+v", i, one)
		}
	}
	if first, last := all.Checkpoints[0], all.Checkpoints[len(all.Checkpoints)-1]; len(first.State.Messages) != 1 || len(first.Frontier) != 1 ||
		first.Frontier[0] != (flow.ShownOpen{Node: "question", Input: "How do tides work?", Attempt: 1, Round: 1}) || len(last.Frontier) != 0 {
		t.Errorf("first %+v, last %+v", first, last)
	}
	var got int
	for next := "0"; next != ""; {
		var p page
		f.Into(at+"?user_id=ann&limit=2&cursor="+next, &p)
		if got += len(p.Checkpoints); len(p.Checkpoints) > 2 {
			t.Fatalf("a page of %d", len(p.Checkpoints))
		}
		next = p.Next
	}
	if got != len(all.Checkpoints) {
		t.Errorf("pages have %d of %d", got, len(all.Checkpoints))
	}
	for path, want := range map[string]int{
		at + "/99?user_id=ann": http.StatusNotFound,
		at + "/-1?user_id=ann": http.StatusNotFound, at + "/00?user_id=ann": http.StatusNotFound, at + "/x?user_id=ann": http.StatusNotFound,
		at + "?user_id=ann&cursor=x": 422, at + "?user_id=ann&cursor=-1": 422, at + "?user_id=ann&cursor=": 422, at + "?user_id=ann&cursor=0&cursor=1": 422,
		at + "?user_id=ann&limit=0": 422, at + "?user_id=ann&limit=101": 422, at + "?user_id=ann&cursor=9999999": http.StatusOK,
		"/tasks/task_00000000000000000000000000/checkpoints?user_id=ann": http.StatusNotFound,
	} {
		if status, text := f.Get(path); status != want {
			t.Errorf("%s: %d, want %d: %s", path, status, want, text)
		}
	}
	_, stream = f.Post(`{"input":"hello","user_id":"ann"}`)
	wholetest.DataOf(t, stream, "start", &start)
	if status, text := f.Get("/tasks/" + start.Task + "/checkpoints?user_id=ann"); status != http.StatusOK || text != `{"checkpoints":[]}`+"\n" && text != `{"checkpoints":[]}` {
		t.Errorf("of a plain turn: %d %q", status, text)
	}
}
