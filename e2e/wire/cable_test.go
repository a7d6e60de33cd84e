package wire

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/e2e/process"
)

// network is a client's own, at the other end of a cable.
type network struct {
	name       string
	ours, host string // our end of the cable, and its address
}

// lay lays a cable into a network namespace, or skips the test where that is not allowed.
func lay(t *testing.T) network {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can lay cables")
	}
	ip := process.Tool(t, "ip")
	id := os.Getpid()%250 + 2
	n := network{name: fmt.Sprintf("slwire%d", id), ours: fmt.Sprintf("slw%d", id), host: fmt.Sprintf("10.213.%d.1", id)}
	if out, err := exec.CommandContext(t.Context(), ip, "netns", "add", n.name).CombinedOutput(); err != nil {
		t.Skipf("no network namespaces here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command(ip, "netns", "del", n.name).Run() }) // the cable goes with it
	for _, args := range []string{
		"link add " + n.ours + " type veth peer name far netns " + n.name,
		"addr add " + n.host + "/30 dev " + n.ours,
		"link set " + n.ours + " up",
		"-n " + n.name + " addr add " + strings.TrimSuffix(n.host, "1") + "2/30 dev far",
		"-n " + n.name + " link set far up",
	} {
		if out, err := exec.CommandContext(t.Context(), ip, strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("ip %s: %s", args, out)
		}
	}
	return n
}

// pull pulls the cable: from now on neither end gets a packet from the other.
func (n network) pull(t *testing.T) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), process.Tool(t, "ip"), "-n", n.name, "link", "set", "far", "down").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// A client whose cable was pulled says nothing, not even that it leaves. Its streams end within
// 45 s all the same, over HTTP/1.1 and HTTP/2 (row C5).
func TestC5PulledCable(t *testing.T) {
	t.Parallel()
	curl := process.Tool(t, "curl")
	n := lay(t)
	g, _ := startSealed(t, map[string]string{"SLUICE_ADDR": n.host + ":0"})
	const each = 10
	var clients []*exec.Cmd
	for i := range 2 * each {
		version := []string{"--http1.1", "--http2"}[i%2]
		c := exec.Command(process.Tool(t, "ip"), "netns", "exec", n.name, curl, "-sNk", version, "https://"+g.Addr+"/diag/sse?ticks=50&interval_ms=2000")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
		if _, err := io.ReadFull(out, make([]byte, 10)); err != nil {
			t.Fatalf("a stream: %v", err)
		}
		go func() { _, _ = io.Copy(io.Discard, out) }()
	}
	t.Cleanup(func() {
		for _, c := range clients {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	if got := g.open(t); got != 2*each {
		t.Fatalf("%d connections are open, want %d", got, 2*each)
	}
	n.pull(t)
	for pulled := time.Now(); g.open(t) > 0; time.Sleep(time.Second) {
		if time.Since(pulled) > 50*time.Second { // 45, and what a busy machine takes
			t.Fatalf("%d connections are still open", g.open(t))
		}
	}
}

// open returns how many connections are open besides the one that asks.
func (g *gateway) open(t *testing.T) int {
	t.Helper()
	client := g.client(t, false)
	client.Transport.(*http.Transport).DisableKeepAlives = true
	resp, err := client.Get("https://" + g.Addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	_, after, _ := strings.Cut(string(text), "\nsluice_connections_open ")
	number, _, _ := strings.Cut(after, "\n")
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	return n - 1
}
