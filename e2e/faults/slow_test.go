package faults

import (
	"bytes"
	"context"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/e2e/process"
)

// cut checks that the gateway ends a connection by itself, and returns what it said before.
func cut(t *testing.T, c io.Reader) string {
	t.Helper()
	got, err := io.ReadAll(c)
	if err != nil && strings.Contains(err.Error(), "timeout") {
		t.Errorf("it stays open: %.300s", got)
	}
	return string(got)
}

// narrow opens a connection that has little room for what arrives.
func (g *gateway) narrow(t *testing.T) *net.TCPConn {
	t.Helper()
	c := g.dial(t).(*net.TCPConn)
	if err := c.SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	return c
}

// endless says more and more, until the gateway has had enough.
func endless(q *process.Question) {
	for piece := strings.Repeat("word ", 2000); ; {
		select {
		case <-q.Cancelled():
			return
		default:
			q.SendText(piece)
		}
	}
}

// evicted checks that a client that reads too slowly is cut, and that its turn ends with it: with
// no other time of the gateway's own at work.
func evicted(t *testing.T, read func(net.Conn)) {
	t.Helper()
	gone := make(chan struct{})
	g := start(t, func(q *process.Question) {
		if q.Text != "slow" {
			echo(q)
			return
		}
		endless(q)
		close(gone)
	}, unhurried("SLUICE_WRITE_TIMEOUT", "1s", "SLUICE_GEMINI_MAX_TEXT_BYTES", "1073741824")...)
	c := g.narrow(t)
	if _, err := io.WriteString(c, request("POST", "/chat/stream", `{"input":"slow","accumulated":false}`, "Content-Type: application/json")); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		read(c)
	}()
	within(t, "the end of the slow reader's turn", gone)
	l := g.AwaitLine("the end of the slow reader", func(l process.Line) bool { return l.Event == "request_completed" })
	if l.Detail("finish_reason") != "cancelled" || !strings.Contains(l.Detail("cause"), "i/o timeout") {
		t.Errorf("logged: %s", l.Raw)
	}
	if got := g.post(t, aTurn).finished(t); got != "hello" {
		t.Errorf("another client gets %q", got)
	}
	g.unharmed(t)
	_ = c.Close()
	<-stop
}

// A client that reads a byte now and then is evicted, though it never stops: it reads less than is
// written.
func TestC3SlowReader(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	t.Run("a byte at a time", func(t *testing.T) {
		t.Parallel()
		evicted(t, func(c net.Conn) {
			for b := make([]byte, 1); ; time.Sleep(50 * time.Millisecond) {
				if _, err := c.Read(b); err != nil {
					return
				}
			}
		})
	})
	t.Run("slowhttptest", func(t *testing.T) {
		t.Parallel()
		slowhttptest(t, "/openapi.yaml", "-X", "-w", "1", "-y", "64", "-n", "1", "-z", "8", "-k", "3")
	})
}

func TestC4StopsReading(t *testing.T) {
	t.Parallel()
	evicted(t, func(net.Conn) {})
}

// slowhttptest finds the gateway available under a load of its own.
func slowhttptest(t *testing.T, path string, args ...string) {
	t.Helper()
	program := process.Tool(t, "slowhttptest")
	g := start(t, echo)
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(args, "-c", "300", "-r", "150", "-l", "8", "-p", "5", "-u", "http://"+g.Addr+path)...)
	cmd.Dir = t.TempDir()
	out, _ := cmd.CombinedOutput()
	plain := regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]").ReplaceAllString(string(out), "")
	if ctx.Err() != nil || !strings.Contains(plain, "service available:   YES") || strings.Contains(plain, "service available:   NO") {
		t.Errorf("%s says\n%s", filepath.Base(program), plain[max(0, len(plain)-2000):])
	}
	g.healthy(t)
}

// Headers that do not come to an end close their connection: the time for all of them runs from the
// first byte, whatever comes meanwhile.
func TestC6SlowHeaders(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	t.Run("slowhttptest", func(t *testing.T) {
		t.Parallel()
		slowhttptest(t, "/healthz", "-H", "-i", "2")
	})
	g := start(t, echo)
	for name, more := range map[string]string{"silent": "", "a header now and then": "X-A: b\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := g.dial(t)
			_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n")
			go func() {
				for range time.Tick(100 * time.Millisecond) {
					if _, err := io.WriteString(c, more); err != nil || t.Context().Err() != nil {
						return
					}
				}
			}()
			if got := cut(t, c); strings.Contains(got, "200 OK") {
				t.Errorf("got %s", got)
			}
		})
	}
}

// A body that does not come to an end gets 408 and closes its connection, whatever comes meanwhile.
func TestC7SlowBody(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	t.Run("slowhttptest", func(t *testing.T) {
		t.Parallel()
		slowhttptest(t, "/chat/stream", "-B", "-i", "2", "-s", "8192", "-t", "POST", "-f", "application/json")
	})
	g := start(t, echo)
	t.Cleanup(func() { g.untouched(t) })
	for name, more := range map[string]string{"silent": "", "a byte now and then": " "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := g.dial(t)
			_, _ = io.WriteString(c, "POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")
			go func() {
				for range time.Tick(100 * time.Millisecond) {
					if _, err := io.WriteString(c, more); err != nil || t.Context().Err() != nil {
						return
					}
				}
			}()
			var seen bytes.Buffer
			got := read(t, newReader(io.TeeReader(c, &seen)), "POST")
			if got.refused(t, 408, "request_timeout", ""); got.header.Get("Connection") != "close" {
				t.Errorf("the header: %v", got.header)
			}
			cut(t, c)
		})
	}
}
