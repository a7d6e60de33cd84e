package handlers_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
)

// Every reply of a sealed gateway has the headers, whatever it is; one that is not sealed has
// none of them.
func TestSealedReplies(t *testing.T) {
	t.Parallel()
	type headers struct{ Sniff, Resource, Referrer, Strict string }
	page := fstest.MapFS{"index.html": {Data: []byte("<p>")}, "app.js": {Data: []byte("1")}}
	other := headers{"nosniff", "same-origin", "no-referrer", ""}
	file := headers{"nosniff", "same-origin", "same-origin", ""}
	for _, tt := range []struct {
		method, path string
		want         headers
	}{
		{"GET", "/healthz", other}, {"GET", "/readyz", other}, {"GET", "/metrics", other}, {"GET", "/nowhere", other},
		{"DELETE", "/tools", other}, {"OPTIONS", "/tools", other}, {"HEAD", "/healthz", other}, {"GET", "/", file}, {"GET", "/app.js", file},
	} {
		for _, sealed := range []bool{true, false} {
			for _, encrypted := range []bool{true, false} {
				s := handlers.NewServer(handlers.Config{Sealed: sealed, Page: page, Origins: []string{"https://a.test"}, Hosts: []string{"example.com"}})
				r := httptest.NewRequest(tt.method, tt.path, nil)
				r.Header.Set("Origin", "https://a.test")
				r.Header.Set("Access-Control-Request-Method", "GET")
				if r.TLS = nil; encrypted {
					r.TLS = new(tls.ConnectionState)
				}
				want := tt.want
				if encrypted {
					want.Strict = "max-age=31536000"
				}
				if !sealed {
					if want = (headers{}); tt.want == file {
						want = headers{Sniff: "nosniff", Referrer: "same-origin"}
					}
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				h := w.Result().Header
				got := headers{h.Get("X-Content-Type-Options"), h.Get("Cross-Origin-Resource-Policy"), h.Get("Referrer-Policy"), h.Get("Strict-Transport-Security")}
				if !sealed {
					want.Sniff, got.Sniff = "", "" // some replies have it anyway
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s %s, sealed %v, encrypted %v (-want +got):\n%s", tt.method, tt.path, sealed, encrypted, diff)
				}
			}
		}
	}
}

// noAgents stands for configured Agents. A call of its methods would panic.
type noAgents struct{ handlers.Agents }

// The address for operators has metrics, readiness and profiles. Without anybody who is asked
// for a credential it answers to a name of loopback alone, and has profiles on loopback alone.
func TestAddressForOperators(t *testing.T) {
	t.Parallel()
	const secret = "forbidden"
	refuse := func(r *http.Request, wanted chat.Scopes) (*access.Identity, error) {
		if r.Header.Get("X-Scopes") == "" || !strings.Contains(wanted.String(), r.Header.Get("X-Scopes")) {
			return nil, &fault.Error{Type: fault.Forbidden, Message: secret, Err: errors.New("scope")}
		}
		return &access.Identity{Principal: chat.Principal{ID: "ann"}}, nil
	}
	open, here, asked := handlers.Operators{}, handlers.Operators{Loopback: true}, handlers.Operators{Authorize: refuse}
	for name, tt := range map[string]struct {
		o                          handlers.Operators
		method, path, host, scopes string
		want                       int
	}{
		"metrics":                   {here, "GET", "/metrics", "localhost:9", "", 200},
		"readiness":                 {here, "GET", "/readyz", "127.0.0.1:9", "", 200},
		"readiness, HEAD":           {here, "HEAD", "/readyz", "[::1]:9", "", 200},
		"a profile":                 {here, "GET", "/debug/pprof/goroutine", "localhost", "", 200},
		"list of profiles":          {here, "GET", "/debug/pprof/", "localhost", "", 200},
		"symbols":                   {here, "POST", "/debug/pprof/symbol", "localhost", "", 200},
		"the command line":          {here, "GET", "/debug/pprof/cmdline", "localhost", "", 404},
		"another method":            {here, "DELETE", "/metrics", "localhost", "", 405},
		"another method, a profile": {here, "PUT", "/debug/pprof/heap", "localhost", "", 405},
		"nothing":                   {here, "GET", "/chat/stream", "localhost", "", 404},
		"a rebound name":            {here, "GET", "/metrics", "evil.test", "", 403},
		"a rebound name, profiles":  {here, "GET", "/debug/pprof/heap", "evil.test", "", 403},
		"elsewhere":                 {open, "GET", "/metrics", "gateway.test", "", 200},
		"elsewhere, profiles":       {open, "GET", "/debug/pprof/heap", "localhost", "", 404},
		"asked, metrics":            {asked, "GET", "/metrics", "gateway.test", "ops", 200},
		"asked, nobody":             {asked, "GET", "/metrics", "localhost", "", 403},
		"asked, metrics as admin":   {asked, "GET", "/metrics", "gateway.test", "admin", 403},
		"asked, readiness":          {asked, "GET", "/readyz", "gateway.test", "admin", 403},
		"asked, a profile":          {asked, "GET", "/debug/pprof/heap", "gateway.test", "admin", 200},
		"asked, a profile as ops":   {asked, "GET", "/debug/pprof/heap", "gateway.test", "ops", 403},
		"asked, delete as ops":      {asked, "DELETE", "/agents/a", "gateway.test", "ops", 403},
		"asked, put as ops":         {asked, "PUT", "/agents/a", "gateway.test", "ops", 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var did []string
			tt.o.Agents = noAgents{}
			tt.o.OnAction = func(_ *http.Request, who *access.Identity, action, target string) {
				if (who == nil) != (tt.o.Authorize == nil) {
					t.Errorf("done by %+v", who)
				}
				did = append(did, action+" "+target)
			}
			r := httptest.NewRequest(tt.method, tt.path, nil)
			r.Host = tt.host
			if tt.scopes != "" {
				r.Header.Set("X-Scopes", tt.scopes)
			}
			w := httptest.NewRecorder()
			handlers.NewServer(handlers.Config{}).Admin(tt.o).ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("status %d, want %d: %s", w.Code, tt.want, w.Body)
			}
			var want []string
			if profile, ok := strings.CutPrefix(tt.path, "/debug/pprof/"); ok && tt.want == 200 {
				want = []string{"profile " + profile}
			}
			if diff := cmp.Diff(want, did); diff != "" && tt.want == 200 {
				t.Errorf("done (-want +got):\n%s", diff)
			}
		})
	}
}

// someone is a Door that lets one identity in.
type someone struct{ access.Identity }

func (s someone) Authenticate(*http.Request) (*access.Identity, error) { return &s.Identity, nil }

func (someone) Knows(*http.Request) bool { return true }

func (someone) Counts(*access.Identity) bool { return true }

// yieldingAgents lose whom they are asked to.
type yieldingAgents struct{ handlers.Agents }

func (yieldingAgents) DeleteAgent(context.Context, string) error { return nil }

// What operators do is found in the audit by who did it: who shows a token has no key.
func TestAuditOfOperators(t *testing.T) {
	t.Parallel()
	admin := chat.Principal{Tenant: "acme", ID: "ada", Scopes: chat.ScopeAdmin}
	keyed := admin
	keyed.KeyID = "0123456789"
	for name, tt := range map[string]struct {
		who  access.Identity
		want map[string]any // of the line, and of its details
	}{
		"a token":   {access.Identity{Principal: admin, Method: access.ByToken}, map[string]any{"tenant": "acme", "key_id": nil, "user": "ada", "method": "jwt"}},
		"a key":     {access.Identity{Principal: keyed, Method: access.ByKey}, map[string]any{"tenant": "acme", "key_id": "0123456789", "user": "ada", "method": "key"}},
		"no tenant": {access.Identity{Principal: chat.Principal{ID: "bob", Scopes: chat.ScopeAdmin}, Method: access.ByToken}, map[string]any{"tenant": nil, "key_id": nil, "user": "bob", "method": "jwt"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			r := httptest.NewRequest(http.MethodDelete, "/agents/helper", nil)
			w := httptest.NewRecorder()
			s := handlers.NewServer(handlers.Config{Door: someone{tt.who}, Log: zerolog.New(&log)})
			s.Admin(handlers.Operators{Agents: yieldingAgents{}}).ServeHTTP(w, r)
			if w.Code != http.StatusNoContent {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			var line struct {
				Message, Tenant string
				Audit           bool
				Details         map[string]any
				Key             any `json:"key_id"`
			}
			for text := range strings.Lines(log.String()) {
				if strings.Contains(text, `"admin_action"`) {
					if err := json.Unmarshal([]byte(text), &line); err != nil {
						t.Fatal(err)
					}
				}
			}
			got := map[string]any{"tenant": nil, "key_id": line.Key, "user": line.Details["user"], "method": line.Details["method"]}
			if line.Tenant != "" {
				got["tenant"] = line.Tenant
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || !line.Audit || line.Details["action"] != "delete_agent" || line.Details["target"] != "helper" {
				t.Errorf("%s (-want +got):\n%s", &log, diff)
			}
		})
	}
}
