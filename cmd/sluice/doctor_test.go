package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// diagnosed is the report of sluice doctor.
type diagnosed struct {
	URL      string
	Healthy  bool
	Findings []finding
}

// has looks for a finding whose text begins as the pattern seen says.
func (d diagnosed) has(v verdict, check, seen string) bool {
	begins := regexp.MustCompile("^" + seen)
	for _, f := range d.Findings {
		if f.Verdict == v && f.Check == check && begins.MatchString(f.Seen) {
			return v != problem || f.Means != "" && (len(f.Change) > 0) // what it means, and what to do
		}
	}
	return false
}

func diagnose(t *testing.T, base string, args ...string) diagnosed {
	t.Helper()
	code, stdout, stderr := runCommand(t, nil, append([]string{"doctor", "--json", "--url", base}, args...)...)
	var d diagnosed
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || stderr != "" {
		t.Errorf("%v: exit code %d, stdout %q, stderr %q", err, code, stdout, stderr)
	}
	if d.Healthy != (code == exitOK) || d.URL != base {
		t.Errorf("exit code %d for %+v", code, d)
	}
	return d
}

// startConnected starts a gateway in which there is nothing to find fault with.
func startConnected(t *testing.T, args ...string) *running {
	t.Helper()
	g := start(t, nil, args...)
	g.log.await(t, "mcp_connected", nil)
	return g
}

// between serves as a proxy in front of the gateway at base, one that does with
// each stream of ticks what spoil does.
func between(t *testing.T, base string, spoil func(w *spoiler, ticks io.Reader)) string {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
	}
	return serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/diag/sse" || strings.Contains(r.URL.RawQuery, "filler") {
			pass.ServeHTTP(w, r)
			return
		}
		req, _ := http.NewRequestWithContext(r.Context(), r.Method, base+r.URL.RequestURI(), nil)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		spoil(&spoiler{w}, resp.Body)
	}))
}

// spoiler is a reply in a proxy's hands.
type spoiler struct{ http.ResponseWriter }

func (w *spoiler) send(p []byte) {
	_, _ = w.Write(p)
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// pass hands on what comes, piece by piece, after each has been changed.
func (w *spoiler) pass(from io.Reader, change func([]byte) []byte) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			w.send(change(buf[:n]))
		}
		if err != nil {
			return
		}
	}
}

func unchanged(p []byte) []byte { return p }

// Each fault that a proxy may have is found out, told in words and with its figures.
func TestDoctorFindsFaults(t *testing.T) {
	t.Parallel()
	g := startConnected(t)
	var all sync.WaitGroup // and not subtests, of which two run at a time: a probe waits for its ticks
	defer all.Wait()
	for _, tt := range []struct {
		name    string
		spoil   func(w *spoiler, ticks io.Reader)
		verdict verdict
		check   string
		seen    string
	}{
		{"nothing", func(w *spoiler, r io.Reader) { w.pass(r, unchanged) }, good, "stream", "live: 10 ticks sent 200 ms apart came one by one"},
		{"whole", func(w *spoiler, r io.Reader) { all, _ := io.ReadAll(r); w.send(all) }, problem, "stream", "buffered: 10 ticks sent 200 ms apart came in 1 piece, up to [1-9].. s late; (160 KiB are held back|what holds them back lets go after at most [0-9]+ KiB)"},
		{"blocks", inBlocks(500), problem, "stream", "buffered: 10 ticks sent 200 ms apart came in "},
		{"delay", late300, problem, "stream", "delayed: ticks came up to "},
		{"cut, cleanly", cutAfter(3, false), problem, "stream", "cut after 3 ticks, "},
		{"cut, broken", cutAfter(3, true), problem, "stream", "cut after 3 ticks, "},
		{"gzip", zipped(true), note, "headers", "Content-Encoding: gzip"},
		{"gzip, live", zipped(true), good, "stream", "live: "},
		{"gzip, buffered", zipped(false), problem, "stream", "buffered: 10 ticks"},
		{"HTML", func(w *spoiler, _ io.Reader) { w.Header().Set("Content-Type", "text/html"); w.send([]byte("<html>")) }, problem, "stream", "200 OK with text/html"},
		{"other type", withHeader("Content-Type", "text/plain"), problem, "stream", "200 OK with text/plain"},
		{"parameter", withHeader("Content-Type", "text/event-stream;charset=utf-8"), good, "stream", "live: "},
		{"no cache header", withHeader("Cache-Control", ""), note, "headers", `Cache-Control is ""`},
		{"no id", withHeader("X-Request-Id", ""), note, "headers", "X-Request-ID is missing"},
		{"cached", withHeader("Age", "7"), problem, "headers", "Age: 7"},
		{"nginx's own header", withHeader("X-Accel-Buffering", ""), good, "headers", "as they were sent, but for X-Accel-Buffering"},
		{"comments", func(w *spoiler, r io.Reader) { w.send([]byte(": hello\n\n")); w.pass(r, unchanged) }, note, "headers", "1 comment that the gateway did not send"},
		{"lost event", func(w *spoiler, r io.Reader) { w.pass(r, without(`"n":4,`)) }, problem, "stream", "cut after 3 ticks"},
		{"last event lost", func(w *spoiler, r io.Reader) { w.pass(r, without(`"n":10,`)) }, problem, "stream", "cut after 9 ticks"},
		{"no ticks", func(w *spoiler, _ io.Reader) { w.send([]byte("event: done\ndata: {}\n\n")) }, problem, "stream", "cut after 0 ticks"},
		{"HTTP/1.0", func(w *spoiler, r io.Reader) {
			w.pass(r, func(p []byte) []byte { return bytes.ReplaceAll(p, []byte("HTTP/1.1"), []byte("HTTP/1.0")) })
		}, problem, "protocol", "the gateway was asked in HTTP/1.0"},
	} {
		base := between(t, g.base, tt.spoil)
		all.Go(func() {
			d := diagnose(t, base)
			if !d.has(tt.verdict, tt.check, tt.seen) || d.Healthy != (tt.verdict != problem) {
				t.Errorf("%s: want %s %s: %s\n%+v", tt.name, tt.verdict, tt.check, tt.seen, d)
			}
		})
	}
}

func withHeader(name, value string) func(*spoiler, io.Reader) {
	return func(w *spoiler, r io.Reader) {
		w.Header().Set(name, value)
		if value == "" {
			w.Header().Del(name)
		}
		w.pass(r, unchanged)
	}
}

// inBlocks hands on so many bytes at a time.
func inBlocks(size int) func(*spoiler, io.Reader) {
	return func(w *spoiler, r io.Reader) {
		block := make([]byte, size)
		for {
			n, err := io.ReadFull(r, block)
			w.send(block[:n])
			if err != nil {
				return
			}
		}
	}
}

// late300 is a slow line: all comes, each byte 300 ms after it was sent.
func late300(w *spoiler, r io.Reader) {
	type piece struct {
		due  time.Time
		data []byte
	}
	line := make(chan piece, 100)
	go func() {
		defer close(line)
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			line <- piece{time.Now().Add(300 * time.Millisecond), bytes.Clone(buf[:n])}
			if err != nil {
				return
			}
		}
	}()
	for p := range line {
		time.Sleep(time.Until(p.due))
		w.send(p.data)
	}
}

func cutAfter(ticks int, broken bool) func(*spoiler, io.Reader) {
	return func(w *spoiler, r io.Reader) {
		buf := make([]byte, 4096)
		for range ticks {
			n, _ := r.Read(buf)
			w.send(buf[:n])
		}
		if broken {
			panic(http.ErrAbortHandler)
		}
	}
}

func zipped(flushed bool) func(*spoiler, io.Reader) {
	return func(w *spoiler, r io.Reader) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Del("Content-Length")
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		w.pass(r, func(p []byte) []byte {
			defer packed.Reset()
			_, _ = z.Write(p)
			if flushed {
				_ = z.Flush()
			}
			return bytes.Clone(packed.Bytes())
		})
		_ = z.Close()
		w.send(packed.Bytes())
	}
}

func without(part string) func([]byte) []byte {
	return func(p []byte) []byte {
		if bytes.Contains(p, []byte(part)) {
			return nil
		}
		return p
	}
}

// What is no gateway, and what cannot be reached, is called so.
func TestDoctorElsewhere(t *testing.T) {
	t.Parallel()
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the client that leaves
	tls.StartTLS()
	t.Cleanup(tls.Close)
	page := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	moved := serveHandler(t, http.RedirectHandler("https://elsewhere.example/", http.StatusMovedPermanently))
	locked := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "who?", http.StatusUnauthorized) }))
	down := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "", http.StatusBadGateway) }))
	hangs := serveHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	for _, tt := range []struct{ base, check, seen, means string }{
		{page, "stream", "200 OK with text/html", "Something other"},
		{moved, "healthz", "301 Moved Permanently to https://elsewhere.example/", "A redirect"},
		{locked, "healthz", "401 Unauthorized", "Something in between"},
		{down, "healthz", "502 Bad Gateway", "A proxy answers"},
		{hangs, "connect", "no answer within 500 ms", "Something drops"},
		{tls.URL, "connect", "tls: failed to verify certificate", "Clients refuse"},
		{strings.Replace(page, "http:", "https:", 1), "connect", "http: server gave HTTP response", "What listens"},
		{"http://" + unusedAddr(t), "connect", "dial tcp", "Nobody listens"},
		{"http://nowhere.invalid", "connect", "dial tcp: lookup nowhere.invalid", "The name"},
	} {
		timeout := "1m" // a machine with other work takes its time for a handshake
		if tt.base == hangs {
			timeout = "500ms"
		}
		d := diagnose(t, tt.base, "--timeout", timeout)
		found := false
		for _, f := range d.Findings {
			found = found || f.Check == tt.check && strings.HasPrefix(f.Seen, tt.seen) && strings.HasPrefix(f.Means, tt.means)
		}
		if !found || d.Healthy {
			t.Errorf("%s: want %s: %s (%s)\n%+v", tt.base, tt.check, tt.seen, tt.means, d.Findings)
		}
	}
}

// An idle limit is found, and heartbeats are seen to keep a stream under it.
func TestDoctorSilence(t *testing.T) {
	t.Parallel()
	g := startConnected(t, "--heartbeat", "100ms")
	const limit = 2 * time.Second // many heartbeats, as on a busy machine some come late
	strict := between(t, g.base, func(w *spoiler, r io.Reader) {
		silence := time.AfterFunc(limit, func() { _ = r.(io.Closer).Close() })
		defer silence.Stop()
		w.pass(r, func(p []byte) []byte { silence.Reset(limit); return p })
	})
	mute := between(t, g.base, func(w *spoiler, r io.Reader) {
		w.pass(r, func(p []byte) []byte { return bytes.ReplaceAll(p, []byte(": ping\n\n"), nil) })
	})
	var all sync.WaitGroup
	defer all.Wait()
	for _, tt := range []struct {
		name, base string
		verdict    verdict
		seen       []string
	}{
		{"no limit", g.base, good, []string{"a silent stream lives for 4.0 s: ", "a stream without a byte for 4.0 s is left alone too"}},
		{"a limit", strict, note, []string{"a stream without a byte is cut after [23].. s"}},
		{"with heartbeats", strict, good, []string{"a silent stream lives for 4.0 s: "}},
		{"no heartbeats", mute, note, []string{"a silent stream lives for 4.0 s: 0 heartbeats, "}},
	} {
		all.Go(func() {
			d := diagnose(t, tt.base, "--idle", "4s")
			for _, seen := range tt.seen {
				if !d.has(tt.verdict, "idle", seen) || !d.Healthy {
					t.Errorf("%s: want %s: %s\n%+v", tt.name, tt.verdict, seen, d)
				}
			}
		})
	}
}

// What the gateway says of itself counts too.
func TestDoctorReadiness(t *testing.T) {
	t.Parallel()
	for body, seen := range map[string]string{
		`{"status":"draining","model":"m","breakers":[],"mcp":[],"streams":1}`:                                      "draining, model m, 1 stream open",
		`{"status":"degraded","model":"m","breakers":[{"service":"gemini","state":"open"}],"mcp":[]}`:               "the circuit breaker of gemini is open",
		`{"status":"degraded","model":"m","breakers":[],"mcp":[{"server":"todo","connected":false,"tools":0}]}`:     "the MCP server todo is not connected",
		`{"status":"degraded","model":"\u001b[31m","breakers":[],"mcp":[{"server":"\u001b]0;","connected":false}]}`: `the MCP server \]0; is not connected`,
	} {
		base := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/readyz" {
				_, _ = io.WriteString(w, body)
			}
		}))
		if d := diagnose(t, base); !d.has(problem, "readyz", seen) {
			t.Errorf("want %q: %+v", seen, d)
		}
	}
}

// Every request carries the headers that were given.
func TestDoctorHeaders(t *testing.T) {
	t.Parallel()
	base := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer a:b" || r.Header.Get("X-Two") != "2" || r.Host != "chat.example.com" {
			t.Errorf("%s %s: host %s, headers %v", r.Method, r.URL.Path, r.Host, r.Header)
		}
	}))
	diagnose(t, base, "--header", "Authorization: Bearer a:b", "--header=X-Two:2", "--header", "Host: chat.example.com")
}

func TestDoctorFlags(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-CaNaRy"
	code, stdout, stderr := runCommand(t, nil, "doctor", "--url", "https://user:"+secret+"@host", "--header", secret, "--idle", "6m", "--timeout", "0s")
	for _, flag := range []string{"--url: must not hold a user name", "--header: must be", "--idle: must not be more than 5m", "--timeout: must be more than 0"} {
		if !strings.Contains(stderr, "\n  "+flag) {
			t.Errorf("%s is not listed:\n%s", flag, stderr)
		}
	}
	if code != exitUsage || stdout != "" || strings.Contains(stderr, secret) {
		t.Errorf("exit code %d, stdout %q, stderr:\n%s", code, stdout, stderr)
	}
	for _, url := range []string{"", "host", "ftp://host", "http://", "http://host/?a=b", "http://host/#a", "http://[::1"} {
		if code, _, stderr := runCommand(t, nil, "doctor", "--url", url); code != exitUsage || !strings.Contains(stderr, "--url: ") {
			t.Errorf("%q: exit code %d, stderr %q", url, code, stderr)
		}
	}
}

// A person sees each finding on a line, and what it means below.
func TestDoctorText(t *testing.T) {
	t.Parallel()
	g := startConnected(t)
	code, stdout, stderr := runCommand(t, nil, "doctor", "--url", g.base+"/")
	for _, want := range []string{
		"sluice doctor: " + g.base + "\n\n", "\n  ok      stream      live: 10 ticks", "\n  note    connect     TCP ",
		"\n                      Over HTTP/1.1 a browser", "\n                      → Offer HTTP/2", "\n  ok      long URL    60,000 bytes", "\n\nNo problems found.\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not there:\n%s", want, stdout)
		}
	}
	if code != exitOK || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	gone := "http://" + unusedAddr(t)
	if code, stdout, _ := runCommand(t, nil, "doctor", "--url", gone); code != exitFailed || !strings.HasSuffix(stdout, "\n\n1 problem found.\n") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}
