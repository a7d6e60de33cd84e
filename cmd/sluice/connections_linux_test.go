package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/base/testnet"
)

// limited is the program as a process of its own, with a limit of descriptors.
type limited struct {
	*gatewaytest.Running
	pid    int
	addr   string
	stdout *gatewaytest.SafeBuffer
}

func startLimited(t *testing.T, descriptors int, env ...string) *limited {
	t.Helper()
	if testing.Short() {
		t.Skip("opens thousands of connections")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &limited{Running: gatewaytest.NewRunning(t), stdout: new(gatewaytest.SafeBuffer)}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `ulimit -n "$0" && exec "$1"`, strconv.Itoa(descriptors), path)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = append(os.Environ(), gatewaytest.ChildVariable+"=sluice", "GORACE="+gatewaytest.NoExitSleep, "SLUICE_TODO_DB=:memory:")
	for name, value := range gatewaytest.WithDefaults(t, gatewaytest.With(nil, env...)) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdout, cmd.Stderr = p.stdout, p.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait() // the context's end has sent the signal: a second one would mean "now"
		if code := cmd.ProcessState.ExitCode(); code != exitOK {
			t.Errorf("exit code %d; stderr:\n%s", code, p.Stderr)
		}
	})
	p.addr, p.pid = p.stdout.Await(t, childURL)[1], cmd.Process.Pid
	p.Base = "http://" + p.addr
	return p
}

// dial opens connections, each of which sends text.
func (p *limited) dial(n int, text string) []net.Conn {
	p.T.Helper()
	conns := make([]net.Conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			p.T.Fatalf("connection %d: %v", i, err)
		}
		p.T.Cleanup(func() { _ = c.Close() })
		conns[i] = c
		_, _ = io.WriteString(c, text)
	}
	return conns
}

// descriptors counts those that the process has open.
func (p *limited) descriptors() int {
	p.T.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid))
	if err != nil {
		p.T.Fatal(err)
	}
	return len(open)
}

// wantServed checks that health is reported and turns run.
func (p *limited) wantServed() {
	p.T.Helper()
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if resp, _ := p.Get(path); resp.StatusCode != http.StatusOK {
			p.T.Errorf("%s: status %d", path, resp.StatusCode)
		}
	}
	frames := p.Ask("Add a todo to buy eggs")
	if last := frames[len(frames)-1]; last.Data["finish_reason"] != "stop" {
		p.T.Errorf("the turn ended with %v", last.Data)
	}
}

// neverSent are requests whose body does not come.
func neverSent() []string {
	return []string{
		"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{",
		"POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"POST /chat/str",
		"",
	}
}

// grace is how long a connection may wait for bytes before it makes room for another one.
const grace = 250 * time.Millisecond

// Clients that send nothing cannot keep others from being served, even if they hold
// more connections than there are descriptors.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ descriptors, conns int }{{64, 200}, {1024, 1500}} {
		t.Run(fmt.Sprint(tt.descriptors), func(t *testing.T) {
			t.Parallel()
			p := startLimited(t, tt.descriptors)
			p.stdout.Await(t, regexp.MustCompile(`"limits_lowered"`))
			p.wantServed()
			for _, text := range neverSent() {
				p.dial(tt.conns/len(neverSent()), text)
			}
			time.Sleep(2 * grace) // one that has waited for less keeps its place
			p.wantServed()
			if n := p.descriptors(); n > tt.descriptors {
				t.Errorf("%d descriptors are open", n)
			}
		})
	}
}

// Where there is room for all of them, they are gone when their time is over.
func TestIdleConnectionsAreClosedInTime(t *testing.T) {
	t.Parallel()
	const conns, descriptors = 9000, 20000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < conns+1000 || limit.Max < descriptors {
		t.Skipf("needs %d file descriptors here and %d there", conns+1000, descriptors)
	}
	p := startLimited(t, descriptors)
	before := p.descriptors()
	var wg sync.WaitGroup
	for _, text := range neverSent()[:4] {
		wg.Go(func() { p.dial(conns/4, text) })
	}
	wg.Wait()
	p.wantServed()
	// The deadlines come to 15 s (OPTIONS *).
	testnet.Eventually(t, fmt.Sprintf("the descriptors are closed again, but %d", before+20), func() bool { return p.descriptors() <= before+20 })
	p.wantServed()
}

// Bodies that are being read take a bounded amount of memory, however many they are.
func TestHalfSentBodiesAreBounded(t *testing.T) {
	t.Parallel()
	p := startLimited(t, 20000, "SLUICE_MAX_STREAMS", "10")
	head := "POST /chat/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 131072\r\n\r\n"
	half := head + strings.Repeat(" ", 131009)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { p.dial(500, half) })
	}
	wg.Wait()
	p.wantServed()
	peak := p.peak()
	t.Logf("peak of the resident memory: %d MiB", peak>>20)
	// Without the bound it is 768 MiB.
	if limit := 200 << 20; !raceEnabled && peak > limit {
		t.Errorf("%d MiB resident at the peak, want at most %d", peak>>20, limit>>20)
	}
}

// peak returns the most memory that was resident, in bytes.
func (p *limited) peak() int {
	p.T.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		p.T.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	kib, err := strconv.Atoi(strings.Fields(string(rest))[0])
	if err != nil {
		p.T.Fatal(err)
	}
	return kib << 10
}
