package faults

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/e2e/process"
)

// Of a burst of connections each is answered: as many as there are places run, the others are
// refused and learn when to come back. None hangs.
func TestC37Burst(t *testing.T) {
	t.Parallel()
	const crowd, places = 1000, 100
	letGo := make(chan struct{})
	g := start(t, holding(nil, letGo), unhurried("SLUICE_MAX_STREAMS", strconv.Itoa(places), "SLUICE_LOG_LEVEL", "info")...)
	var ran, refused, other atomic.Int32
	var wg sync.WaitGroup
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for range crowd {
		<-pace.C
		c := g.dial(t)
		wg.Go(func() {
			defer c.Close()
			if _, err := io.WriteString(c, request("POST", "/chat/stream", aTurn, "Content-Type: application/json")); err != nil {
				t.Error(err)
				return
			}
			all, err := io.ReadAll(endOf(c))
			switch reply := string(all); {
			case strings.HasPrefix(reply, "HTTP/1.1 200 ") && strings.Count(reply, "event: done") == 1:
				ran.Add(1)
			case strings.HasPrefix(reply, "HTTP/1.1 503 ") && strings.Contains(reply, "\r\nRetry-After: ") && strings.Contains(reply, `"overloaded"`):
				if refused.Add(1) == crowd-places {
					close(letGo)
				}
			default:
				if other.Add(1) < 5 {
					t.Errorf("%v: %.300s", err, reply)
				}
			}
		})
	}
	wg.Wait()
	if ran.Load() != places || refused.Load() != crowd-places {
		t.Errorf("%d ran, %d were refused", ran.Load(), refused.Load())
	}
	g.unharmed(t)
}

// endOf reads a reply whose connection may stay open: a stream to its last chunk, a refusal to the
// end of its JSON.
func endOf(r io.Reader) io.Reader {
	pr, pw := io.Pipe()
	go func() {
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadString('\n')
			_, _ = io.WriteString(pw, line)
			if err != nil || line == "0\r\n" {
				_ = pw.CloseWithError(err)
				return
			}
			if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				size, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
				for line != "\r\n" && err == nil {
					line, err = lines.ReadString('\n')
					_, _ = io.WriteString(pw, line)
				}
				_, err = io.Copy(pw, io.LimitReader(lines, size))
				_ = pw.CloseWithError(err)
				return
			}
		}
	}()
	return pr
}

// write writes a file for a test, which only we may read, and returns its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newKey makes a file with a key, and returns both.
func newKey(t testing.TB) (file, key string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "keys.yaml")
	out, err := exec.CommandContext(t.Context(), process.Program(t), "keys", "add", "--file", file, "--user", "ann").Output()
	if key = strings.TrimSpace(string(out)); err != nil || !strings.HasPrefix(key, "slk_") {
		t.Fatalf("%v: %q", err, out)
	}
	return file, key
}

// Beyond its rate a user gets 429 and learns when to come back. A refusal costs little more than
// the least that a reply costs, and no model is asked.
func TestC38RateLimit(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	file, key := newKey(t)
	config := write(t, "sluice.yaml", "limits:\n  user: {requests: {rate: 2/h}}\n")
	g := start(t, echo, "SLUICE_API_KEYS", file, "SLUICE_CONFIG", config, "SLUICE_LOG_LEVEL", "info")
	bearer := "Authorization: Bearer " + key
	g.post(t, aTurn).refused(t, 401, "unauthorized", "")
	for range 2 {
		g.post(t, aTurn, bearer).finished(t)
	}
	got := g.post(t, aTurn, bearer)
	got.refused(t, 429, "rate_limited", "")
	if after, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || after < 60 || after > 2000 {
		t.Errorf("Retry-After: %s, want that of half an hour", got.header.Get("Retry-After"))
	}
	if !strings.Contains(got.body, `"violated-policies":["user-requests"]`) {
		t.Errorf("no policy in %s", got.body)
	}

	c := g.dial(t)
	r := bufio.NewReader(c)
	// cost is the CPU time of many requests on one connection.
	cost := func(say string, method string, status int) time.Duration {
		const many = 1500
		before := g.CPU(t)
		for range many {
			if _, err := io.WriteString(c, say); err != nil {
				t.Fatal(err)
			}
			if got := read(t, r, method); got.status != status {
				t.Fatalf("got %d, want %d", got.status, status)
			}
		}
		return g.CPU(t) - before
	}
	beyond := request("POST", "/chat/stream", aTurn, "Content-Type: application/json", bearer)
	var refused, least time.Duration
	for range 3 { // alternating, so that both have the same machine
		least += cost(request("GET", "/healthz", ""), "GET", 200)
		refused += cost(beyond, "POST", 429)
	}
	t.Logf("4,500 refusals: %v, as many replies of /healthz: %v", refused, least)
	if refused > 8*least+100*time.Millisecond {
		t.Errorf("4,500 refusals cost %v, as many replies of /healthz %v", refused, least)
	}
	if n := len(g.model.Questions()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}
