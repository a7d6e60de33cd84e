package doctor_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/settings"
	"sluice/internal/clients/doctor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// report is what doctor found.
type report struct{ doctor.Report }

// has looks for a finding whose text begins as the pattern seen says.
func (r report) has(v doctor.Verdict, check, seen string) bool {
	begins := regexp.MustCompile("^" + seen)
	for _, f := range r.Findings {
		if f.Verdict == v && f.Check == check && begins.MatchString(f.Seen) {
			return v != doctor.Problem || f.Means != "" && (len(f.Change) > 0) // what it means, and what to do
		}
	}
	return false
}

// examine examines base. Each finding is also shown, in the same order.
func examine(t *testing.T, base string, cfg doctor.Config) report {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var shown []doctor.Finding
	cfg.URL, cfg.Timeout = u, cmp.Or(cfg.Timeout, time.Minute) // a machine with other work takes its time
	cfg.Show = func(f doctor.Finding) { shown = append(shown, f) }
	r := doctor.Examine(t.Context(), cfg)
	if !reflect.DeepEqual(shown, r.Findings) || r.URL != base {
		t.Errorf("%s: shown %+v, reported %+v", base, shown, r)
	}
	return report{r}
}

// attempts is how often an examination may be repeated. It judges real time: a fault of
// the line shows each time, and a wrong judgement too; a busy moment does not.
const attempts = 4

// start starts a gateway in which there is nothing to find fault with.
func start(t *testing.T, args ...string) (base string) {
	t.Helper()
	cfg, err := settings.Loader().Load(args, gatewaytest.LookupIn(gatewaytest.WithDefaults(t, nil)), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	log := new(gatewaytest.LogTail)
	g, err := gateway.Listen(t.Context(), settings.Config{Config: cfg, Version: "test"}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	log.Await(t, "mcp_connected", nil)
	return "http://" + g.Addr()
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
	return gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

// Each fault that a proxy may have is found out, and reported in words and with its figures.
func TestFaultsOfAProxy(t *testing.T) {
	t.Parallel()
	base := start(t)
	var all sync.WaitGroup // and not subtests, of which two run at a time: a probe waits for its ticks
	defer all.Wait()
	for _, tt := range []struct {
		name    string
		spoil   func(w *spoiler, ticks io.Reader)
		verdict doctor.Verdict
		check   string
		seen    string
	}{
		{"nothing", func(w *spoiler, r io.Reader) { w.pass(r, unchanged) }, doctor.Good, "stream", "live: 10 ticks sent 200 ms apart came one by one"},
		{"whole", func(w *spoiler, r io.Reader) { all, _ := io.ReadAll(r); w.send(all) }, doctor.Problem, "stream", "buffered: 10 ticks sent 200 ms apart came in 1 piece, up to [1-9].. s late; (160 KiB are held back|what holds them back lets go after at most [0-9]+ KiB)"},
		{"blocks", inBlocks(500), doctor.Problem, "stream", "buffered: 10 ticks sent 200 ms apart came in "},
		{"delay", late, doctor.Problem, "stream", "delayed: ticks came up to "},
		{"cut, cleanly", cutAfter(3, false), doctor.Problem, "stream", "cut after 3 ticks, "},
		{"cut, broken", cutAfter(3, true), doctor.Problem, "stream", "cut after 3 ticks, "},
		{"gzip", zipped(true), doctor.Notice, "headers", "Content-Encoding: gzip"},
		{"gzip, live", zipped(true), doctor.Good, "stream", "live: "},
		{"gzip, buffered", zipped(false), doctor.Problem, "stream", "buffered: 10 ticks"},
		{"HTML", func(w *spoiler, _ io.Reader) { w.Header().Set("Content-Type", "text/html"); w.send([]byte("<html>")) }, doctor.Problem, "stream", "200 OK with text/html"},
		{"other type", withHeader("Content-Type", "text/plain"), doctor.Problem, "stream", "200 OK with text/plain"},
		{"parameter", withHeader("Content-Type", "text/event-stream;charset=utf-8"), doctor.Good, "stream", "live: "},
		{"no cache header", withHeader("Cache-Control", ""), doctor.Notice, "headers", `Cache-Control is ""`},
		{"no id", withHeader("X-Request-Id", ""), doctor.Notice, "headers", "X-Request-ID is missing"},
		{"cached", withHeader("Age", "7"), doctor.Problem, "headers", "Age: 7"},
		{"nginx's own header", withHeader("X-Accel-Buffering", ""), doctor.Good, "headers", "as they were sent, but for X-Accel-Buffering"},
		{"comments", func(w *spoiler, r io.Reader) { w.send([]byte(": hello\n\n")); w.pass(r, unchanged) }, doctor.Notice, "headers", "1 comment that the gateway did not send"},
		{"lost event", func(w *spoiler, r io.Reader) { w.pass(r, without(`"n":4,`)) }, doctor.Problem, "stream", "cut after 3 ticks"},
		{"last event lost", func(w *spoiler, r io.Reader) { w.pass(r, without(`"n":10,`)) }, doctor.Problem, "stream", "cut after 9 ticks"},
		{"no ticks", func(w *spoiler, _ io.Reader) { w.send([]byte("event: done\ndata: {}\n\n")) }, doctor.Problem, "stream", "cut after 0 ticks"},
		{"HTTP/1.0", func(w *spoiler, r io.Reader) {
			w.pass(r, func(p []byte) []byte { return bytes.ReplaceAll(p, []byte("HTTP/1.1"), []byte("HTTP/1.0")) })
		}, doctor.Problem, "protocol", "the gateway was asked in HTTP/1.0"},
	} {
		proxy := between(t, base, tt.spoil)
		all.Go(func() {
			var d report
			for range attempts {
				d = examine(t, proxy, doctor.Config{})
				if d.has(tt.verdict, tt.check, tt.seen) && d.Healthy == (tt.verdict != doctor.Problem) {
					return
				}
			}
			t.Errorf("%s: want %s %s: %s\n%+v", tt.name, tt.verdict, tt.check, tt.seen, d)
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

// late is a slow line: all comes, each byte a second after it was sent, which is far
// more than a busy machine adds.
func late(w *spoiler, r io.Reader) {
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
			line <- piece{time.Now().Add(time.Second), bytes.Clone(buf[:n])}
			if err != nil {
				return
			}
		}
	}()
	for p := range line {
		time.Sleep(time.Until(p.due)) // for real: the doctor measures a gateway on real sockets
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

// What is not a gateway, and what cannot be reached, is called so.
func TestNoGateway(t *testing.T) {
	t.Parallel()
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the client that leaves
	tls.StartTLS()
	t.Cleanup(tls.Close)
	page := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	moved := gatewaytest.ServeHandler(t, http.RedirectHandler("https://elsewhere.example/", http.StatusMovedPermanently))
	locked := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "who?", http.StatusUnauthorized) }))
	down := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "", http.StatusBadGateway) }))
	hangs := gatewaytest.ServeHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	for _, tt := range []struct{ base, check, seen, means string }{
		{page, "stream", "200 OK with text/html", "Something other"},
		{moved, "healthz", "301 Moved Permanently to https://elsewhere.example/", "A redirect"},
		{locked, "healthz", "401 Unauthorized", "A proxy in between"},
		{down, "healthz", "502 Bad Gateway", "A proxy answers"},
		{hangs, "connect", "no answer within 500 ms", "Something drops"},
		{tls.URL, "connect", "tls: failed to verify certificate", "Clients refuse"},
		{strings.Replace(page, "http:", "https:", 1), "connect", "http: server gave HTTP response", "The program that listens"},
		{"http://" + gatewaytest.UnusedAddr(t), "connect", "dial tcp", "Nobody listens"},
		{"http://nowhere.invalid", "connect", "dial tcp: lookup nowhere.invalid", "The name"},
	} {
		var timeout time.Duration
		if tt.base == hangs {
			timeout = 500 * time.Millisecond
		}
		d := examine(t, tt.base, doctor.Config{Timeout: timeout})
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
func TestSilence(t *testing.T) {
	t.Parallel()
	base := start(t, "--heartbeat", "100ms")
	const limit = 2 * time.Second // many heartbeats, as on a busy machine some come late
	strict := between(t, base, func(w *spoiler, r io.Reader) {
		silence := time.AfterFunc(limit, func() { _ = r.(io.Closer).Close() })
		defer silence.Stop()
		w.pass(r, func(p []byte) []byte { silence.Reset(limit); return p })
	})
	mute := between(t, base, func(w *spoiler, r io.Reader) {
		w.pass(r, func(p []byte) []byte { return bytes.ReplaceAll(p, []byte(": ping\n\n"), nil) })
	})
	var all sync.WaitGroup
	defer all.Wait()
	for _, tt := range []struct {
		name, base string
		verdict    doctor.Verdict
		seen       []string
	}{
		{"no limit", base, doctor.Good, []string{"a silent stream lives for 4.0 s: ", "a stream without a byte for 4.0 s is left alone too"}},
		{"a limit", strict, doctor.Notice, []string{"a stream without a byte is cut after [23].. s"}},
		{"with heartbeats", strict, doctor.Good, []string{"a silent stream lives for 4.0 s: "}},
		{"no heartbeats", mute, doctor.Notice, []string{"a silent stream lives for 4.0 s: 0 heartbeats, "}},
	} {
		all.Go(func() {
			var d report
			for range attempts {
				d = examine(t, tt.base, doctor.Config{Idle: 4 * time.Second})
				wrong := func(seen string) bool { return !d.has(tt.verdict, "idle", seen) }
				if d.Healthy && !slices.ContainsFunc(tt.seen, wrong) {
					return
				}
			}
			t.Errorf("%s: want %s: %q\n%+v", tt.name, tt.verdict, tt.seen, d)
		})
	}
}

// What the gateway says of itself counts too.
func TestReadiness(t *testing.T) {
	t.Parallel()
	for body, seen := range map[string]string{
		`{"status":"draining","model":"m","breakers":[],"mcp":[],"streams":1}`:                                  "draining, model m, 1 stream open",
		`{"status":"degraded","model":"m","breakers":[{"service":"gemini","state":"open"}],"mcp":[]}`:           "the circuit breaker of gemini is open",
		`{"status":"degraded","model":"m","breakers":[],"mcp":[{"server":"todo","connected":false,"tools":0}]}`: "the MCP server todo is not connected",
	} {
		base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/readyz" {
				_, _ = io.WriteString(w, body)
			}
		}))
		if d := examine(t, base, doctor.Config{}); !d.has(doctor.Problem, "readyz", seen) {
			t.Errorf("want %q: %+v", seen, d)
		}
	}
}

// A clock that is off breaks tokens, and nobody thinks of it.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	for ahead, seen := range map[time.Duration]string{
		-10 * time.Minute: "the gateway.s clock is (9m5[0-9]|10m[0-9])s behind that of this machine",
		10 * time.Minute:  "the gateway.s clock is (9m5[0-9]|10m[0-9])s ahead of that of this machine",
		0:                 "",
	} {
		base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
			if r.URL.Path == "/readyz" {
				_, _ = io.WriteString(w, `{"status":"ok","model":"m"}`)
			}
		}))
		if got := examine(t, base, doctor.Config{}).has(doctor.Problem, "clock", seen); got != (seen != "") {
			t.Errorf("%s ahead: a clock is reported: %v", ahead, got)
		}
	}
}
