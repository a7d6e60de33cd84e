package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/base/fault"
	"sluice/internal/edge/conns"
)

// pipes is a listener whose connections lie in memory, so that a bubble's time continues.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func newPipes() *pipes {
	return &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// get sends a request over a connection of its own, and returns the reply.
func (p *pipes) get(t *testing.T) string {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	p.accepted <- theirs
	if _, err := io.WriteString(ours, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(ours), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

// crowd is Turns that end so long after Drain, and so long after Abort.
type crowd struct {
	own, aborted time.Duration
	drained      time.Time
	cause        error
	abort        chan struct{}
}

func (c *crowd) Drain() { c.drained = time.Now() }

func (c *crowd) Wait(ctx context.Context) error {
	select {
	case <-time.After(c.own):
	case <-c.abort:
		select {
		case <-time.After(c.aborted):
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (c *crowd) Abort(cause error) {
	c.cause = cause
	close(c.abort)
}

// Streams may end by themselves until the drain time is over, then within the time of a
// write; a second signal leaves them a quarter of a second.
func TestDrain(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for _, tt := range []struct {
		name         string
		own, aborted time.Duration // how long the streams continue
		signals      []time.Duration
		want         error
		elapsed      time.Duration // until the end, from the first signal
		flush        time.Duration
		ended        bool // the streams were ended
	}{
		{"they end", 3 * second, 0, []time.Duration{0}, nil, 3 * second, 5 * second, false},
		{"they end late, and little is left for what was measured", 9 * second, 0, []time.Duration{0}, nil, 9 * second, second, false},
		{"they are ended", time.Hour, second, []time.Duration{0}, nil, 11 * second, second, true},
		{"they do not end", time.Hour, time.Hour, []time.Duration{0}, nil, 13 * second, second, true},
		{"a second signal", time.Hour, second / 10, []time.Duration{0, second}, ErrHurried, second + second/10, forced / 2, true},
		{"a second signal, and nobody ends", time.Hour, time.Hour, []time.Duration{0, second}, ErrHurried, second + forced, forced / 2, true},
		{"a second signal while they are ended", time.Hour, time.Hour, []time.Duration{0, 11 * second}, ErrHurried, 11 * second, forced / 2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				turns := &crowd{own: tt.own, aborted: tt.aborted, abort: make(chan struct{})}
				var flushed time.Duration
				tail := new(gatewaytest.LogTail)
				s, err := Serve(t.Context(), newPipes(), ServerConfig{
					Handler: http.NotFoundHandler(), Turns: turns, DrainTimeout: 10 * second, WriteTimeout: 2 * second,
					Flush: func(limit time.Duration) { flushed = limit }, Log: OwnLogger(NewLogger(tail, "info")),
				})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				signals := make(chan os.Signal, 2)
				began := time.Now()
				for _, at := range tt.signals {
					time.AfterFunc(at, func() { signals <- syscall.SIGTERM })
				}
				if err := s.Run(t.Context(), signals); !errors.Is(err, tt.want) {
					t.Errorf("Run: %v, want %v", err, tt.want)
				}
				elapsed := time.Since(began)
				if tt.want == nil {
					elapsed -= readTime
				}
				if elapsed != tt.elapsed || flushed.Round(second/8) != tt.flush || !turns.drained.Equal(began) {
					t.Errorf("it took %v, want %v, and %v for what was measured, want %v; drained after %v", elapsed, tt.elapsed, flushed, tt.flush, turns.drained.Sub(began))
				}
				f, _ := errors.AsType[*fault.Error](turns.cause)
				if ended := f != nil && f.Type == fault.ShuttingDown; ended != tt.ended {
					t.Errorf("the streams were ended by %v, want so: %v", turns.cause, tt.ended)
				}
				tail.Check(t)
				if lines, _ := tail.Since(0); len(lines) != 2 || !lines[0].Is("draining") || !lines[1].Is("stopped", "hurried", map[bool]string{true: "true", false: "false"}[tt.want != nil]) {
					t.Errorf("the log is\n%s", tail)
				}
			})
		})
	}
}

// A server that can accept no more ends the process, and says why.
func TestServerFails(t *testing.T) {
	t.Parallel()
	tail, ln := new(gatewaytest.LogTail), newPipes()
	s, err := Serve(t.Context(), ln, ServerConfig{Handler: http.NotFoundHandler(), Log: OwnLogger(NewLogger(tail, "info"))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ln.Close()
	if err := s.Run(t.Context(), nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run: %v", err)
	}
	if len(tail.All("server_failed")) != 1 {
		t.Errorf("the log is\n%s", tail)
	}
}

// Connections of clients have a place where they are bounded, those of operators never.
func TestConnectionsHaveAPlace(t *testing.T) {
	t.Parallel()
	type key struct{}
	placed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(key{}) != nil {
			_, _ = io.WriteString(w, "bounded")
		}
	})
	for _, limiter := range []*conns.Limiter{nil, conns.NewLimiter(10, 2)} {
		tail, ln := new(gatewaytest.LogTail), newPipes()
		s, err := Serve(t.Context(), ln, ServerConfig{
			Handler: placed, Admin: func(bool) http.Handler { return placed }, AdminAddr: "127.0.0.1:0", Limiter: limiter, Log: OwnLogger(NewLogger(tail, "info")),
			ConnContext: func(ctx context.Context, _ net.Conn, place Place) context.Context {
				return context.WithValue(ctx, key{}, place)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got, want := ln.get(t), map[bool]string{true: "bounded", false: ""}[limiter != nil]; got != want {
			t.Errorf("a client's connection is %q, want %q", got, want)
		}
		admin := tail.Await(t, "admin_listening", nil).Detail("addr")
		resp, err := gatewaytest.NewClient(t).Get("http://" + admin)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if len(text) > 0 {
			t.Errorf("an operator's connection is %q", text)
		}
	}
}

// An address in use is an error at once, and what was opened stays the caller's.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	ln, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if other, err := Listen(t.Context(), ln.Addr().String()); err == nil {
		other.Close()
		t.Error("two listen on one address")
	}
	if s, err := Serve(t.Context(), ln, ServerConfig{AdminAddr: ln.Addr().String()}); err == nil {
		s.Close()
		t.Error("operators share an address with clients")
	}
	if _, err := ln.(*net.TCPListener).SyscallConn(); err != nil {
		t.Errorf("the socket was closed: %v", err)
	}
}

// The warnings of a start name settings, and no values.
func TestWarnings(t *testing.T) {
	t.Parallel()
	tail := new(gatewaytest.LogTail)
	log := OwnLogger(NewLogger(tail, "info"))
	WarnOfShortSecrets(log, []string{"GEMINI_API_KEY"})
	WarnOfConfig(log, []string{"line 3: is old"})
	tail.Check(t)
	var got []string
	for _, line := range tail.All("secret_too_short_to_hide", "setting", "GEMINI_API_KEY", "shorter_than", "8") {
		got = append(got, line.Fields["level"].(string))
	}
	for _, line := range tail.All("config_warning", "message", "line 3: is old") {
		got = append(got, line.Fields["level"].(string))
	}
	if diff := cmp.Diff("WARNING WARNING", strings.Join(got, " ")); diff != "" {
		t.Errorf("(-want +got)\n%s\n%s", diff, tail)
	}
}
