//go:build unix

package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/state/store/memory"
)

// sendAs sends a request sendAs somebody, tenant/name, and returns the reply.
func sendAs(f *wholetest.Flow, who, method, path, body string) (int, string) {
	req := httptest.NewRequestWithContext(f.T.Context(), method, path, strings.NewReader(body))
	req.Header.Set("X-Who", who)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// Who is somebody else, or of another tenant, learns nothing of a run that waits, not even
// that it is there, and changes nothing of it: whatever user their request names.
func TestStrangersFindNoRun(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	cfg, file := wholetest.Configured(t, fmt.Sprintf(wholetest.Paying, wholetest.NewCountedBank(t, &paid)+"/mcp"), nil)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{Store: memory.New(memory.Config{}), Door: wholetest.Door{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	wholetest.AwaitTools(t, g)
	f := &wholetest.Flow{T: t, Gateway: g}
	_, got := sendAs(f, "t/ann", http.MethodPost, "/chat/stream", `{"input":"Buy it","workflow":"pay","user_id":"ann"}`)
	var q struct {
		Task  string `json:"task_id"`
		Token string `json:"token"`
	}
	wholetest.DataOf(t, got, "approval", &q)
	at, answer := "/tasks/"+q.Task, fmt.Sprintf(`{"approval":{"token":%q,"action":"approve"},"user_id":"ann"}`, q.Token)
	_, unknown := sendAs(f, "t/bob", http.MethodGet, "/tasks/task_00000000000000000000000000", "")
	for _, who := range []string{"t/bob", "u/ann"} {
		for _, tt := range []struct{ method, path, body string }{
			{"GET", at, ""}, {"GET", at + "?user_id=ann", ""}, {"GET", at + "/trace", ""}, {"GET", at + "/events", ""}, {"GET", at + "/checkpoints", ""},
			{"GET", at + "/checkpoints/0", ""}, {"GET", at + "/sessions/s", ""}, {"POST", at + "/cancel", ""},
			{"POST", at + "/decision", `{"action":"approve"}`}, {"POST", at + "/decision", `{"action":"approve","user_id":"ann"}`},
		} {
			code, got := sendAs(f, who, tt.method, tt.path, tt.body)
			switch {
			case who == "t/bob" && strings.Contains(tt.path+tt.body, "ann"): // not whom the credential is of
				if code != http.StatusForbidden || !strings.Contains(got, `"forbidden"`) || strings.Contains(got, q.Task) {
					t.Errorf("%s: %s %s: %d %s", who, tt.method, tt.path, code, got)
				}
			case code != http.StatusNotFound || withoutID(got) != withoutID(unknown):
				t.Errorf("%s: %s %s: %d %s\nof an unknown one: %s", who, tt.method, tt.path, code, got, unknown)
			}
		}
		code, got := sendAs(f, who, "POST", "/chat/stream", answer)
		if why := map[string]string{"t/bob": `"forbidden"`, "u/ann": `"approval_invalid"`}[who]; code != http.StatusForbidden || !strings.Contains(got, why) {
			t.Errorf("%s: %d %s", who, code, got)
		}
		for path, none := range map[string]string{"/approvals": `{"approvals":[]}`, "/approvals?user_id=ann": `{"approvals":[]}`, "/tasks": `{"tasks":[]}`, "/tasks?user_id=ann": `{"tasks":[]}`} {
			if who == "t/bob" && strings.Contains(path, "ann") {
				none = "forbidden"
			}
			if _, got := sendAs(f, who, "GET", path, ""); strings.TrimSpace(got) != none && (none != "forbidden" || !strings.Contains(got, none)) {
				t.Errorf("%s is shown %s", who, got)
			}
		}
	}
	if _, got := sendAs(f, "t/ann", "GET", "/approvals?user_id=ann", ""); !strings.Contains(got, q.Task) {
		t.Errorf("its owner is shown %s", got)
	}
	if code, got := sendAs(f, "t/ann", "POST", at+"/decision", `{"action":"approve","user_id":"ann"}`); code != http.StatusOK || paid.Load() != 1 {
		t.Errorf("paid %d times; its owner is told %d %s", paid.Load(), code, got)
	}
}

// withoutID returns a problem without what names its request.
func withoutID(problem string) string {
	before, rest, _ := strings.Cut(problem, `"request_id":"`)
	_, after, _ := strings.Cut(rest, `"`)
	return before + after
}
