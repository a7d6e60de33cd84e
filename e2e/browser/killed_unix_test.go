//go:build unix

package browser

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/internal/state/store/redis/redistest"
)

// leaving is two gateways with one Redis behind an address: the first one answers until it is gone,
// then the second. While nobody answers there the reply is that of a proxy, 502.
type leaving struct {
	url  string
	end  func() // of the first gateway
	gone atomic.Bool
	auto bool // it ends when a client has the first text
	once sync.Once
}

func (l *leaving) ServeHTTP(w http.ResponseWriter, r *http.Request, gateways [2]*url.URL) {
	to := gateways[0]
	if l.gone.Load() {
		to = gateways[1]
	}
	proxy := &httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0), FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to); p.Out.Host = p.In.Host },
	}
	if l.auto {
		proxy.ModifyResponse = func(resp *http.Response) error {
			resp.Body = &ending{resp.Body, l}
			return nil
		}
	}
	proxy.ServeHTTP(w, r)
}

// ending is a stream behind whose first text the gateway ends.
type ending struct {
	io.ReadCloser
	of *leaving
}

func (e *ending) Read(b []byte) (int, error) {
	n, err := e.ReadCloser.Read(b)
	if bytes.Contains(b[:n], []byte(`"delta":"One `)) {
		go e.of.once.Do(func() { // the client has it by then
			time.Sleep(readingTime)
			e.of.end()
		})
	}
	return n, err
}

// startLeaving starts the gateways. The first one is killed with end, or asked to end where nothing
// is waited for. Their model is at a loss for a moment in the middle of each first answer.
func startLeaving(t *testing.T, drains bool, env ...string) *leaving {
	t.Helper()
	redis := redistest.Start(t, "redis-server", false)
	sim := startGemini(t, map[string]string{"pauses": "text \"One \"\ndelay 4s\ntext two.\nfinish STOP"})
	all := sim.env(append(env, "SLUICE_STORE", "unix://"+redis.Socket, "SLUICE_DRAIN_TIMEOUT", "0",
		"SLUICE_CONFIG", written(t, "sluice.yaml", "tasks: {lease: 3s}\n"), "SLUICE_APPROVAL_KEY", base64.StdEncoding.EncodeToString(make([]byte, 32)))...)
	first, cmd := startToEnd(t, all)
	second := startGateway(t, all)
	var gateways [2]*url.URL
	for i, g := range []*gateway{first, second} {
		base, err := url.Parse(g.base)
		if err != nil {
			t.Fatal(err)
		}
		gateways[i] = base
	}
	l := &leaving{}
	l.end = func() {
		signal := syscall.SIGKILL
		if drains {
			signal = syscall.SIGTERM
		}
		_ = cmd.Process.Signal(signal)
		_ = cmd.Wait()
		l.gone.Store(true)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.ServeHTTP(w, r, gateways) }))
	t.Cleanup(s.Close)
	l.url = s.URL
	return l
}

// ways are those in which a gateway goes.
var ways = map[string]bool{"killed": false, "drained": true}

// The page and the examples for browsers have the whole answer, too.
func TestBrowserClientsOutliveTheirGateway(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	files := httptest.NewServer(http.FileServer(http.Dir(examples)))
	t.Cleanup(files.Close)
	for way, drains := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			leaves := func() string {
				l := startLeaving(t, drains, "SLUICE_CORS_ORIGINS", files.URL)
				l.auto = true
				return l.url
			}
			visits := []exampleVisit{{Name: "eventsource", Client: "eventsource", Gateway: leaves(), Input: "pauses"}, {Name: "fetch", Client: "fetch", Gateway: leaves(), Input: "pauses"}}
			for _, got := range drive[shown](t, "examples.mjs", map[string]any{"chromium": browser, "origin": files.URL, "visits": visits}) {
				if got.Answer != "One two." || got.End != "done" {
					t.Errorf("%+v", got)
				}
			}
			for name, j := range travel(t, browser, []flow{{"outlivesFetch", leaves()}, {"outlivesEventSource", leaves()}}) {
				for _, fault := range j.Faults {
					t.Errorf("%s: %s", name, fault)
				}
			}
		})
	}
}

// The examples for a terminal, and `sluice ask`, have the whole answer although their gateway is
// killed, or ends without waiting, in the middle of it.
func TestTerminalClientsOutliveTheirGateway(t *testing.T) {
	t.Parallel()
	const began, want = "One ", "One \n[begins again]\nOne two.\n"
	asks := client{"ask", func(t *testing.T, gateway, text string) *exec.Cmd {
		t.Helper()
		return exec.CommandContext(t.Context(), program(t, built.gateway), "ask", "--url", gateway, text)
	}}
	for way, drains := range ways {
		for _, c := range append(clients(), asks) {
			t.Run(c.name+" "+way, func(t *testing.T) {
				t.Parallel()
				l := startLeaving(t, drains)
				cmd := c.command(t, l.url, "pauses")
				var log strings.Builder
				cmd.Stderr = &log
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				first := make([]byte, len(began))
				if _, err := io.ReadFull(out, first); err != nil {
					t.Fatal(err, log.String())
				}
				l.end()
				rest, err := io.ReadAll(out)
				ended := cmd.Wait()
				got := string(first) + string(rest)
				if c.name == "ask" { // it has its own way to show that an answer begins again
					if !strings.HasSuffix(strings.TrimSpace(got), "One two.") {
						got = fmt.Sprintf("%q", got)
					} else {
						got = want
					}
				}
				if err != nil || ended != nil || got != want {
					t.Errorf("%v, %v: %q, want %q\n%s", err, ended, got, want, log.String())
				}
			})
		}
	}
}
