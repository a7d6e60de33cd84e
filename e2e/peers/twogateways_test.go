package peers

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The example of two gateways shows what its README says: each step of the demo checks
// itself.
func TestHomeTwoGateways(t *testing.T) {
	t.Parallel()
	needPeers(t)
	for _, name := range []string{"redis-server", "haproxy"} {
		if _, err := exec.LookPath(name); err != nil {
			missing(t, name)
		}
	}
	var env []string
	for _, name := range []string{"PORT", "PORT_A", "PORT_B", "PORT_MODEL"} {
		env = append(env, name+"="+freePort(t))
	}
	demonstrate(t, "examples/home-two-gateways/run.sh", env...)
}

// demonstrate runs the demo of an example, each step of which checks itself, with the gateway
// of this tree.
func demonstrate(t *testing.T, script string, env ...string) {
	t.Helper()
	for _, name := range []string{"curl", "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			missing(t, name)
		}
	}
	program, err := shared.binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(root, script), "demo")
	cmd.Env = append(append(os.Environ(), "SLUICE="+program), env...)
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends what it has started
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "All went as it should.\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// freePort returns a port at which nobody listens now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
