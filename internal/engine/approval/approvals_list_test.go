package approval_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice/internal/app/gateway/wholetest"
)

// deciding is a gateway with a workflow that asks whom the test says.
func deciding(t *testing.T, approvers string) *wholetest.Flow {
	t.Helper()
	return wholetest.StartFlows(t, `
workflows:
  pay:
    nodes:
      ask: {type: human, prompt: "Pay?", approvers: `+approvers+`}
`, nil)
}

// waitingFor begins a run that asks.
func waitingFor(f *wholetest.Flow, members string) wholetest.Question {
	f.T.Helper()
	_, stream := f.Post(`{"input":"go","workflow":"pay"` + members + `}`)
	var q wholetest.Question
	wholetest.DataOf(f.T, stream, "approval", &q)
	return q
}

// listedBy returns what waits, as a caller receives it, page by page.
func listedBy(f *wholetest.Flow, query string) []string {
	f.T.Helper()
	ids := []string{}
	for cursor := ""; ; {
		status, body := f.Get("/approvals?" + query + cursor)
		var list struct {
			Approvals []wholetest.Question `json:"approvals"`
			Next      string               `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || strings.Contains(body, "slap1.") {
			f.T.Fatalf("%s: %d %s", query, status, body)
		}
		for _, a := range list.Approvals {
			ids = append(ids, a.ID)
		}
		if cursor = "&cursor=" + list.Next; list.Next == "" {
			return ids
		}
	}
}

// decideBy answers by the id of the task and returns the status.
func decideBy(f *wholetest.Flow, q wholetest.Question, members string) int {
	f.T.Helper()
	status, _ := f.PostTo("/tasks/"+q.Task+"/decision", `{"action":"approve"`+members+`}`)
	return status
}

// A question is listed to whom it may be decided by, and to nobody else; the same may decide
// it by its task.
func TestApprovalsAreListedToThoseWhoMayDecide(t *testing.T) {
	t.Parallel()
	callers := map[string]string{
		"ann": "user_id=ann", "boss": "user_id=boss", "bob": "user_id=bob", "owner": "user_id=owner",
		"nobody": "conversation_id=conv_a", "ann here": "user_id=ann&conversation_id=conv_a", "boss elsewhere": "user_id=boss&conversation_id=conv_b",
	}
	for _, tt := range []struct {
		approvers, user string
		want            []string // who sees it
		decide          []string // user_ids that may decide; "" is none
	}{
		{"[boss]", "ann", []string{"boss"}, []string{"boss"}},
		{"[boss, owner]", "ann", []string{"ann", "ann here", "boss"}, []string{"ann", "boss"}},
		{"[boss]", "boss", []string{"boss"}, []string{"boss"}},
		{"[owner]", "ann", []string{"ann", "ann here"}, []string{"ann"}},
		{"any", "ann", []string{"ann", "ann here", "bob", "boss", "owner"}, []string{"ann", "bob", "boss", "owner"}},
		{"owner", "ann", []string{"ann", "ann here"}, []string{"ann"}},
		{"owner", "", []string{"nobody"}, []string{""}},
		{"[boss]", "", []string{"boss"}, []string{"boss"}},
		{"any", "", []string{"ann", "ann here", "bob", "boss", "nobody", "owner"}, []string{"", "ann", "bob", "boss", "owner"}},
	} {
		t.Run(tt.approvers+" for "+tt.user, func(t *testing.T) {
			t.Parallel()
			f := deciding(t, tt.approvers)
			ask := func() wholetest.Question {
				members := `,"conversation_id":"conv_a"`
				if tt.user != "" {
					members += `,"user_id":"` + tt.user + `"`
				}
				return waitingFor(f, members)
			}
			q := ask()
			var sees []string
			for _, name := range slices.Sorted(maps.Keys(callers)) {
				if ids := listedBy(f, callers[name]); slices.Equal(ids, []string{q.ID}) {
					sees = append(sees, name)
				} else if len(ids) > 0 {
					t.Errorf("%s sees %v", name, ids)
				}
			}
			if !slices.Equal(sees, tt.want) {
				t.Errorf("it is listed to %q, want %q", sees, tt.want)
			}
			for _, user := range []string{"", "ann", "bob", "boss", "owner"} {
				members := ""
				if user != "" {
					members = fmt.Sprintf(`,"user_id":%q`, user)
				}
				want := http.StatusForbidden
				if slices.Contains(tt.decide, user) {
					want = http.StatusOK
				}
				if got := decideBy(f, q, members); got != want {
					t.Errorf("a decision of %q gets %d, want %d", user, got, want)
				}
				if want == http.StatusOK {
					if left := listedBy(f, callers["boss"]); len(left) > 0 {
						t.Errorf("what was decided is still listed: %v", left)
					}
					q = ask()
				}
			}
		})
	}
}

// Anyone who is nobody in particular must name a conversation, so that nobody learns what waits
// for all who are nobody in particular.
func TestNobodyListsByConversation(t *testing.T) {
	t.Parallel()
	f := deciding(t, "owner")
	q := waitingFor(f, `,"conversation_id":"conv_a"`)
	status, body := f.Get("/approvals")
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, `"field":"/conversation_id","code":"required"`) || strings.Contains(body, q.Task) {
		t.Errorf("%d %s", status, body)
	}
	for _, bad := range []string{"conversation_id=x", "user_id=" + strings.Repeat("a", 300), "user_id=ann&cursor=n", "user_id=ann&cursor=nx", "user_id=ann&cursor=a1", "user_id=ann&cursor=x"} {
		if status, body := f.Get("/approvals?" + bad); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
	if got := listedBy(f, "conversation_id=conv_b"); len(got) > 0 {
		t.Errorf("another conversation has %v", got)
	}
}

// A list continues behind its page, in each of its parts.
func TestApprovalsArePaged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ approvers, query string }{{"[boss]", "user_id=boss"}, {"any", "user_id=boss"}, {"owner", "user_id=ann"}} {
		t.Run(tt.approvers, func(t *testing.T) {
			t.Parallel()
			f := deciding(t, tt.approvers)
			want := map[string]bool{}
			for range 101 {
				want[waitingFor(f, `,"user_id":"ann"`).ID] = true
			}
			got := listedBy(f, tt.query)
			for _, id := range got {
				delete(want, id)
			}
			if len(got) != 101 || len(want) != 0 {
				t.Errorf("%d are listed, %d are missing", len(got), len(want))
			}
		})
	}
}

// A decision that is sent again with its key does not answer the question that follows.
func TestRepeatedDecisionAnswersOneQuestion(t *testing.T) {
	t.Parallel()
	f := wholetest.StartFlows(t, `
workflows:
  pay:
    nodes:
      first: {type: human, prompt: "Pay?"}
      second: {type: human, prompt: "Really?"}
    edges: [{from: first, to: second}]
`, nil)
	q := waitingFor(f, "")
	var once string
	for i := range 3 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway/tasks/"+q.Task+"/decision", strings.NewReader(`{"action":"approve"}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "decision-0001")
		status, stream := f.Do(req)
		var next wholetest.Question
		wholetest.DataOf(t, stream, "approval", &next)
		if once == "" {
			once = stream
		}
		if status != http.StatusOK || stream != once || next.ID == q.ID {
			t.Errorf("reply %d: %d %s", i, status, stream)
		}
	}
}

// A call of a tool node that a person rejects is reported, in the stream that answers.
func TestRejectedCallOfANodeIsReported(t *testing.T) {
	t.Parallel()
	f := wholetest.StartFlows(t, `
workflows:
  pay:
    nodes:
      add: {type: tool, tool: todo/create_todo, arguments: {title: "'eggs'"}}
`, map[string]string{"SLUICE_CONFIRM": "writes"})
	q := waitingFor(f, "")
	_, stream := f.Post(fmt.Sprintf(`{"approval":{"token":%q,"action":"reject"}}`, q.Token))
	var calls []string
	for _, c := range wholetest.EventsOf(t, stream, "tool_call") {
		calls = append(calls, fmt.Sprint(c["call_id"], " ", c["status"], " ", c["error_type"]))
	}
	if want := []string{q.Calls[0].ID + " in_progress <nil>", q.Calls[0].ID + " failed approval_rejected"}; !slices.Equal(calls, want) {
		t.Errorf("told %q, want %q\n%s", calls, want, stream)
	}
}
