package approval_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/state/store/memory"
)

// asks sends a request as tenant/user with scopes, and returns the reply.
func asks(t *testing.T, g http.Handler, who, scopes, method, path, body string) (int, string) {
	t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("X-Who", who)
	req.Header.Set("X-Scopes", scopes)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

const humanFlow = `
agents: {a: {description: answers}}
workflows: {flow: {nodes: {ask: {type: human, prompt: Go on?}, last: {type: agent, agent: a}}, edges: [{from: ask, to: last}]}}
`

// Who has the scope approve finds and answers what names nobody else in their tenant; with four eyes
// nobody answers about a task of their own, and the audit says who did.
func TestReviewersAnswerForOthers(t *testing.T) {
	t.Parallel()
	for _, fourEyes := range []bool{false, true} {
		cfg, file := wholetest.Configured(t, humanFlow, nil)
		file.Auth.FourEyes = fourEyes
		var log gatewaytest.SafeBuffer
		g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(&log),
			gateway.Seams{Store: memory.New(memory.Config{}), Door: wholetest.Door{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		begin := func() string {
			_, got := asks(t, g, "t/ann", "chat approve", "POST", "/chat/stream", `{"input":"go","workflow":"flow"}`)
			var q struct {
				Task string `json:"task_id"`
			}
			wholetest.DataOf(t, got, "approval", &q)
			return q.Task
		}
		task := begin()
		at := "/tasks/" + task + "/decision"
		for who, scopes := range map[string]string{"t/bob": "chat", "u/eve": "approve", "t/kim": "inspect ops admin"} {
			if _, list := asks(t, g, who, scopes, "GET", "/approvals", ""); strings.Contains(list, task) {
				t.Errorf("%s with %s is shown it: %s", who, scopes, list)
			}
			if code, got := asks(t, g, who, scopes, "POST", at, `{"action":"approve"}`); code != http.StatusNotFound && code != http.StatusForbidden {
				t.Errorf("%s with %s answers: %d %s", who, scopes, code, got)
			}
		}
		own, got := asks(t, g, "t/ann", "chat approve", "POST", "/tasks/"+begin()+"/decision", `{"action":"approve"}`)
		if want := map[bool]int{false: http.StatusOK, true: http.StatusForbidden}[fourEyes]; own != want || fourEyes && !strings.Contains(got, `"forbidden"`) {
			t.Errorf("four eyes %v: ann answers her own: %d %s", fourEyes, own, got)
		}
		if _, list := asks(t, g, "t/rev", "approve", "GET", "/approvals", ""); !strings.Contains(list, task) {
			t.Errorf("a reviewer is not shown it: %s", list)
		}
		if code, got := asks(t, g, "t/rev", "approve", "POST", at, `{"action":"approve"}`); code != http.StatusOK || !strings.Contains(got, `"user_id":"ann"`) {
			t.Errorf("a reviewer answers: %d %s", code, got)
		}
		if !strings.Contains(log.String(), `"decided_by":"rev"`) {
			t.Error("the audit does not say who decided")
		}
	}
}
