package faults

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/e2e/process"
	"sluice/internal/base/testnet"
)

// memoryLimit is what the process has in P7, also for its page cache.
const memoryLimit = 96 << 20

// With little memory a gateway refuses before the kernel ends it with all of its streams.
func TestP7Memory(t *testing.T) {
	api := newCrowdModel(t)
	env := api.env("SLUICE_ADMIN_ADDR", "127.0.0.1:0")
	cmd := exec.Command(process.Program(t))
	group, err := memoryGroup(t)
	if err == nil {
		cmd = exec.Command("/bin/sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$1"`, group, process.Program(t))
	} else {
		t.Logf("by GOMEMLIMIT, as there is no cgroup to be had: %v", err)
		env["GOMEMLIMIT"] = fmt.Sprint(memoryLimit)
	}
	g := process.Launch(t, cmd, env)
	var room int
	if _, err := fmt.Sscan(g.Await("limits_lowered").Detail("max_streams"), &room); err != nil || room < 100 || room > 2000 {
		t.Fatalf("%d streams fit into 96 MiB: %v", room, err)
	}
	g.Addr, g.Admin = g.Await("listening").Detail("addr"), g.Await("admin_listening").Detail("addr")

	// Twice as many as there is room for, each with as much of an answer as one may have open.
	a := gather(t, g.Addr, 2*room, func(int) string { return "quick" })
	begun, refused := 0, map[string]int{}
	for range 2 * room {
		if word := receive(t, "the begin of a stream", a.began); word == "" {
			begun++
		} else {
			refused[word]++
		}
	}
	if begun != room || refused["503 overloaded"] != room {
		t.Errorf("of %d turns %d began, and %v; there is room for %d", 2*room, begun, refused, room)
	}
	if status, _ := get(t, g.Addr, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz while it is full: %d", status)
	}
	if rss := figure(t, g, "process_resident_memory_bytes"); rss > memoryLimit {
		t.Errorf("it has %d MiB, of %d", int(rss)>>20, memoryLimit>>20)
	}
	close(api.let)
	if got := a.count(2*room, nil); got["stop"] != room {
		t.Errorf("the streams ended with %v", got)
	}
	wantTurn(t, g.Addr, "hi", "stop")
}

// memoryGroup makes a cgroup of the test's own with the limit, of either version. It is removed
// after the gateway has ended.
func memoryGroup(t testing.TB) (string, error) {
	root, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		root, file = "/sys/fs/cgroup", "memory.max"
	}
	group := filepath.Join(root, fmt.Sprintf("sluice-faults-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o700); err != nil {
		return "", err
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	return group, os.WriteFile(filepath.Join(group, file), fmt.Append(nil, memoryLimit), 0)
}

// With 60 descriptors turns run or are refused, operators get their answers, and when there is room
// again the next turn runs.
func TestP8Descriptors(t *testing.T) {
	const limit, turns = 60, 200
	api := newCrowdModel(t)
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0"`, limit), process.Program(t))
	g := process.Launch(t, cmd, api.env("SLUICE_LOG_LEVEL", "debug"))
	g.Addr = g.Await("listening").Detail("addr")
	if sum := g.Await("limits_lowered").Detail("sum"); !strings.HasPrefix(sum, "60 descriptors: ") {
		t.Errorf("the log says %q", sum)
	}
	wantTurn(t, g.Addr, "hi", "stop")

	a := gather(t, g.Addr, turns, func(int) string { return "quick" })
	begun, refused := 0, map[string]int{}
	for range turns {
		if word := receive(t, "the begin of a stream", a.began); word == "" {
			begun++
		} else {
			refused[word]++
		}
	}
	if begun < 5 || refused["503 overloaded"] != turns-begun {
		t.Errorf("of %d turns %d began, and %v; each is to run or to be refused", turns, begun, refused)
	}
	// Idle connections on top: as many as there are descriptors.
	for range limit {
		if c, err := net.Dial("tcp", g.Addr); err == nil {
			t.Cleanup(func() { _ = c.Close() })
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if status, body := get(t, g.Addr, path); status != http.StatusOK {
			t.Errorf("%s while it is full: %d %s", path, status, body)
		}
	}
	if o := talk(t.Context(), g.Addr, "hi", nil); o.says() != "503 overloaded" || o.header.Get("Retry-After") == "" {
		t.Errorf("one more turn: %s, %v", o.says(), o.header)
	}
	if _, r := readiness(t, g.Addr); len(r.Breakers) == 0 || r.Breakers[0].State != "closed" {
		t.Errorf("its own shortage counts for the model: %+v", r.Breakers)
	}
	close(api.let)
	began := time.Now()
	if got := a.count(turns, nil); got["stop"] != begun {
		t.Errorf("the streams ended with %v, want %d that ended well", got, begun)
	}
	testnet.Eventually(t, "a turn runs again", func() bool { o := talk(t.Context(), g.Addr, "hi", nil); return o.says() == "stop" })
	testnet.Prompt(t, "the first turn after it", time.Since(began), time.Second)
	for _, line := range g.Logged("http_server") {
		if strings.Contains(line.Raw, "Accept error") {
			t.Errorf("it could not accept: %s", line.Raw)
		}
	}
}

// The disk that has the log and the store is full: turns go on, the log waits for room, and the
// store is used again when there is some.
func TestP15DiskFull(t *testing.T) {
	api := newCrowdModel(t)
	disk := t.TempDir()
	// The file system is seen in the gateway's own name space only, and goes with it.
	flags := []string{"--mount"}
	if os.Getuid() != 0 {
		flags = append(flags, "--user", "--map-root-user")
	}
	script := `mount -t tmpfs -o size=2m tmpfs "$0" && exec "$1" > "$0/log"`
	cmd := exec.Command(process.Tool(t, "unshare"), append(flags, "/bin/sh", "-c", script, disk, process.Program(t))...)
	addr := freeAddr(t)
	g := process.Launch(t, cmd, api.env("SLUICE_ADDR", addr, "SLUICE_STORE", "sqlite:"+disk+"/state.db", "SLUICE_TODO_DB", disk+"/todo.db", "SLUICE_LOG_LEVEL", "debug"))
	testnet.Eventually(t, "the gateway listens", func() bool {
		select {
		case <-g.Ended():
			if s := g.Stderr(); strings.Contains(s, "unshare") || strings.Contains(s, "mount") {
				g.Wait()
				t.Skipf("no file system of its own: %s", s)
			}
			t.Fatalf("it has ended: %s", g.Stderr())
		default:
		}
		status, _ := get(t, addr, "/healthz")
		return status == http.StatusOK
	})
	g.Addr = addr
	wantTurn(t, addr, "hi", "stop")

	inside := fmt.Sprintf("/proc/%d/root%s", g.PID(), disk)
	filler := filepath.Join(inside, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	long := "hi " + strings.Repeat("x", 4000) // the store has no room for it
	for i := range 200 {
		if o := talk(t.Context(), addr, long, nil); o.says() != "stop" {
			t.Fatalf("turn %d on a full disk: %s", i, o.says())
		}
	}
	if status, r := readiness(t, addr); status != http.StatusOK || r.Status != "degraded" {
		t.Errorf("/readyz on a full disk: %d %s", status, r.Status)
	}
	if status, _ := get(t, addr, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz on a full disk: %d", status)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	completed := func() int {
		text, err := os.ReadFile(filepath.Join(inside, "log"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Count(string(text), `"request_completed"`)
	}
	testnet.Eventually(t, "the log has what waited for room", func() bool { return completed() == 201 })
	testnet.Eventually(t, "the store is used again", func() bool {
		wantTurn(t, addr, long, "stop") // as large as what was refused
		time.Sleep(100 * time.Millisecond)
		_, r := readiness(t, addr)
		return r.Status == "ok"
	})
}
