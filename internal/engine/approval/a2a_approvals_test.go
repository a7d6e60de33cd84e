package approval_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/app/gateway/wholetest"
)

// a2aAsked is what a client of A2A sees of a task that asks.
type a2aAsked struct {
	ID        string `json:"id"`
	ContextID string `json:"contextId"`
	Status    struct {
		State   string `json:"state"`
		Message struct {
			Parts []struct {
				Text string `json:"text"`
				Data struct {
					Approval wholetest.Question `json:"approval"`
				} `json:"data"`
			} `json:"parts"`
		} `json:"message"`
	} `json:"status"`
	Artifacts []struct {
		Parts []struct{ Text string }
	}
}

// question returns the one question of a task.
func (a *a2aAsked) question(t *testing.T) (q wholetest.Question) {
	t.Helper()
	parts := a.Status.Message.Parts
	if !strings.HasSuffix(strings.ToLower(a.Status.State), "input_required") && a.Status.State != "input-required" || len(parts) != 2 || parts[0].Text != "Allow the call of create_todo?" {
		t.Fatalf("the task does not ask: %+v", a)
	}
	return parts[1].Data.Approval
}

// callA2A makes a callA2A of JSON-RPC over A2A and returns the code of its error; 0: it succeeded.
func callA2A(f *wholetest.Flow, version, method, params string, into any) (code int) {
	f.T.Helper()
	req, _ := http.NewRequestWithContext(f.T.Context(), http.MethodPost, "http://gateway/a2a", strings.NewReader(
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", version)
	_, text := f.Do(req)
	var reply struct {
		Result json.RawMessage `json:"result"`
		Error  struct{ Code int }
	}
	if err := json.Unmarshal([]byte(text), &reply); err != nil {
		f.T.Fatal(err, text)
	}
	if reply.Error.Code == 0 {
		if err := json.Unmarshal(reply.Result, into); err != nil {
			f.T.Fatal(err, text)
		}
	}
	return reply.Error.Code
}

// sendA2A sends a message of some parts.
func sendA2A(f *wholetest.Flow, version, id, members, parts string) (task a2aAsked, code int) {
	f.T.Helper()
	role, method := "ROLE_USER", "SendMessage"
	if version == "0.3" {
		role, method, parts = "user", "message/send", strings.NewReplacer(`{"text"`, `{"kind":"text","text"`, `{"data"`, `{"kind":"data","data"`).Replace(parts)
	}
	var result struct {
		a2aAsked
		Task *a2aAsked `json:"task"`
	}
	code = callA2A(f, version, method, fmt.Sprintf(`{"message":{"messageId":%q,"role":%q,"parts":[%s]%s}}`, id, role, parts, members), &result)
	if result.Task != nil {
		return *result.Task, code
	}
	return result.a2aAsked, code
}

// A client of A2A is asked by a data part of its task, and answers with one, or with a word.
// What is not an answer is refused and uses nothing up; the answer, sent again, gets what it
// got.
func TestA2AApprovals(t *testing.T) {
	t.Parallel()
	const file = "a2a: {enabled: true}\n"
	for _, version := range []string{"1.0", "0.3"} {
		for name, tt := range map[string]struct {
			parts string
			runs  string // the title that is added; empty: none
		}{
			"approve":     {`{"text":"approve"}`, "buy eggs"},
			"reject":      {`{"text":" reject\n"}`, ""},
			"data":        {`{"data":{"approval":{"action":"approve"}}}`, "buy eggs"},
			"bare data":   {`{"data":{"action":"reject","message":"Not now."}}`, ""},
			"modify":      {`{"data":{"approval":{"action":"modify","arguments":{"title":"buy milk"}}}}`, "buy milk"},
			"call by one": {`{"data":{"approval":{"calls":[{"call_id":"CALL","action":"approve"}]}}}`, "buy eggs"},
			"its id":      {`{"data":{"approval":{"approval_id":"ID","action":"approve"}}}`, "buy eggs"},
			"its token":   {`{"data":{"approval":{"token":"TOKEN","action":"approve"}}}`, "buy eggs"},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				f := wholetest.StartFlows(t, file, map[string]string{"SLUICE_CONFIRM": "writes"})
				task, code := sendA2A(f, version, "m-1", `,"contextId":"conv_a"`, `{"text":"Remind me to buy eggs"}`)
				if code != 0 {
					t.Fatalf("code %d", code)
				}
				q := task.question(t)
				to := fmt.Sprintf(`,"contextId":"conv_a","taskId":%q`, task.ID)
				for wrong, want := range map[string]int{
					`{"text":"Yes, please"}`: -32602, `{"data":{}}`: -32602, `{"data":[1]}`: -32602, `{"data":{"approval":{"action":"perhaps"}}}`: -32602,
					`{"data":{"approval":{"action":"modify","arguments":{"titel":1}}}}`: -32602, `{"text":"approve"},{"text":"reject"}`: -32602,
					`{"data":{"approval":{"action":"approve","approval_id":"appr_0"}}}`: -32004,
				} {
					if version == "0.3" && strings.Contains(wrong, "[1]") {
						continue // its data is an object
					}
					if _, code := sendA2A(f, version, "m-"+fmt.Sprint(len(wrong)), to, wrong); code != want {
						t.Errorf("%s: code %d, want %d", wrong, code, want)
					}
				}
				if _, code := sendA2A(f, version, "m-o", fmt.Sprintf(`,"contextId":"conv_b","taskId":%q`, task.ID), `{"text":"approve"}`); code != -32602 {
					t.Errorf("in another context: code %d", code)
				}
				shown := a2aAsked{}
				method := map[string]string{"1.0": "GetTask", "0.3": "tasks/get"}[version]
				if code := callA2A(f, version, method, fmt.Sprintf(`{"id":%q}`, task.ID), &shown); code != 0 || shown.question(t).ID != q.ID || shown.question(t).Token != "" {
					t.Errorf("the task, asked for: code %d, %+v", code, shown)
				}
				parts := strings.NewReplacer("CALL", q.Calls[0].ID, "ID", q.ID, "TOKEN", q.Token).Replace(tt.parts)
				var last a2aAsked
				for i := range 2 {
					done, code := sendA2A(f, version, "m-2", to, parts)
					if code != 0 || done.ID != task.ID || done.ContextID != "conv_a" || !strings.HasSuffix(strings.ToLower(done.Status.State), "completed") {
						t.Fatalf("answer %d: code %d, %+v", i, code, done)
					}
					last = done
				}
				if _, code := sendA2A(f, version, "m-3", to, `{"text":"approve"}`); code != -32004 {
					t.Errorf("a second answer: code %d", code)
				}
				_, list := f.Post(`{"input":"What's on my list?"}`)
				if n := strings.Count(list, `\"title\":\"`+tt.runs+`\"`); tt.runs != "" && n == 0 {
					t.Errorf("%q was not added: %s\n%+v", tt.runs, list, last)
				} else if tt.runs == "" && strings.Contains(list, `\"title\":\"buy`) {
					t.Errorf("something was added: %s", list)
				}
			})
		}
	}
}

// Without a store nothing but the token says what waits.
func TestA2AApprovalWithoutAStore(t *testing.T) {
	t.Parallel()
	f := wholetest.StartFlows(t, "a2a: {enabled: true}\n", map[string]string{"SLUICE_CONFIRM": "writes", "SLUICE_STORE": "none"})
	task, _ := sendA2A(f, "1.0", "m-1", "", `{"text":"Remind me to buy eggs"}`)
	done, code := sendA2A(f, "1.0", "m-2", "", fmt.Sprintf(`{"data":{"approval":{"token":%q,"action":"approve"}}}`, task.question(t).Token))
	if code != 0 || done.Status.State != "TASK_STATE_COMPLETED" || !strings.Contains(fmt.Sprint(done.Artifacts), "buy eggs") {
		t.Errorf("code %d, %+v", code, done)
	}
}

// The task of a user is not decided by a client that is nobody in particular, and that client
// does not learn what is asked.
func TestA2ADoesNotDecideForOthers(t *testing.T) {
	t.Parallel()
	f := wholetest.StartFlows(t, "a2a: {enabled: true}\n", map[string]string{"SLUICE_CONFIRM": "writes"})
	_, stream := f.Post(`{"input":"Remind me to buy eggs","user_id":"ann"}`)
	var q wholetest.Question
	wholetest.DataOf(t, stream, "approval", &q)
	to := fmt.Sprintf(`,"taskId":%q`, q.Task)
	if _, code := sendA2A(f, "1.0", "m-1", to, `{"text":"approve"}`); code != -32602 {
		t.Errorf("code %d", code)
	}
	var shown a2aAsked
	if callA2A(f, "1.0", "GetTask", fmt.Sprintf(`{"id":%q}`, q.Task), &shown); len(shown.Status.Message.Parts) != 1 {
		t.Errorf("the task tells %+v", shown.Status)
	}
	if done, code := sendA2A(f, "1.0", "m-2", to, `{"data":{"approval":{"action":"approve","user_id":"ann"}}}`); code != 0 || done.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("its user: code %d, %+v", code, done)
	}
}
