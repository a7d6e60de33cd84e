//go:build unix

package mcpclient

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/turn/tool"
)

// shortDialer dials until it is set to have run out of descriptors.
type shortDialer struct {
	short atomic.Bool
	dials atomic.Int32 // that failed
}

func (d *shortDialer) transport(t *testing.T) *http.Transport {
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if d.short.Load() {
			d.dials.Add(1)
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("socket", syscall.EMFILE)}
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// A shortage of the gateway's own must not close the way to a server that is well.
func TestShortageOfOurOwnDoesNotCountForTheBreaker(t *testing.T) {
	t.Parallel()
	for _, transport := range []Transport{HTTP, SSE} {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			dialer := new(shortDialer)
			cfg := over(serveMCPGo(t, transport))
			cfg.Servers[0].Transport, cfg.Transport = transport, dialer.transport(t)
			c := newClient(t, cfg)
			if _, f := callWith(t.Context(), c, "greet", `{"name":"Ada"}`); f != nil {
				t.Fatal(f)
			}
			dialer.short.Store(true)
			for range 6 {
				_, f := callWith(t.Context(), c, "greet", `{"name":"Ada"}`)
				wantFault(t, f, fault.Overloaded, false)
			}
			if n, s := failures(c), state(c); n != 0 || s != breaker.Closed {
				t.Errorf("the breaker is %s and counts %d failures", s, n)
			}
			if n := dialer.dials.Load(); n > 12 { // an SSE session may try to come back meanwhile
				t.Errorf("%d dials for 6 calls", n)
			}
			dialer.short.Store(false)
			testnet.Eventually(t, "the server is used again", func() bool {
				_, f := callWith(t.Context(), c, "greet", `{"name":"Ada"}`)
				return f == nil
			})
		})
	}
}

// The attempts to connect that turns ask for do not count either.
func TestShortageWhileConnectingDoesNotCountForTheBreaker(t *testing.T) {
	t.Parallel()
	for _, transport := range []Transport{HTTP, SSE} {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			dialer := new(shortDialer)
			dialer.short.Store(true)
			cfg := over("http://127.0.0.1:9/mcp")
			cfg.Servers[0].Transport, cfg.Transport = transport, dialer.transport(t)
			c := unstarted(t, cfg)
			for range 6 {
				if set := c.Tools(t.Context()); len(set.Unavailable) != 1 {
					t.Fatalf("got %+v", set)
				}
			}
			if n, s := failures(c), state(c); n != 0 || s != breaker.Closed {
				t.Errorf("the breaker is %s and counts %d failures", s, n)
			}
		})
	}
}

func serveMCPGo(t *testing.T, transport Transport) string {
	s := goServer()
	if transport == SSE {
		return serve(t, server.NewSSEServer(s)) + "/sse"
	}
	return serve(t, server.NewStreamableHTTPServer(s)) + "/mcp"
}

// A child that cannot be started for want of descriptors is not a failing server. The
// process that runs out is one of its own: this one has other tests.
func TestShortageOfDescriptorsForAChild(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=short")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := strings.TrimSpace(string(out)), "overloaded closed 1; again: <nil>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// shortMain is a process whose stdio server dies, which counts once, and which then
// has no descriptor left to start it again with.
func shortMain() {
	cfg := childConfig("good")
	c, err := New(cfg)
	if err != nil {
		panic(err)
	}
	c.Tools(context.Background())
	_, _ = c.Call(context.Background(), tool.Call{Name: "die"})
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
	old := limit
	limit.Cur = 3
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
	var last error
	for range 6 {
		_, last = c.Call(context.Background(), tool.Call{Name: "pid"})
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)
	s := c.Breakers()[0].Snapshot()
	_, again := c.Call(context.Background(), tool.Call{Name: "pid"})
	fmt.Println(fault.From(last).Type, s.State, fmt.Sprint(s.FailureCount)+";", "again:", again)
	_ = c.Close()
}
