//go:build unix

package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/state/store/redis/redistest"
)

// relay stands before two gateways with one store. Each stream is cut after one event,
// and a half if that is asked for, and the next request goes to the other gateway.
type relay struct {
	gateways [2]*gateway
	half     bool
	nothing  bool // of the first stream but half an event
	streams  atomic.Int64
}

func (f *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := 0
	isStream := r.URL.Path == "/chat/stream" || strings.HasSuffix(r.URL.Path, "/events")
	if isStream {
		n = int(f.streams.Add(1))
	}
	base, err := url.Parse(f.gateways[n%2].base)
	if err != nil {
		panic(err)
	}
	proxy := &httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0),
		Rewrite:  func(p *httputil.ProxyRequest) { p.SetURL(base); p.Out.Host = p.In.Host },
		ModifyResponse: func(resp *http.Response) error {
			if isStream && resp.StatusCode == http.StatusOK {
				resp.Body = newOneEvent(resp.Body, f.half, n == 1 && f.nothing)
				resp.Header.Del("Content-Length")
			}
			return nil
		},
	}
	proxy.ServeHTTP(w, r)
}

// readingTime is what a client has to read an event: Chromium's fetch forgets what was not
// read when the connection breaks. One that reads nothing in it asks for the same again.
const readingTime = 200 * time.Millisecond

// oneEvent is a stream that breaks off.
type oneEvent struct {
	*io.PipeReader
	body io.Closer
}

func newOneEvent(body io.ReadCloser, half, nothing bool) *oneEvent {
	pass, out := io.Pipe()
	go func() { // ends with its reader
		stream := bufio.NewReader(body)
		if !nothing {
			_, _ = io.WriteString(out, readEvent(stream))
		}
		if half {
			next := readEvent(stream)
			_, _ = io.WriteString(out, next[:len(next)/2])
		}
		time.Sleep(readingTime)
		_ = out.CloseWithError(io.ErrUnexpectedEOF)
	}()
	return &oneEvent{pass, body}
}

func (e *oneEvent) Close() error {
	_ = e.PipeReader.Close()
	return e.body.Close()
}

// keepers starts two gateways that share a Redis.
func keepers(t *testing.T, sim *gemini) [2]*gateway {
	t.Helper()
	redis := redistest.Start(t, "redis-server", false)
	env := sim.env("SLUICE_GEMINI_BREAKER", "100,60s,1", "SLUICE_STORE", "unix://"+redis.Socket,
		"SLUICE_APPROVAL_KEY", base64.StdEncoding.EncodeToString(make([]byte, 32))) // each opens what the other has sealed
	return [2]*gateway{startGateway(t, env), startGateway(t, env)}
}

// whole returns a turn's stream as it is reported to one who was never cut, by each gateway the
// same.
func whole(t *testing.T, gateways [2]*gateway, transcript string) string {
	t.Helper()
	found := regexp.MustCompile(`"task_id":"(task_\w+)"`).FindStringSubmatch(transcript)
	if found == nil {
		t.Fatalf("no task in\n%s", transcript)
	}
	var got [2]string
	for i, g := range gateways {
		resp, err := http.Get(g.base + "/tasks/" + found[1] + "/events")
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		got[i] = string(all)
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		t.Errorf("the gateways tell it differently:\n%s", diff)
	}
	return got[0]
}

// Turns that are kept, in Chromium: the page continues with one after a reload and cancels one,
// and a stream that is cut after each event is byte for byte the whole one.
func TestKeptTurns(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	scripts := pageScripts()
	scripts["pauses"] = "thought **Hm**\ntext \"One \"\ndelay 3s\ntext two.\nfinish STOP"
	gateways := keepers(t, startGemini(t, scripts))
	cutting := func(half bool) string {
		s := httptest.NewServer(&relay{gateways: gateways, half: half, nothing: half})
		t.Cleanup(s.Close)
		return s.URL
	}
	journeys := travel(t, browser, []flow{
		{"keptReload", gateways[0].base}, {"keptCancel", gateways[0].base}, {"keptUnknown", gateways[0].base},
		{"resumedFetch", cutting(true)}, {"resumedEventSource", cutting(true)}, {"resumedBare", cutting(false)},
	})
	for name, j := range journeys {
		for _, fault := range j.Faults {
			t.Errorf("%s: %s", name, fault)
		}
	}
	for _, name := range []string{"resumedFetch", "resumedEventSource", "resumedBare"} {
		got := journeys[name].Facts.Transcript
		want := strings.TrimPrefix(whole(t, gateways, got), "retry: 1000\n")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-whole +cut):\n%s", name, diff)
		}
	}
	resp, err := http.Get(gateways[1].base + "/tasks/" + journeys["keptCancel"].Facts.Task)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc struct{ Status struct{ State string } }
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil || doc.Status.State != "canceled" {
		t.Errorf("the task is %q, %v", doc.Status.State, err)
	}
}

// The same with curl, which is given the place to continue from.
func TestCurlGoesOn(t *testing.T) {
	t.Parallel()
	curl := installed(t, "curl")
	gateways := keepers(t, startGemini(t, pageScripts()))
	s := httptest.NewServer(&relay{gateways: gateways})
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ask := func(args ...string) string {
		out, _ := exec.CommandContext(ctx, curl, append([]string{"-sSN", s.URL + "/chat/stream"}, args...)...).Output() // its stream breaks off
		return string(out)
	}
	all := ask("-H", "Content-Type: application/json", "-d", `{"input":"plain"}`)
	ids := regexp.MustCompile(`(?m)^id: (.+)$`)
	for n := 1; !strings.Contains(all, "\nevent: done\n"); n++ {
		known := ids.FindAllStringSubmatch(all, -1)
		if len(known) != n {
			t.Fatalf("%d events after %d requests:\n%s", len(known), n, all)
		}
		all += ask("-H", fmt.Sprint("Last-Event-ID: ", known[n-1][1]))
	}
	if diff := cmp.Diff(whole(t, gateways, all), all); diff != "" {
		t.Errorf("(-whole +cut):\n%s", diff)
	}
}
