package gateway_test

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/edge/access/keys"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/web"
)

// everything is a gateway that serves all there is, and asks who sends a request.
func everything(t *testing.T) *gateway.Gateway {
	t.Helper()
	cfg, file := wholetest.Configured(t, "agents: {a: {description: answers}}\na2a: {enabled: true}\n", map[string]string{"SLUICE_CONFIRM": "all"})
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard),
		gateway.Seams{Store: memory.New(memory.Config{}), Door: wholetest.Door{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// isOpen says whether everybody may read a path: probes, the page with its files, and cards.
func isOpen(path string) bool {
	return path == "/" || path == "/healthz" || path == "/readyz" || strings.HasSuffix(path, "/.well-known/agent-card.json") ||
		isOfPage(strings.TrimPrefix(path, "/"))
}

// isOfPage reports whether a path names a file of the page.
func isOfPage(name string) bool {
	info, err := fs.Stat(web.Files(), name)
	return err == nil && !info.IsDir()
}

// wantedScopes says which scopes open a path, by the contract.
func wantedScopes(method, path string) string {
	switch {
	case isOpen(path):
		return ""
	case path == "/me":
		return strings.Join(chat.ScopeNames(), " ")
	case path == "/metrics":
		return "ops"
	case path == "/diag/sse":
		return "chat chat:readonly ops"
	case path == "/approvals":
		return "chat chat:readonly approve inspect"
	case path == "/tasks/:id/decision":
		return "chat chat:readonly approve"
	case strings.HasPrefix(path, "/tasks") && method != http.MethodPost:
		return "chat chat:readonly inspect"
	}
	return "chat chat:readonly"
}

// Each path of each protocol has a rule: without a credential there is no answer, and no scope opens
// more than it is for.
func TestEveryPathHasARule(t *testing.T) {
	t.Parallel()
	g := everything(t)
	rules := g.Rules()
	if len(rules) < 60 {
		t.Errorf("only %d paths", len(rules))
	}
	for _, r := range rules {
		if want := wantedScopes(r.Method, r.Path); r.Missing || r.Scopes.String() != want {
			t.Errorf("%s %s: no rule: %v; scopes %q, want %q", r.Method, r.Path, r.Missing, r.Scopes, want)
		}
		knock(t, g, r)
	}
}

// Each path with a GET that has no effect answers HEAD, with the status and the type of the GET.
func TestEveryGetIsAHead(t *testing.T) {
	t.Parallel()
	g := everything(t)
	rules := g.Rules()
	heads := map[string]bool{}
	for _, r := range rules {
		heads[r.Path] = heads[r.Path] || r.Method == http.MethodHead
	}
	compared := 0
	for _, r := range rules {
		path := strings.NewReplacer(":id", "task_00000000000000000000000000", ":sequence", "0", ":session", "s", "*", "x").Replace(r.Path)
		switch {
		case r.Path == "/chat/stream" || r.Path == "/diag/sse":
			if heads[r.Path] {
				t.Errorf("HEAD %s is served, whose GET has an effect", r.Path)
			}
		case r.Method == http.MethodGet:
			compared++
			get, head := ask(g, http.MethodGet, path, "t/ann", "X-Scopes: chat,inspect,ops"), ask(g, http.MethodHead, path, "t/ann", "X-Scopes: chat,inspect,ops")
			if !heads[r.Path] || head.code != get.code || head.header.Get("Content-Type") != get.header.Get("Content-Type") {
				t.Errorf("%s: GET has %d %s, HEAD %d %s", path, get.code, get.header.Get("Content-Type"), head.code, head.header.Get("Content-Type"))
			}
		}
	}
	if compared < 30 {
		t.Errorf("only %d paths were compared", compared)
	}
}

// Paths at and below /v1 that are not there are refused in the words of OpenAI, for each method.
func TestUnknownPathsOfOpenAI(t *testing.T) {
	t.Parallel()
	g := everything(t)
	for _, path := range []string{"/v1", "/v1/", "/v1/embeddings", "/v1/models/", "/v1/a/b/c", "/v1/chat", "/v1/responses/"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
			got := ask(g, method, path, "")
			if got.code != http.StatusNotFound && got.code != http.StatusMethodNotAllowed && got.code != http.StatusUnauthorized ||
				!strings.HasPrefix(got.body, `{"error":{`) || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s: %d %s %s", method, path, got.code, got.header.Get("Content-Type"), got.body)
			}
		}
	}
	if got := ask(g, http.MethodGet, "/v1x", ""); !strings.Contains(got.body, "about:blank") {
		t.Errorf("/v1x: %s", got.body)
	}
}

// The document says of each path which scopes open it.
func TestDocumentHasTheScopes(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(web.Files(), "openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type operation struct {
		Security []map[string][]string `yaml:"security"`
	}
	var doc struct {
		Paths map[string]struct {
			Get, Head, Post, Put, Delete *operation
		} `yaml:"paths"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, r := range everything(t).Rules() {
		path := regexp.MustCompile(`:(\w+)`).ReplaceAllString(strings.Replace(r.Path, "/models/*", "/models/{id}", 1), "{$1}")
		of := doc.Paths[path]
		op := map[string]*operation{"GET": of.Get, "HEAD": of.Head, "POST": of.Post, "PUT": of.Put, "DELETE": of.Delete}[r.Method]
		if op == nil || r.Path == "/me" {
			continue
		}
		seen++
		var bearer, key []string
		for _, s := range op.Security {
			bearer, key = append(bearer, s["bearer"]...), append(key, s["apiKey"]...)
		}
		want := r.Scopes.Names()
		if !slices.Equal(bearer, want) && len(want)+len(bearer) > 0 || !slices.Equal(bearer, key) {
			t.Errorf("%s %s: bearer %q, apiKey %q, want %q", r.Method, path, bearer, key, want)
		}
	}
	if seen < 50 {
		t.Errorf("only %d operations were compared", seen)
	}
}

// knock asks for a path without a credential, and with each scope.
func knock(t *testing.T, g http.Handler, r handlers.Rule) {
	path := strings.NewReplacer(":id", "task_00000000000000000000000000", ":sequence", "0", ":session", "s", ":channel", "x", "*", "x").Replace(r.Path)
	if code := ask(g, r.Method, path, "").code; (code == http.StatusUnauthorized) == (r.Scopes == 0) {
		t.Errorf("%s %s without a credential: %d", r.Method, path, code)
	}
	for _, scope := range chat.ScopeNames() {
		set, _ := chat.ParseScopes([]string{scope})
		allowed := r.Scopes == 0 || r.Scopes.HasAny(set)
		got := ask(g, r.Method, path, "t/ann", "X-Scopes: "+scope)
		if lacks := strings.Contains(got.header.Get("WWW-Authenticate"), `error="insufficient_scope"`); lacks == allowed || lacks != (got.code == http.StatusForbidden) {
			t.Errorf("%s %s with %s: %d, allowed is %v: %q %s", r.Method, path, scope, got.code, allowed, got.header.Get("WWW-Authenticate"), got.body)
		}
	}
}

// asked is the reply to a request.
type asked struct {
	code   int
	header http.Header
	body   string
}

// ask sends a request without a body as tenant/user, or as nobody.
func ask(g http.Handler, method, path, who string, headers ...string) asked {
	return askWith(g, method, path, who, "", headers...)
}

// askWith sends a request with a body.
func askWith(g http.Handler, method, path, who, body string, headers ...string) asked {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if who != "" {
		req.Header.Set("X-Who", who)
		req.Header.Set("Authorization", "Bearer of "+who)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, req)
	return asked{w.Code, w.Header(), w.Body.String()}
}

// What is not served is not there for anybody, without a look at credentials.
func TestUnknownPathsAskNobody(t *testing.T) {
	t.Parallel()
	g := everything(t)
	for _, path := range []string{"/nothing", "/v2/models", "/tasks/a/b/c"} {
		if got := ask(g, http.MethodGet, path, ""); got.code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
	if got := ask(g, http.MethodPut, "/tools", ""); got.code != http.StatusMethodNotAllowed {
		t.Errorf("PUT /tools: %d %s", got.code, got.body)
	}
}

// Anybody may ask whether the gateway is ready; how it is doing inside only ops may.
func TestReadinessByScope(t *testing.T) {
	t.Parallel()
	g := everything(t)
	for headers, whole := range map[string]bool{"": false, "X-Scopes: chat": false, "X-Scopes: admin": false, "X-Scopes: ops": true} {
		who := "t/ann"
		if headers == "" {
			who, headers = "", "X-Other: 1"
		}
		if got := ask(g, http.MethodGet, "/readyz", who, headers); got.code != http.StatusOK || strings.Contains(got.body, "breakers") != whole || !strings.Contains(got.body, `"status":`) {
			t.Errorf("%s: %d %s", headers, got.code, got.body)
		}
	}
}

// A proxy's word, and what anybody may, open as much as a credential does. The word of a stranger
// opens nothing, and is no failed credential either.
func TestReadinessByMethod(t *testing.T) {
	t.Parallel()
	const byProxy = "auth: {proxy: {from: [%s], headers: {user: X-Forwarded-User, scopes: X-Forwarded-Scopes}}}"
	keyFile := filepath.Join(t.TempDir(), "keys.yaml")
	_, key, err := keys.Add(keyFile, keys.Entry{User: "ann", Scopes: []string{"ops"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		file    string
		headers []string
		whole   bool
	}{
		"a key":                   {"auth: {keys: " + keyFile + "}", []string{"X-API-Key: " + key}, true},
		"a proxy":                 {fmt.Sprintf(byProxy, "192.0.2.1"), []string{"X-Forwarded-User: ann", "X-Forwarded-Scopes: ops"}, true},
		"a proxy, other scopes":   {fmt.Sprintf(byProxy, "192.0.2.1"), []string{"X-Forwarded-User: ann", "X-Forwarded-Scopes: chat"}, false},
		"a proxy names nobody":    {fmt.Sprintf(byProxy, "192.0.2.1"), []string{"X-Forwarded-Scopes: ops"}, false},
		"a stranger":              {fmt.Sprintf(byProxy, "192.0.2.2"), []string{"X-Forwarded-User: ann", "X-Forwarded-Scopes: ops"}, false},
		"anybody":                 {"auth: {anonymous: {scopes: [ops]}}", nil, true},
		"anybody, other scopes":   {"auth: {anonymous: {scopes: [chat]}}", nil, false},
		"anybody, a bad password": {"auth: {anonymous: {scopes: [ops]}}", []string{"Authorization: Bearer x"}, false},
	} {
		cfg, file := wholetest.Configured(t, tt.file, nil)
		var log gatewaytest.SafeBuffer
		whole := settings.Config{Config: cfg, File: file, Version: "test"}
		g, err := gateway.New(t.Context(), whole, zerolog.New(&log), gateway.Seams{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := ask(g, http.MethodGet, "/readyz", "", tt.headers...)
		g.Close()
		if got.code != http.StatusOK || strings.Contains(got.body, "breakers") != tt.whole {
			t.Errorf("%s: %d %s", name, got.code, got.body)
		}
		if strings.Contains(log.String(), "auth_failed") != strings.Contains(name, "bad") {
			t.Errorf("%s: the audit is\n%s", name, log.String())
		}
	}
}

// A gateway that asks nobody has neither /me nor a header about credentials.
func TestRulesCostNothingWhenOff(t *testing.T) {
	t.Parallel()
	cfg, file := wholetest.Configured(t, "tasks: {ttl: 30d}", nil)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if got := ask(g, http.MethodGet, "/me", "t/ann"); got.code != http.StatusNotFound {
		t.Errorf("/me: %d %s", got.code, got.body)
	}
	got := ask(g, http.MethodGet, "/tools", "")
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range got.header {
			if !yield(name) {
				return
			}
		}
	})
	if diff := cmp.Diff("[Cache-Control Connection Content-Length Content-Type X-Request-Id]", fmt.Sprint(names)); got.code != http.StatusOK || diff != "" {
		t.Errorf("/tools: %d, headers (-want +got):\n%s", got.code, diff)
	}
}
