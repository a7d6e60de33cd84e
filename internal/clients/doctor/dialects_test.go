package doctor_test

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/clients/doctor"
)

// The protocols that a gateway serves are named, and the paths that a proxy keeps to itself.
func TestDialects(t *testing.T) {
	t.Parallel()
	const rest = ", Responses at /v1/responses, ChatKit at /chatkit$"
	every, some, none := start(t), start(t, "--dialects=ag-ui"), start(t, "--dialects=none")
	before := func(base string, keeps ...string) string {
		target, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		pass := httputil.NewSingleHostReverseProxy(target)
		return gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slices.Contains(keeps, r.URL.Path) {
				http.NotFound(w, r)
				return
			}
			pass.ServeHTTP(w, r)
		}))
	}
	var all sync.WaitGroup // an examination waits for its ticks
	defer all.Wait()
	for _, tt := range []struct {
		name, base string
		kept       bool
		verdict    doctor.Verdict
		seen       string
	}{
		{"all", every, false, doctor.Good, "AI SDK at /api/chat, AG-UI at /agui, Chat Completions at /v1/chat/completions" + rest},
		{"one", some, false, doctor.Good, "AG-UI at /agui$"},
		{"none", none, false, doctor.Good, "our own alone, at /chat/stream$"},
		{"a proxy keeps some", before(every, "/agui", "/chatkit"), true, doctor.Notice, "/agui, /chatkit: 404 Not Found with text/plain; charset=utf-8$"},
		{"and hands on the others", before(every, "/agui", "/api/chat"), true, doctor.Good, "Chat Completions at /v1/chat/completions" + rest},
		{"a proxy keeps what is not served", before(none, "/agui"), true, doctor.Notice, "/agui: 404"},
	} {
		all.Go(func() {
			d := examine(t, tt.base, doctor.Config{})
			if !d.has(tt.verdict, "dialects", tt.seen) {
				t.Errorf("%s: want %s %s\n%+v", tt.name, tt.verdict, tt.seen, d)
			}
			noted := slices.ContainsFunc(d.Findings, func(f doctor.Finding) bool { return f.Check == "dialects" && f.Verdict != doctor.Good })
			if noted != tt.kept {
				t.Errorf("%s: a path that is kept: %t", tt.name, noted)
			}
		})
	}
}
