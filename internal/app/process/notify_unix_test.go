//go:build unix

package process

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// idle is Turns of which none ever runs.
type idle struct{ drained chan struct{} }

func (i idle) Drain()                     { close(i.drained) }
func (i idle) Wait(context.Context) error { return nil }
func (i idle) Abort(error)                {}

// A service manager learns when requests are served, and when that ends.
func TestManagerIsNotified(t *testing.T) {
	t.Parallel()
	// The path of a socket has about 100 bytes of room.
	dir, err := os.MkdirTemp("", "notify")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	names := []string{filepath.Join(dir, "manager")}
	if runtime.GOOS == "linux" {
		names = append(names, "@"+names[0]) // abstract
	}
	for _, name := range names {
		t.Run(name[:1], func(t *testing.T) {
			t.Parallel()
			manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer manager.Close()
			s, signals, ended := served(t, Manager(name), io.Discard)
			if got := receive(t, manager); got != "READY=1" {
				t.Errorf("at the start: %q", got)
			}
			select {
			case <-s.cfg.Turns.(idle).drained:
				t.Error("it drains without a signal")
			default:
			}
			signals <- syscall.SIGTERM
			if got := receive(t, manager); got != "STOPPING=1" {
				t.Errorf("after the signal: %q", got)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// Without a manager nothing is said, and one that cannot be reached stops nothing.
func TestManagerThatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		manager Manager
		want    int // lines of the log
	}{{"", 0}, {"/does/not/exist", 2}} {
		var log bytes.Buffer
		_, signals, ended := served(t, tt.manager, &log)
		signals <- syscall.SIGTERM
		if err := <-ended; err != nil {
			t.Errorf("%q: %v", tt.manager, err)
		}
		if got := strings.Count(log.String(), "notify_failed"); got != tt.want {
			t.Errorf("%q: %d lines, want %d: %s", tt.manager, got, tt.want, log.String())
		}
	}
}

// served runs a Server until a signal comes.
func served(t *testing.T, m Manager, log io.Writer) (s *Server, signals chan os.Signal, ended chan error) {
	t.Helper()
	ln, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err = Serve(t.Context(), ln, ServerConfig{
		Handler: http.NotFoundHandler(), Turns: idle{make(chan struct{})}, Manager: m, Flush: func(time.Duration) {}, Log: zerolog.New(log),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	signals, ended = make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- s.Run(t.Context(), signals) }()
	return s, signals, ended
}

// receive returns the next datagram.
func receive(t *testing.T, manager *net.UnixConn) string {
	t.Helper()
	if err := manager.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 256)
	n, err := manager.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}
