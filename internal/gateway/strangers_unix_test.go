//go:build unix

package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/internal/settings"
	"sluice/store/memory"
)

// as sends a request as somebody, tenant/name, and returns the reply.
func (f *flowing) as(who, method, path, body string) (int, string) {
	req := httptest.NewRequestWithContext(f.t.Context(), method, path, strings.NewReader(body))
	req.Header.Set("X-Who", who)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// byWho is how a gateway of a test makes sure of its callers.
func byWho(r *http.Request) (chat.Principal, error) {
	tenant, id, _ := strings.Cut(r.Header.Get("X-Who"), "/")
	return chat.Principal{Tenant: tenant, ID: id}, nil
}

// Who is somebody else, or of another tenant, learns nothing of a run that waits, not even
// that it is there, and changes nothing of it: whatever user their request names.
func TestStrangersFindNoRun(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	cfg, file := configured(t, fmt.Sprintf(paying, newCountedBank(t, &paid)+"/mcp"), nil)
	g, err := New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), Seams{Store: memory.New(memory.Config{}), Authenticate: byWho})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	awaitTools(t, g)
	f := &flowing{t: t, Gateway: g}
	_, told := f.as("t/ann", http.MethodPost, "/chat/stream", `{"input":"Buy it","workflow":"pay","user_id":"ann"}`)
	var q struct {
		Task  string `json:"task_id"`
		Token string `json:"token"`
	}
	dataOf(t, told, "approval", &q)
	at, answer := "/tasks/"+q.Task, fmt.Sprintf(`{"approval":{"token":%q,"action":"approve"},"user_id":"ann"}`, q.Token)
	_, unknown := f.as("t/bob", http.MethodGet, "/tasks/task_00000000000000000000000000", "")
	for _, who := range []string{"t/bob", "u/ann"} {
		for _, tt := range []struct{ method, path, body string }{
			{"GET", at, ""}, {"GET", at + "?user_id=ann", ""}, {"GET", at + "/trace", ""}, {"GET", at + "/events", ""}, {"GET", at + "/checkpoints", ""},
			{"GET", at + "/checkpoints/0", ""}, {"GET", at + "/sessions/s", ""}, {"POST", at + "/cancel", ""},
			{"POST", at + "/decision", `{"action":"approve"}`}, {"POST", at + "/decision", `{"action":"approve","user_id":"ann"}`},
		} {
			if code, got := f.as(who, tt.method, tt.path, tt.body); code != http.StatusNotFound || withoutID(got) != withoutID(unknown) {
				t.Errorf("%s: %s %s: %d %s\nof an unknown one: %s", who, tt.method, tt.path, code, got, unknown)
			}
		}
		if code, got := f.as(who, "POST", "/chat/stream", answer); code != http.StatusForbidden || !strings.Contains(got, `"approval_invalid"`) {
			t.Errorf("%s: %d %s", who, code, got)
		}
		for path, none := range map[string]string{"/approvals": `{"approvals":[]}`, "/approvals?user_id=ann": `{"approvals":[]}`, "/tasks": `{"tasks":[]}`, "/tasks?user_id=ann": `{"tasks":[]}`} {
			if _, got := f.as(who, "GET", path, ""); strings.TrimSpace(got) != none {
				t.Errorf("%s is shown %s", who, got)
			}
		}
	}
	if _, got := f.as("t/ann", "GET", "/approvals?user_id=ann", ""); !strings.Contains(got, q.Task) {
		t.Errorf("its owner is shown %s", got)
	}
	if code, got := f.as("t/ann", "POST", at+"/decision", `{"action":"approve","user_id":"ann"}`); code != http.StatusOK || paid.Load() != 1 {
		t.Errorf("paid %d times; its owner is told %d %s", paid.Load(), code, got)
	}
}

// withoutID returns a problem without what names its request.
func withoutID(problem string) string {
	before, rest, _ := strings.Cut(problem, `"request_id":"`)
	_, after, _ := strings.Cut(rest, `"`)
	return before + after
}
