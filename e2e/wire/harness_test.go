package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// root is the repository, seen from this folder.
	root = "../.."
	// patience bounds every wait for something that must come on a busy machine.
	patience = time.Minute
)

// program builds the gateway once, without the race detector: its CPU time is measured.
var program = sync.OnceValues(func() (string, error) {
	if err := lookAtSources(); err != nil {
		return "", err
	}
	path := filepath.Join(folder, "sluice")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/sluice")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the gateway: %w\n%s", err, out)
	}
	return path, nil
})

// folder is what all tests share. It is removed at the end.
var folder string

func TestMain(m *testing.M) {
	if serveStandard() { // this process is a server that a test has started
		return
	}
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "sluice-wire-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	return m.Run()
}

// lookAtSources looks at every file that the gateway may be built from, so that go test does not
// report an old result.
func lookAtSources() error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "e2e"):
			return filepath.SkipDir
		case d.Type().IsRegular() && !strings.HasSuffix(path, "_test.go"):
			_, err = os.Stat(path)
		}
		return err
	})
}

// needProcesses skips a test that is to be quick.
func needProcesses(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs other processes, which -short leaves out")
	}
	if runtime.GOOS == "windows" {
		t.Skip("needs signals")
	}
}

// tool returns the path of a program, or ends the test: it is skipped, or with
// SLUICE_REQUIRE_PEERS=1 it fails.
func tool(t testing.TB, names ...string) string {
	t.Helper()
	needProcesses(t)
	for _, name := range names {
		for _, path := range []string{name, "/usr/sbin/" + name, filepath.Join(root, ".judges", name)} {
			if found, err := exec.LookPath(path); err == nil {
				if full, err := filepath.Abs(found); err == nil {
					return full
				}
			}
		}
	}
	text := names[0] + " is missing: scripts/judges-install.sh installs it"
	if os.Getenv("SLUICE_REQUIRE_PEERS") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

// pair is a certificate with its key, in files.
type pair struct{ cert, key string }

// writePair makes a pair in dir that holds from then for so long. The two files are replaced as
// one, by a symlink, as a mounted secret is.
func writePair(t testing.TB, dir, name string, from time.Time, life time.Duration) pair {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost", name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: from, NotAfter: from.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	real, err := os.MkdirTemp(dir, "pair-")
	if err != nil {
		t.Fatal(err)
	}
	link, next := filepath.Join(dir, "current"), filepath.Join(dir, "next")
	for file, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(real, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(real, next), os.Rename(next, link)); err != nil {
		t.Fatal(err)
	}
	return pair{filepath.Join(link, "tls.crt"), filepath.Join(link, "tls.key")}
}

// gateway is Sluice as a process.
type gateway struct {
	t     testing.TB
	cmd   *exec.Cmd
	addr  string // host:port
	admin string // empty: there is none
	ended chan struct{}

	mu    sync.Mutex // guards lines
	lines []line
	news  chan struct{} // gets a value when there are more lines
}

// line is one of the log.
type line struct {
	Event   string         `json:"event"`
	Level   string         `json:"level"`
	Details map[string]any `json:"details"`
	raw     string
}

// start starts a gateway with a simulated model. It must end well with the test.
func start(t testing.TB, env map[string]string) *gateway {
	t.Helper()
	needProcesses(t)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"SLUICE_ADDR": "127.0.0.1:0", "SLUICE_TODO_DB": ":memory:", "SLUICE_LOG_LEVEL": "debug", "SLUICE_ADMISSION": "count", "PATH": os.Getenv("PATH")}
	maps.Copy(all, env)
	g := &gateway{t: t, cmd: exec.Command(path), ended: make(chan struct{}), news: make(chan struct{}, 1)}
	for name, value := range all {
		g.cmd.Env = append(g.cmd.Env, name+"="+value)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	g.cmd.Stderr = &stderr
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			g.note(lines.Text())
		}
	}()
	go func() {
		defer close(g.ended)
		<-read
		_ = g.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = g.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-g.ended:
			if code := g.cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("the gateway ended with %d: %s", code, stderr.String())
			}
		case <-time.After(patience):
			_ = g.cmd.Process.Kill()
			t.Error("the gateway does not end")
		}
	})
	g.addr = fmt.Sprint(g.await("listening").Details["addr"])
	if all["SLUICE_ADMIN_ADDR"] != "" {
		g.admin = fmt.Sprint(g.await("admin_listening").Details["addr"])
	}
	return g
}

// startSealed starts a gateway with a certificate, in a folder where it may be replaced.
func startSealed(t testing.TB, env map[string]string) (_ *gateway, dir string) {
	t.Helper()
	dir = t.TempDir()
	p := writePair(t, dir, "first.test", time.Now().Add(-time.Hour), 365*24*time.Hour)
	all := map[string]string{"SLUICE_TLS_CERT": p.cert, "SLUICE_TLS_KEY": p.key}
	maps.Copy(all, env)
	return start(t, all), dir
}

// note takes in a line of the log.
func (g *gateway) note(text string) {
	l := line{raw: text}
	_ = json.Unmarshal([]byte(text), &l)
	g.mu.Lock()
	g.lines = append(g.lines, l)
	g.mu.Unlock()
	select {
	case g.news <- struct{}{}:
	default:
	}
}

// await returns the first line of an event.
func (g *gateway) await(event string) line {
	g.t.Helper()
	return g.awaitAfter(event, 0)
}

// awaitAfter returns the line of an event that follows so many others of it.
func (g *gateway) awaitAfter(event string, others int) line {
	g.t.Helper()
	limit := time.After(patience)
	for {
		if all := g.logged(event); len(all) > others {
			return all[others]
		}
		select {
		case <-g.news:
		case <-g.ended:
			g.t.Fatalf("the gateway ended without %q", event)
		case <-limit:
			g.t.Fatalf("no line %q in time", event)
		}
	}
}

// logged returns all lines of an event.
func (g *gateway) logged(event string) (all []line) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.lines {
		if l.Event == event {
			all = append(all, l)
		}
	}
	return all
}

// trusting is what a client that knows no certificate goes by.
func trusting(protocols ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: protocols} //nolint:gosec // G402: a test's certificate signs itself
}

// dial opens a connection over TLS that speaks one of protocols.
func (g *gateway) dial(t testing.TB, protocols ...string) *tls.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := (&tls.Dialer{Config: trusting(protocols...)}).DialContext(ctx, "tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*tls.Conn)
}

// client returns a client that speaks HTTP/2, or HTTP/1.1 alone.
func (g *gateway) client(t testing.TB, h2 bool) *http.Client {
	transport := &http.Transport{TLSClientConfig: trusting(), ForceAttemptHTTP2: h2}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// healthy fails the test unless a new connection gets an answer.
func (g *gateway) healthy(t testing.TB) {
	t.Helper()
	resp, err := g.client(t, false).Get("https://" + g.addr + "/healthz")
	if err != nil {
		t.Errorf("a new client: %v", err)
		return
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a new client gets %d", resp.StatusCode)
	}
}
