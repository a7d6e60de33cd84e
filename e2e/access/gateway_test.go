package access

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/process"
)

// gateway is the program itself, as it is built from the tree.
type gateway struct{ *process.Gateway }

// TestMain builds the program once.
func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// startGateway starts the gateway with a configuration file, until the test ends.
func startGateway(t testing.TB, config string) *gateway {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return &gateway{process.Start(t, map[string]string{"SLUICE_CONFIG": file, "SLUICE_AUTH": "required", "GEMINI_API_KEY": "not-a-real-key-of-anybody"})}
}

// get asks for a path with a header, and returns the status and the body.
func (g *gateway) get(t testing.TB, path string, header ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.Addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(body))
}

// The gateway itself, with issuers that rotate their keys, and a proxy that says who it is.
func TestGatewayAsksWho(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	i := startIssuers(t)
	i.do(object{"do": "mock", "alg": "ES256", "kid": "first"})
	g := startGateway(t, `
auth:
  jwt:
    - {issuer: "`+i.Provider+`", audiences: [sluice], discovery: true, tenant: acme, prefix: "", claims: {scopes: scope}}
    - {issuer: "`+i.Mock+`", audiences: [sluice], discovery: true, prefix: "m:", claims: {tenant: org}}
  proxy: {from: [127.0.0.1], headers: {user: Remote-User}, scopes: [ops]}
`)
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	me := regexp.MustCompile(`,"expires_at":"[^"]*"`)
	expect := func(name, path, want string, header ...string) {
		t.Helper()
		if got := me.ReplaceAllString(g.get(t, path, header...), ""); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	provider := func(scope string) string { return i.do(object{"do": "provider", "alg": "RS256", "scope": scope}) }
	chat := provider("chat")
	expect("nobody", "/me", "401 ")
	expect("oidc-provider", "/me", `200 {"user":"batch","tenant":"acme","scopes":["chat"],"method":"jwt"}`, bearer(chat)...)
	expect("a scope that is needed", "/tools", "200 ", bearer(chat)...)
	expect("a scope that is not there", "/metrics", "403 ", bearer(chat)...)
	expect("without scopes", "/tools", "403 ", bearer(provider(""))...)
	expect("ops", "/metrics", "200 ", bearer(provider("ops"))...)
	mock := i.do(object{"do": "mock", "alg": "ES256", "kid": "first", "claims": object{"aud": "sluice", "sub": "mo", "org": "blue"}})
	expect("oauth2-mock-server", "/me", `200 {"user":"m:mo","tenant":"blue","scopes":["chat"],"method":"jwt"}`, bearer(mock)...)
	expect("the proxy", "/me", `200 {"user":"ann","tenant":"","scopes":["ops"],"method":"proxy"}`, "Remote-User", "ann")
	expect("the proxy, twice", "/me", "401 ", "Remote-User", "ann", "Remote-User", "bob")
	expect("a token wins", "/me", `200 {"user":"m:mo"`, append(bearer(mock), "Remote-User", "ann")...)
	expect("a bad token wins", "/me", "401 ", append(bearer(mock+"x"), "Remote-User", "ann")...)
	expect("an underscore", "/me", "401 ", append(bearer(mock), "Remote_User", "bob")...)
	expect("probes", "/readyz", `200 {"status":"ok"}`)

	i.do(object{"do": "rotate"})
	expect("a new key", "/me", `200 {"user":"batch"`, bearer(provider("chat"))...)
	expect("the former key", "/me", "401 ", bearer(chat)...)

	var ready struct {
		Auth struct {
			Methods []string
			Issuers []struct {
				Issuer, State string
				Keys          int
			}
		}
	}
	if _, body, _ := strings.Cut(g.get(t, "/readyz", bearer(provider("ops"))...), " "); json.Unmarshal([]byte(body), &ready) != nil {
		t.Fatal(body)
	}
	want := fmt.Sprintf("{{[jwt proxy] [{%s ok 2} {%s ok 1}]}}", i.Provider, i.Mock)
	if diff := cmp.Diff(want, fmt.Sprint(ready)); diff != "" {
		t.Errorf("/readyz (-want +got):\n%s", diff)
	}
	if code := g.Stop(); code != 0 {
		t.Errorf("the gateway ended with %d", code)
	}
	log := g.Log() + g.Stderr()
	for _, part := range []string{`"event":"jwks_refreshed"`, `"event":"auth_failed"`, `"event":"auth_first_use"`, `"reason":"key_unknown"`, `"reason":"header_name"`} {
		if !strings.Contains(log, part) {
			t.Errorf("the log has no %s", part)
		}
	}
	for _, secret := range []string{chat, mock, strings.Split(chat, ".")[2], strings.Split(mock, ".")[1]} {
		if strings.Contains(log, secret) {
			t.Error("a token is in the log")
		}
	}
}
