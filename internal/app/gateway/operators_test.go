package gateway_test

import (
	"net/http"
	"strings"
	"testing"
)

// Somebody with inspect and ops sees the tasks of all users of the tenant in one list, by state and newest
// first, and the task of another tenant in none. Without ops, or with the name of a user, the list is one user's.
func TestOperatorsSeeTheTenantsTasks(t *testing.T) {
	t.Parallel()
	g := keepsAll(t)
	has := map[string]belongings{}
	for _, who := range []string{"t/ann", "t/bob", "u/ann"} {
		has[who] = settle(t, g, who)
	}
	list := func(who, scopes, query string) string {
		t.Helper()
		got := askWith(g, "GET", "/tasks"+query, who, "", "X-Scopes: "+scopes)
		if got.code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, got.code, got.body)
		}
		return got.body
	}
	const operator = "chat inspect ops"
	for _, tt := range []struct {
		who, scopes, query string
		ann, bob           string // of task and run the part that is listed
	}{
		{"t/op", operator, "", "task run", "task run"},
		{"t/op", "inspect ops", "", "task run", "task run"},
		{"t/op", operator, "?state=input-required", "run", "run"},
		{"t/op", operator, "?state=completed", "task", "task"},
		{"t/op", operator, "?conversation_id=conv_shared", "task", "task"},
		{"t/op", operator, "?user_id=bob", "", "task run"},
		{"t/op", "chat inspect", "", "", ""},
		{"t/op", "chat ops", "", "", ""},
		{"t/ann", "chat", "", "task run", ""},
	} {
		text := list(tt.who, tt.scopes, tt.query)
		for owner, want := range map[string]string{"t/ann": tt.ann, "t/bob": tt.bob, "u/ann": ""} {
			for name, id := range map[string]string{"task": has[owner].task, "run": has[owner].waits} {
				if got := strings.Contains(text, `"`+id+`"`); got != strings.Contains(want, name) {
					t.Errorf("%s with %q asks %q: the %s of %s is listed: %v", tt.who, tt.scopes, tt.query, name, owner, got)
				}
			}
		}
	}
	if text := list("t/op", operator, ""); strings.Index(text, has["t/bob"].waits) > strings.Index(text, has["t/ann"].task) {
		t.Error("the list is not newest first")
	}
	seen, cursor := "", ""
	for range 20 {
		page := list("t/op", operator, "?limit=1"+cursor)
		seen += page
		next := member(page, "next_cursor")
		if next == "" {
			break
		}
		cursor = "&cursor=" + next
	}
	for _, owner := range []string{"t/ann", "t/bob"} {
		if !strings.Contains(seen, has[owner].task) || !strings.Contains(seen, has[owner].waits) {
			t.Errorf("the pages lack tasks of %s", owner)
		}
	}
	if strings.Contains(seen, has["u/ann"].task) {
		t.Error("the pages have tasks of another tenant")
	}
}
