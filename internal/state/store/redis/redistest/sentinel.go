//go:build unix

package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"sluice/internal/state/store"
)

// Port returns a TCP port of this host that nobody has now.
func Port(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// Sentinel starts a sentinel that watches the server on a port under the name main, and
// says where it is. It ends with the test.
func Sentinel(t testing.TB, required bool, port string) store.Location {
	t.Helper()
	path, err := exec.LookPath("redis-sentinel")
	switch {
	case err != nil && required:
		t.Fatal("redis-sentinel is not on this machine, and it is required: scripts/redis-install.sh installs it")
	case err != nil:
		t.Skip("redis-sentinel is not on this machine")
	}
	own, dir := Port(t), t.TempDir()
	config := filepath.Join(dir, "sentinel.conf") // it writes its findings into the file
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor main 127.0.0.1 %s 1\nsentinel down-after-milliseconds main 300\nsentinel failover-timeout main 2000\n", own, dir, port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return store.Location{Kind: store.Redis, Addrs: []string{"127.0.0.1:" + own}, Master: "main"}
}
