//go:build unix

// Package redistest starts servers of Redis or Valkey for tests: each test binary has its own, on a
// socket of its own, and can simulate failures of servers.
package redistest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
)

// Server is a server that a test has started.
type Server struct {
	Socket string
	binary string
	args   []string
	env    []string // besides the test's own
	cmd    *exec.Cmd
}

// Start starts a server, which ends with the test. If binary is not on this machine the
// test is skipped, or fails if it is required.
func Start(t testing.TB, binary string, required bool, args ...string) *Server {
	t.Helper()
	return startWithEnv(t, binary, required, nil, args)
}

// startWithEnv is Start with more variables in the server's environment.
func startWithEnv(t testing.TB, binary string, required bool, env, args []string) *Server {
	t.Helper()
	path, err := exec.LookPath(binary)
	switch {
	case err != nil && required:
		t.Fatalf("%s is not on this machine, and it is required: scripts/redis-install.sh installs it", binary)
	case err != nil:
		t.Skipf("%s is not on this machine", binary)
	}
	dir, err := os.MkdirTemp("", "redis") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Socket: filepath.Join(dir, "s"), binary: path, env: env}
	s.args = append([]string{"--port", "0", "--unixsocket", s.Socket, "--dir", dir, "--save", "", "--appendonly", "no", "--loglevel", "warning"}, args...)
	t.Cleanup(func() {
		s.Kill()
		_ = os.RemoveAll(dir)
	})
	s.Start(t)
	return s
}

// Start starts a server that was killed again. It keeps its data only if it was started with an
// append-only file.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command(s.binary, s.args...)
	s.cmd.Env = append(s.cmd.Environ(), s.env...)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, "the server answers", func() bool {
		conn, err := net.Dial("unix", s.Socket)
		if err != nil {
			return false
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(testnet.Patience))
		_, err = conn.Write([]byte("PING\r\n"))
		answer := make([]byte, 5)
		_, errRead := conn.Read(answer)
		return err == nil && errRead == nil && (string(answer) == "+PONG" || string(answer) == "-NOAU")
	})
}

// Kill ends the server at once, as kill -9 does.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Pause makes the server hang: it takes connections and answers nothing.
func (s *Server) Pause(t testing.TB) { s.sendSignal(t, syscall.SIGSTOP) }

// Resume lets it continue.
func (s *Server) Resume(t testing.TB) { s.sendSignal(t, syscall.SIGCONT) }

func (s *Server) sendSignal(t testing.TB, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// Location says where the server is.
func (s *Server) Location() store.Location {
	return store.Location{Kind: store.Redis, Addrs: []string{s.Socket}, Socket: true}
}

// Dial returns a connection, for a test that speaks to the server itself.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", s.Socket)
}
