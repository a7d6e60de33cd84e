package access

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gateway is the program itself, as it is built from the tree.
type gateway struct {
	t   testing.TB
	url string
	// stop ends it and returns what it has logged.
	stop func() string
}

// startGateway builds and starts the gateway with a configuration file, until the test ends.
func startGateway(t testing.TB, config string) *gateway {
	t.Helper()
	dir := t.TempDir()
	program, file := filepath.Join(dir, "sluice"), filepath.Join(dir, "sluice.yaml")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/sluice")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SLUICE_ADDR=127.0.0.1:0", "SLUICE_CONFIG=" + file, "SLUICE_AUTH=required",
		"SLUICE_TODO_DB=:memory:", "GEMINI_API_KEY=not-a-real-key-of-anybody"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder // of the goroutine, until it has ended
	listening, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for s := bufio.NewScanner(out); s.Scan(); {
			fmt.Fprintln(&lines, s.Text())
			var line struct {
				Event   string
				Details struct{ Addr string }
			}
			if json.Unmarshal(s.Bytes(), &line) == nil && line.Event == "listening" {
				listening <- line.Details.Addr
			}
		}
	}()
	g := &gateway{t: t}
	g.stop = sync.OnceValue(func() string {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = cmd.Wait()
		return lines.String()
	})
	t.Cleanup(func() {
		if log := g.stop(); t.Failed() {
			t.Log(log)
		}
	})
	select {
	case addr := <-listening:
		g.url = "http://" + addr
	case <-ended:
		t.Fatal("the gateway has ended")
	}
	return g
}

// get asks for a path with a header, and returns the status and the body.
func (g *gateway) get(path string, header ...string) string {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, g.url+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(body))
}

// The gateway itself, with issuers that rotate their keys, and a proxy that says who it is.
func TestGatewayAsksWho(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a signal that ends a process")
	}
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
		if got := me.ReplaceAllString(g.get(path, header...), ""); !strings.HasPrefix(got, want) {
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
	if _, body, _ := strings.Cut(g.get("/readyz", bearer(provider("ops"))...), " "); json.Unmarshal([]byte(body), &ready) != nil {
		t.Fatal(body)
	}
	want := fmt.Sprintf("{{[jwt proxy] [{%s ok 2} {%s ok 1}]}}", i.Provider, i.Mock)
	if diff := cmp.Diff(want, fmt.Sprint(ready)); diff != "" {
		t.Errorf("/readyz (-want +got):\n%s", diff)
	}
	log := g.stop()
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
