package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"sluice/e2e/process"
)

// shownBy is the name in the certificate that a new handshake gets.
func (g *gateway) shownBy(t *testing.T) string {
	t.Helper()
	return g.dial(t, "http/1.1").ConnectionState().PeerCertificates[0].Subject.CommonName
}

// hangUp asks the gateway to read its files again, and waits for what it says of it.
func (g *gateway) hangUp(t *testing.T, event string) {
	t.Helper()
	before := len(g.Logged(event))
	g.Signal(syscall.SIGHUP)
	g.AwaitAfter(event, before)
}

// A certificate is replaced while the gateway runs, by a symlink, on SIGHUP or by itself. What
// cannot be used changes nothing. A stream that runs meanwhile goes on.
func TestCertificateIsReplaced(t *testing.T) {
	t.Parallel()
	g, dir := startSealed(t, nil)
	resp, err := g.client(t, true).Get("https://" + g.Addr + "/diag/sse?ticks=50&interval_ms=400")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	const year = 365 * 24 * time.Hour
	now := time.Now()
	writePair(t, dir, "second.test", now.Add(-time.Hour), year)
	g.hangUp(t, "tls_reloaded")
	if got := g.shownBy(t); got != "second.test" {
		t.Errorf("after SIGHUP: %q", got)
	}
	current := filepath.Join(dir, "current")
	whole, err := os.ReadFile(filepath.Join(current, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		put  func() error
	}{
		{"half written", func() error { return os.WriteFile(filepath.Join(current, "tls.crt"), whole[:len(whole)/2], 0o600) }},
		{"gone", func() error { return os.Remove(filepath.Join(current, "tls.crt")) }},
		{"expired", func() error { writePair(t, dir, "expired.test", now.Add(-year), time.Hour); return nil }},
		{"another key", func() error {
			writePair(t, dir, "other.test", now.Add(-time.Hour), year)
			return os.WriteFile(filepath.Join(current, "tls.crt"), whole, 0o600)
		}},
	} {
		if err := step.put(); err != nil {
			t.Fatal(err)
		}
		g.hangUp(t, "tls_rejected")
		if got := g.shownBy(t); got != "second.test" {
			t.Errorf("%s: %q is shown", step.name, got)
		}
	}
	if status := g.readiness(t); status != "degraded" {
		t.Errorf("/readyz says %q while the files are faulty", status)
	}
	writePair(t, dir, "third.test", now.Add(-time.Hour), 10*24*time.Hour)
	g.AwaitAfter("tls_reloaded", 1) // by itself
	g.Await("tls_expiring")
	if got := g.shownBy(t); got != "third.test" {
		t.Errorf("by itself: %q", got)
	}
	if status := g.readiness(t); status != "ok" {
		t.Errorf("/readyz says %q afterwards", status)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), "event: done") {
		t.Errorf("the stream that ran: %v: ends with %q", err, text[max(0, len(text)-100):])
	}
	for _, l := range g.Logged("tls_rejected") {
		if strings.Contains(l.Raw, "BEGIN") || strings.Contains(l.Raw, dir) {
			t.Errorf("the log has more than it should: %s", l.Raw)
		}
	}
}

// readiness returns the status of /readyz.
func (g *gateway) readiness(t *testing.T) string {
	t.Helper()
	resp, err := g.client(t, false).Get("https://" + g.Addr + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	_, after, _ := strings.Cut(string(text), `"status":"`)
	status, _, _ := strings.Cut(after, `"`)
	return status
}

// Files that cannot be used stop the start, with every fault listed.
func TestFaultyCertificateStopsTheStart(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	path := process.Program(t)
	first := writePair(t, t.TempDir(), "a.test", time.Now().Add(-time.Hour), time.Hour*48)
	second := writePair(t, t.TempDir(), "b.test", time.Now().Add(-time.Hour), time.Hour*48)
	for name, env := range map[string][]string{
		"alone":      {"SLUICE_TLS_CERT=" + first.cert},
		"mismatched": {"SLUICE_TLS_CERT=" + first.cert, "SLUICE_TLS_KEY=" + second.key},
		"no file":    {"SLUICE_TLS_CERT=/nowhere", "SLUICE_TLS_KEY=" + first.key},
	} {
		cmd := exec.CommandContext(t.Context(), path)
		cmd.Env = append([]string{"SLUICE_ADDR=127.0.0.1:0", "SLUICE_TODO_DB=:memory:", "SLUICE_MAX_STEPS=many"}, env...)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "SLUICE_TLS_") || !strings.Contains(string(out), "SLUICE_MAX_STEPS") {
			t.Errorf("%s: exit %d: %s", name, cmd.ProcessState.ExitCode(), out)
		}
	}
}

// A turn's events are the same over HTTP/1.1, over TLS and over HTTP/2 (row C10), for many streams at once.
func TestC10SameEventsOverTLS(t *testing.T) {
	t.Parallel()
	const streams = 100
	sealed, _ := startSealed(t, nil)
	plain := start(t, nil)
	kinds := func(client *http.Client, url string) string {
		resp, err := client.Post(url+"/chat/stream", "application/json", strings.NewReader(`{"input":"What are my todos?"}`))
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		var all []string
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok && (len(all) == 0 || all[len(all)-1] != kind) {
				all = append(all, kind)
			}
		}
		return fmt.Sprint(all, lines.Err())
	}
	want := kinds(http.DefaultClient, "http://"+plain.Addr)
	if !strings.HasSuffix(want, "done] <nil>") {
		t.Fatalf("over plain HTTP/1.1: %s", want)
	}
	for name, client := range map[string]*http.Client{"HTTP/2": sealed.client(t, true), "HTTP/1.1 over TLS": sealed.client(t, false)} {
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() {
				if got := kinds(client, "https://"+sealed.Addr); got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			})
		}
		wg.Wait()
	}
}

// What does not speak TLS is closed, and keeps nobody waiting: garbage, a plain request, half a hello, a
// hello that never ends.
func TestGarbageForTLS(t *testing.T) {
	t.Parallel()
	g, _ := startSealed(t, nil)
	hello := helloOf(t)
	for name, say := range map[string][]byte{
		"garbage":      []byte("\x16\x03\x01\xff\xff garbage"),
		"zeros":        make([]byte, 4096),
		"half a hello": hello[:len(hello)/2],
		"nothing":      nil,
		"SSH":          []byte("SSH-2.0-OpenSSH_9\r\n"),
		"plain h2":     []byte(http2.ClientPreface),
		"two hellos":   append(bytes.Clone(hello), hello...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", g.Addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = c.Write(say)
			_ = c.SetReadDeadline(time.Now().Add(patience))
			if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
				t.Error("it stays open")
			}
		})
	}
	t.Cleanup(func() {
		g.healthy(t)
		for _, l := range g.Logged("http_server") {
			if l.Level != "DEBUG" || strings.Contains(l.Raw, "127.0.0.1") {
				t.Errorf("logged: %s", l.Raw)
			}
		}
	})
}

// helloOf returns what a client of TLS says first.
func helloOf(t *testing.T) []byte {
	ours, theirs := net.Pipe()
	defer ours.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = tls.Client(theirs, trusting("h2")).HandshakeContext(ctx) }()
	hello := make([]byte, 64<<10)
	n, err := ours.Read(hello)
	if err != nil {
		t.Fatal(err)
	}
	return hello[:n]
}

// A client that asks for much and lets no byte of it through is cut after the time of a write,
// also where no stream of events runs.
func TestClosedWindowOfAReply(t *testing.T) {
	t.Parallel()
	g, _ := startSealed(t, map[string]string{"SLUICE_WRITE_TIMEOUT": "300ms"})
	c := g.dial(t, "h2")
	var out bytes.Buffer
	f := newFrames(&out)
	out.WriteString(http2.ClientPreface)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	const streams = 200
	for i := range uint32(streams) {
		f.get(2*i+1, "/openapi.yaml")
	}
	if _, err := c.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	in, resets, most := http2.NewFramer(io.Discard, c), 0, uint32(0)
	for resets < streams {
		frame, err := in.ReadFrame()
		if err != nil {
			t.Fatalf("after %d resets: %v", resets, err)
		}
		switch frame := frame.(type) {
		case *http2.RSTStreamFrame:
			resets++
		case *http2.SettingsFrame:
			if v, ok := frame.Value(http2.SettingMaxConcurrentStreams); ok {
				most = v
			}
		}
	}
	if most != 250 {
		t.Errorf("%d streams are announced, want 250", most)
	}
}

// The address for operators speaks TLS as well, and HTTP/2; profiles are there on loopback.
func TestAddressForOperators(t *testing.T) {
	t.Parallel()
	g, _ := startSealed(t, map[string]string{"SLUICE_ADMIN_ADDR": "127.0.0.1:0"})
	for _, h2 := range []bool{true, false} {
		client := g.client(t, h2)
		for path, want := range map[string]string{"/metrics": "sluice_tls_not_after_seconds", "/readyz": `"breakers"`, "/debug/pprof/goroutine?debug=1": "goroutine profile"} {
			resp, err := client.Get("https://" + g.Admin + path)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK || !strings.Contains(string(text), want) || (resp.ProtoMajor == 2) != h2 {
				t.Errorf("%s over %s: %d %.100s", path, resp.Proto, resp.StatusCode, text)
			}
			if resp.Header.Get("Strict-Transport-Security") == "" {
				t.Errorf("%s: %v", path, resp.Header)
			}
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+g.Admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.test"
	resp, err := g.client(t, false).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("another name gets %d", resp.StatusCode)
	}
}

// The command that containers use for their health asks over TLS too, whatever the files of the
// certificate hold by now.
func TestHealthcheckOverTLS(t *testing.T) {
	t.Parallel()
	g, dir := startSealed(t, nil)
	path := process.Program(t)
	cert := filepath.Join(dir, "current", "tls.crt")
	for _, faulty := range []bool{false, true} {
		if faulty {
			if err := os.WriteFile(cert, []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), path, "healthcheck")
		cmd.Env = []string{"SLUICE_ADDR=" + g.Addr, "SLUICE_TODO_DB=:memory:", "SLUICE_TLS_CERT=" + cert, "SLUICE_TLS_KEY=" + cert}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("with faulty files %v: %v\n%s", faulty, err, out)
		}
	}
}
