package approval_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// inVault runs a test in a bubble, with a store.
func inVault(t *testing.T, test func(t *testing.T, b *bank)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		b.Store = memory.New(memory.Config{})
		test(t, b)
	})
}

func (b *bank) get(p wholetest.Peer, path string) (int, string) {
	b.t.Helper()
	resp := p.Send(b.t, b.t.Context(), http.MethodGet, path, "")
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Errorf("the reply broke off: %v", err)
	}
	return resp.StatusCode, string(body)
}

// state returns the state of a task.
func (b *bank) state(p wholetest.Peer, task string) string {
	b.t.Helper()
	_, body := b.get(p, "/tasks/"+task)
	var doc struct {
		Status struct {
			State     string
			Approvals []string
		}
		Metadata struct{ Turns []string }
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		b.t.Fatal(err, body)
	}
	return fmt.Sprintf("%s, %d turns, %d questions", doc.Status.State, len(doc.Metadata.Turns), len(doc.Status.Approvals))
}

// A question is answered by the id of its task, on another gateway, whose key is another
// one: as a new turn of the same task.
func TestDecisionsByTask(t *testing.T) {
	inVault(t, func(t *testing.T, b *bank) {
		first, second := b.gateway(nil), b.gateway(map[string]string{"SLUICE_APPROVAL_KEY": ""})
		q := b.Ask(first, `,"user_id":"ann"`)
		if got := b.state(second, q.Task); got != "input-required, 1 turns, 1 questions" {
			t.Errorf("the task is %s", got)
		}
		status, body := b.get(second, "/approvals?user_id=ann")
		if status != 200 || !strings.Contains(body, q.ID) || strings.Contains(body, "slap1.") || !strings.Contains(body, q.Task) {
			t.Errorf("%d %s", status, body)
		}
		if _, body := b.get(second, "/approvals?user_id=bob"); strings.TrimSpace(body) != `{"approvals":[]}` {
			t.Errorf("bob sees %s", body)
		}
		path := "/tasks/" + q.Task + "/decision"
		for _, bad := range []struct {
			path, body string
			status     int
			kind       string
			pointer    string
		}{
			{"/tasks/task_00000000000000000000000000/decision", `{"action":"approve"}`, 404, "not_found", ""},
			{"/tasks/nonsense/decision", `{"action":"approve"}`, 404, "not_found", ""},
			{path, `{"action":"approve","approval_id":"appr_00000000000000000000000000"}`, 409, "approval_conflict", ""},
			{path, `{}`, 422, "validation_error", "/action"},
			{path, `[]`, 422, "validation_error", ""},
			{path, `{"action":"approve"`, 422, "validation_error", ""},
			{path, `{"action":"approve","action":"reject"}`, 422, "validation_error", ""},
			{path, `{"calls":[{"call_id":"call_9","action":"approve"}],"user_id":"ann"}`, 422, "validation_error", "/calls/0/call_id"},
			{path, `{"action":"approve","user_id":"bob"}`, 403, "approval_invalid", ""},
			{path, `{"action":"approve"}`, 403, "approval_invalid", ""},
			{path, `{"action":"modify","arguments":{"amount":1}}`, 403, "approval_invalid", ""},
		} {
			status, body := b.Post(second, bad.path, bad.body)
			b.refused(status, body, bad.status, bad.kind)
			if bad.pointer != "" && !strings.Contains(body, `"field":"`+bad.pointer+`"`) {
				t.Errorf("%s: %s", bad.body, body)
			}
		}
		status, body = b.Post(first, "/chat/stream", fmt.Sprintf(`{"input":"yes","user_id":"ann","task_id":%q}`, q.Task))
		b.refused(status, body, 422, "validation_error", "/task_id")
		b.wantPaid(0)
		status, body = b.Post(second, path, `{"action":"approve","user_id":"ann"}`)
		if status != 200 || !strings.Contains(body, "Done.") || !strings.Contains(body, q.Task) {
			t.Errorf("%d %s", status, body)
		}
		b.wantPaid(1)
		if got := b.state(first, q.Task); got != "completed, 2 turns, 0 questions" {
			t.Errorf("the task is %s", got)
		}
		status, body = b.Post(first, path, `{"action":"approve","user_id":"ann"}`)
		b.refused(status, body, 409, "approval_conflict")
		status, body = b.Answer(first, q.Token, `"action":"approve"`)
		b.refused(status, body, 409, "approval_used")
		if _, body := b.get(first, "/approvals?user_id=ann"); strings.TrimSpace(body) != `{"approvals":[]}` {
			t.Errorf("what was answered is listed: %s", body)
		}
		b.wantPaid(1)
	})
}

// Who wants no stream gets the task, and the turn runs all the same.
func TestDecisionWithoutAStream(t *testing.T) {
	inVault(t, func(t *testing.T, b *bank) {
		p := b.gateway(nil)
		q := b.Ask(p, "")
		status, body := b.Post(p, "/tasks/"+q.Task+"/decision", `{"action":"approve"}`, "Accept", "application/json")
		if status != http.StatusAccepted || !strings.Contains(body, `"state":"working"`) {
			t.Errorf("%d %s", status, body)
		}
		time.Sleep(time.Second)
		b.wantPaid(1)
		if got := b.state(p, q.Task); got != "completed, 2 turns, 0 questions" {
			t.Errorf("the task is %s", got)
		}
		if _, body := b.get(p, "/tasks/"+q.Task+"/events"); !strings.Contains(body, `"final_output":"Done."`) {
			t.Errorf("its log: %s", body)
		}
	})
}

// An answer that is sent again with its idempotency key gets the reply of the first, however
// it was sent, also by whom the task does not belong to. It answers nothing that waits by then.
func TestRepeatedAnswerGetsTheSameReply(t *testing.T) {
	for name, tt := range map[string]struct{ path, body, user string }{
		"by token":                        {"/chat/stream", `{"approval":{"token":"TOKEN","action":"approve"}}`, ""},
		"by token, of a user":             {"/chat/stream", `{"approval":{"token":"TOKEN","action":"approve"},"user_id":"ann"}`, "ann"},
		"by token, of a user, unsaid":     {"/chat/stream", `{"approval":{"token":"TOKEN","action":"approve"}}`, "ann"},
		"by its task":                     {"/tasks/TASK/decision", `{"action":"approve"}`, ""},
		"by its task, of a user":          {"/tasks/TASK/decision", `{"action":"approve","user_id":"ann"}`, "ann"},
		"by its task, with its id":        {"/tasks/TASK/decision", `{"action":"approve","approval_id":"ID"}`, ""},
		"by its task, with another reply": {"/tasks/TASK/decision", `{"action":"reject","message":"No."}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inVault(t, func(t *testing.T, b *bank) {
				p, other := b.gateway(nil), b.gateway(nil)
				members := ""
				if tt.user != "" {
					members = fmt.Sprintf(`,"user_id":%q`, tt.user)
				}
				q := b.Ask(p, members)
				fill := strings.NewReplacer("TOKEN", q.Token, "TASK", q.Task, "ID", q.ID)
				path, body := fill.Replace(tt.path), fill.Replace(tt.body)
				_, once := b.Post(p, path, body, "Idempotency-Key", "answer-0001")
				for _, at := range []wholetest.Peer{p, other} {
					status, again := b.Post(at, path, body, "Idempotency-Key", "answer-0001")
					if status != 200 || once != again {
						t.Errorf("%d %s\nwant %s", status, again, once)
					}
				}
				if status, body := b.Post(p, path, body, "Idempotency-Key", "answer-0002"); status != http.StatusConflict {
					t.Errorf("with another key: %d %s", status, body)
				}
				if status, body := b.Post(p, path, body); status != http.StatusConflict {
					t.Errorf("without a key: %d %s", status, body)
				}
				want := int64(1)
				if strings.Contains(tt.body, "reject") {
					want = 0
				}
				b.wantPaid(want)
			})
		})
	}
}

// Who wants no stream gets the task as it is by then.
func TestRepeatedAnswerWithoutAStream(t *testing.T) {
	inVault(t, func(t *testing.T, b *bank) {
		p := b.gateway(nil)
		q := b.Ask(p, "")
		headers := []string{"Accept", "application/json", "Idempotency-Key", "answer-0001"}
		for _, state := range []string{"working", "completed"} {
			status, body := b.Post(p, "/tasks/"+q.Task+"/decision", `{"action":"approve"}`, headers...)
			if status != http.StatusAccepted || !strings.Contains(body, `"state":"`+state+`"`) {
				t.Errorf("%d %s", status, body)
			}
			time.Sleep(time.Second)
		}
		b.wantPaid(1)
	})
}

// A task that was cancelled while it waited runs nothing any more. Its question is not
// listed, and nothing is left of what it held.
func TestCancelledTaskAcceptsNoAnswer(t *testing.T) {
	inVault(t, func(t *testing.T, b *bank) {
		p := b.gateway(nil)
		q := b.Ask(p, `,"conversation_id":"conv_a"`)
		if _, list := b.get(p, "/approvals?conversation_id=conv_a"); !strings.Contains(list, q.ID) {
			t.Fatalf("what waits is not listed: %s", list)
		}
		if status, body := b.Post(p, "/tasks/"+q.Task+"/cancel", ""); status != 200 && status != 202 {
			t.Errorf("%d %s", status, body)
		}
		status, body := b.Answer(p, q.Token, `"action":"approve"`)
		b.refused(status, body, 409, "approval_conflict")
		status, body = b.Post(p, "/tasks/"+q.Task+"/decision", `{"action":"approve"}`)
		b.refused(status, body, 409, "approval_conflict")
		if _, list := b.get(p, "/approvals?conversation_id=conv_a"); strings.TrimSpace(list) != `{"approvals":[]}` {
			t.Errorf("what was cancelled is listed: %s", list)
		}
		if v, err := b.Store.Value(t.Context(), store.ApprovalKey(q.ID)); err != nil || strings.Contains(string(v.Data), "record") {
			t.Errorf("%s is left of the question, %v", v.Data, err)
		}
		b.wantPaid(0)
	})
}

// The task outlives its own life as long as somebody may answer.
func TestTaskWaitsAsLongAsItsQuestion(t *testing.T) {
	inVault(t, func(t *testing.T, b *bank) {
		p := b.gateway(map[string]string{"SLUICE_APPROVAL_TTL": "240h"})
		q := b.Ask(p, "")
		time.Sleep(239 * time.Hour)
		if status, body := b.Answer(p, q.Token, `"action":"approve"`); status != 200 {
			t.Errorf("%d %s", status, body)
		}
		b.wantPaid(1)
	})
}

// A question that nobody has answered goes a day after its time, with what it holds; at once
// when its conversation is deleted.
func TestUnansweredQuestionsGo(t *testing.T) {
	inVault(t, func(t *testing.T, b *bank) {
		in := b.Store.(*memory.Store)
		p := b.gateway(map[string]string{"SLUICE_APPROVAL_TTL": "1h"})
		there := func(id string) bool {
			_, err := in.Value(t.Context(), store.ApprovalKey(id))
			return err == nil
		}
		late, deleted := b.Ask(p, ""), b.Ask(p, `,"user_id":"ann","conversation_id":"conv_1"`)
		if !there(late.ID) || !there(deleted.ID) {
			t.Fatal("a question is not kept")
		}
		resp := p.Send(t, t.Context(), http.MethodDelete, "/conversations/conv_1?user_id=ann", "")
		resp.Body.Close()
		if resp.StatusCode >= 300 || there(deleted.ID) {
			t.Errorf("%d, the question is there: %v", resp.StatusCode, there(deleted.ID))
		}
		time.Sleep(26 * time.Hour)
		synctest.Wait()
		if there(late.ID) {
			t.Error("nobody can answer, and the question is there")
		}
		b.wantPaid(0)
	})
}

// One user's questions do not fill the store: with a thousand tasks that wait, the next call is not
// put off but refused. Another user's is asked about.
func TestWaitingTasksOfOneUserAreBounded(t *testing.T) {
	inVault(t, func(t *testing.T, b *bank) {
		in := b.Store.(*memory.Store)
		p := b.gateway(nil)
		for i := range 999 {
			meta := store.Meta{User: "ann", Turn: "turn_x", State: "input-required", Created: time.Now()}
			if err := in.CreateTask(t.Context(), fmt.Sprint("task_", i), store.Task{Doc: []byte("{}"), Meta: meta}, 0); err != nil {
				t.Fatal(err)
			}
		}
		if q := b.Ask(p, `,"user_id":"ann"`); q.Token == "" {
			t.Error("the thousandth task does not wait")
		}
		resp := p.Send(t, t.Context(), http.MethodPost, "/chat/stream", `{"input":"pay 5","user_id":"ann"}`)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || strings.Contains(string(body), "event: approval") || !strings.Contains(string(body), `"finish_reason":"stop"`) {
			t.Errorf("one too many: %v %s", err, body)
		}
		if q := b.Ask(p, `,"user_id":"bob"`); q.Token == "" {
			t.Error("another user's task does not wait")
		}
		b.wantPaid(0)
	})
}

// A page of what waits has at most 100 questions, and the pages together have each question once, of
// the caller's own tasks and of others'.
func TestPagesOfQuestions(t *testing.T) {
	inVault(t, func(t *testing.T, b *bank) {
		p := b.gateway(nil)
		for range 130 {
			b.Ask(p, `,"user_id":"ann"`)
		}
		seen, pages, cursor := map[string]bool{}, 0, ""
		for {
			_, body := b.get(p, "/approvals?user_id=ann&cursor="+cursor)
			var page struct {
				Approvals []struct {
					ID string `json:"approval_id"`
				}
				Next string `json:"next_cursor"`
			}
			if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Approvals) > 100 {
				t.Fatal(err, len(page.Approvals))
			}
			for _, q := range page.Approvals {
				if seen[q.ID] {
					t.Errorf("%s comes twice", q.ID)
				}
				seen[q.ID] = true
			}
			if pages++; page.Next == "" || pages > 9 {
				break
			}
			cursor = page.Next
		}
		if len(seen) != 130 || pages > 3 {
			t.Errorf("%d questions on %d pages", len(seen), pages)
		}
	})
}
