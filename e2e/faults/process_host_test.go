//go:build unix

package faults

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/process"
	"sluice/internal/base/testnet"
)

// A model answers with what panics in careless readers (row G25), which read in a goroutine of their own: those
// turns fail alone. 20 others run meanwhile, and none of them notices it. A panic itself cannot be made from outside:
// internal/engine/agent/tools_test.go and internal/model/gemini/sdk_test.go make theirs.
func TestP11PanicInAWorker(t *testing.T) {
	const n, odd = 20, 5
	for _, driver := range []string{"rest", "sdk"} {
		t.Run(driver, func(t *testing.T) {
			api := newCrowdModel(t)
			g := process.Start(t, api.env("GEMINI_DRIVER", driver, "SLUICE_GEMINI_BREAKER", "1000,1s,1"))
			a := gather(t, g.Addr, n, func(int) string { return "quick" })
			a.allBegun(n)
			for range odd {
				wantTurn(t, g.Addr, "odd", "error model_unavailable")
			}
			close(api.let)
			if got := a.count(n, nil); got["stop"] != n {
				t.Errorf("of %d other turns: %v", n, got)
			}
			wantTurn(t, g.Addr, "hi", "stop")
			if strings.Contains(g.Log(), "private words") {
				t.Error("the log holds what the model has said")
			}
		})
	}
}

// The process stands still for a while, as a machine does that is moved. Its streams go on behind
// a pause that is shorter than their times, and end once by their time behind a longer one. No
// call is made again. A pause is no write that takes long, however short the time of one is.
func TestP13Pause(t *testing.T) {
	const n = 50
	for name, patient := range map[string]bool{"shorter than the times": true, "longer than the times": false} {
		t.Run(name, func(t *testing.T) {
			api := newCrowdModel(t)
			// No heartbeat is being written when the pause begins.
			env, input, want := api.env("SLUICE_WRITE_TIMEOUT", "3s", "SLUICE_HEARTBEAT", "1h"), "quick", "stop"
			if !patient {
				env, input, want = with(env, "SLUICE_MODEL_TIMEOUT", "3s", "SLUICE_GEMINI_BREAKER", "1000,1s,1"), "hold", "timeout timeout"
			}
			g := process.Start(t, env)
			a := gather(t, g.Addr, n, func(int) string { return input })
			a.allBegun(n)
			mute, asked := 0, n
			if !patient { // these have not begun yet: a call of theirs could be made again
				mute, asked = 20, n+20
			}
			b := gather(t, g.Addr, mute, func(int) string { return "mute" })
			testnet.Eventually(t, "all calls", func() bool { return len(api.asked) == asked })
			g.Signal(syscall.SIGSTOP)
			time.Sleep(4 * time.Second)
			close(api.let) // what the model says to "quick" waits in the kernel
			g.Signal(syscall.SIGCONT)
			if got := a.count(n, nil); got[want] != n {
				t.Errorf("of %d streams: %v, want %q", n, got, want)
			}
			if got := b.count(mute, nil); got[want] != mute {
				t.Errorf("of %d streams that had not begun: %v, want %q", mute, got, want)
			}
			wantTurn(t, g.Addr, "hi", "stop")
			if calls := len(api.asked); calls != asked+1 {
				t.Errorf("%d calls of the model for %d turns", calls, asked+1)
			}
		})
	}
}

// Other work has the CPU: the gateway has a fiftieth of it, and still says that it lives, to its
// clients too. All places for streams are taken meanwhile.
func TestP14StarvedOfCPU(t *testing.T) {
	const beat, late, rounds = 500 * time.Millisecond, 5 * time.Second, 8
	api := newCrowdModel(t)
	nice := process.Tool(t, "nice")
	g := process.Launch(t, exec.Command(nice, "-n", "10", process.Program(t)), api.env("SLUICE_HEARTBEAT", beat.String(), "SLUICE_MAX_STREAMS", "10"))
	g.Addr = g.Await("listening").Detail("addr")
	a := gather(t, g.Addr, 10, func(int) string { return "quick" })
	a.allBegun(10)
	stop := occupy(t, 2*runtime.NumCPU())
	for range rounds {
		began := time.Now()
		status, _ := get(t, g.Addr, "/healthz")
		if status != http.StatusOK {
			t.Errorf("/healthz: %d", status)
		}
		testnet.Prompt(t, "/healthz", time.Since(began), late)
		time.Sleep(beat)
	}
	stop()
	close(api.let)
	got := a.count(10, func(o *outcome) {
		if len(o.beats) < 2 {
			t.Errorf("%d heartbeats in %v of silence", len(o.beats), rounds*beat)
		}
		for _, gap := range o.beats {
			testnet.Prompt(t, "the time between two heartbeats", gap, beat+late)
		}
	})
	if got["stop"] != 10 {
		t.Errorf("the streams ended with %v", got)
	}
}

// occupy starts n processes that want all of the CPU, until stop or the end of the test.
func occupy(t testing.TB, n int) (stop func()) {
	var busy []*exec.Cmd
	stop = sync.OnceFunc(func() {
		for _, cmd := range busy {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	t.Cleanup(stop)
	for range n {
		cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		busy = append(busy, cmd)
	}
	return stop
}

// Nobody reads the log: turns go on, what waits has a bound, and the reader that comes back reads
// how many lines it has missed.
func TestP15LogIsNotRead(t *testing.T) {
	api := newCrowdModel(t)
	addr := freeAddr(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(process.Program(t))
	for name, value := range api.env("SLUICE_ADDR", addr, "SLUICE_TODO_DB", ":memory:", "SLUICE_ADMISSION", "count", "SLUICE_LOG_LEVEL", "debug", "HOME", t.TempDir()) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdout = in
	err = cmd.Start()
	_ = in.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	testnet.Eventually(t, "the gateway listens", func() bool { status, _ := get(t, addr, "/healthz"); return status == http.StatusOK })

	// Each turn leaves a few lines of some 200 bytes: more than the 4 MiB that wait.
	const turns, clients = 6000, 8
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range turns / clients {
				if o := talk(t.Context(), addr, "hi", nil); o.says() != "stop" {
					t.Errorf("a turn without a reader of the log: %s", o.says())
					return
				}
			}
		})
	}
	all.Wait()
	read := make(chan string, 1)
	go func() { // ends with the process, which closes the pipe
		text, _ := io.ReadAll(out)
		read <- string(text)
	}()
	testnet.SleepAtLeast(200 * time.Millisecond)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	text := receive(t, "the end of the log", read)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the gateway ended with %v", err)
	}
	var count int
	if i := strings.Index(text, `"event":"log_lines_dropped"`); i < 0 {
		t.Fatalf("no line says that some are missing, in %d bytes", len(text))
	} else if _, err := fmt.Sscanf(text[i:], `"event":"log_lines_dropped","details":{"count":%d}`, &count); err != nil {
		t.Fatal(err)
	}
	// Each turn has logged the same number of lines.
	whole := strings.Count(text, `"request_received"`)
	if whole < 100 || whole >= turns || count < turns-whole || count > 20*turns {
		t.Errorf("%d turns of %d begin in the log, and %d lines are reported as missing", whole, turns, count)
	}
	if !strings.Contains(text, `"event":"stopped"`) {
		t.Error("the log has no end")
	}
}

// A gateway that cannot run as it is configured says which setting is at fault, not what stood
// there if that is a secret, and ends.
func TestP16BadConfiguration(t *testing.T) {
	const canary = "canary-0123456789-secret"
	file := t.TempDir() + "/sluice.yaml"
	config := "models: {default: {provider: openai, model: gpt, endpoint: 'http://127.0.0.1:1', api_key: '${NO_SUCH_KEY}', retry: " + canary + "}}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		env  map[string]string
		says []string
	}{
		"a number that is none":    {map[string]string{"SLUICE_MAX_STREAMS": "many"}, []string{"SLUICE_MAX_STREAMS"}},
		"two faults at once":       {map[string]string{"SLUICE_REQUEST_TIMEOUT": "never", "SLUICE_LOG_LEVEL": "loud"}, []string{"SLUICE_REQUEST_TIMEOUT", "SLUICE_LOG_LEVEL"}},
		"a key that cannot be one": {map[string]string{"GEMINI_API_KEY": canary + "\x01"}, []string{"GEMINI_API_KEY"}},
		"an address with a secret": {map[string]string{"SLUICE_STORE": "redis://:" + canary + "@127.0.0.1:port"}, []string{"SLUICE_STORE"}},
		"a missing key":            {map[string]string{"SLUICE_CONFIG": file}, []string{"NO_SUCH_KEY", "models"}},
		"nobody can be let in":     {map[string]string{"SLUICE_AUTH": "required"}, []string{"SLUICE_AUTH"}},
		"a file that is not there": {map[string]string{"SLUICE_TLS_CERT": "/nowhere/cert.pem", "SLUICE_TLS_KEY": "/nowhere/key.pem"}, []string{"SLUICE_TLS_CERT"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, text, elapsed := tryStart(t, row.env)
			if code != 2 {
				t.Errorf("exit code %d, want 2:\n%s", code, text)
			}
			testnet.Prompt(t, "the end", elapsed, time.Second)
			for _, want := range row.says {
				if !strings.Contains(text, want) {
					t.Errorf("%s is not named:\n%s", want, text)
				}
			}
			if strings.Contains(text, "canary") {
				t.Errorf("a secret is said:\n%s", text)
			}
		})
	}
}

// tryStart starts a gateway that must end by itself.
func tryStart(t testing.TB, env map[string]string) (code int, text string, elapsed time.Duration) {
	t.Helper()
	all := map[string]string{"SLUICE_ADDR": "127.0.0.1:0", "SLUICE_TODO_DB": ":memory:", "HOME": t.TempDir()}
	maps.Copy(all, env)
	cmd := exec.Command(process.Program(t))
	for name, value := range all {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &says, &says
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(process.Patience, func() { _ = cmd.Process.Kill() }).Stop()
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), says.String(), time.Since(began)
}

// A second gateway at the same address ends and says why; the first one does not notice.
func TestP17PortInUse(t *testing.T) {
	g := process.Start(t, map[string]string{"SLUICE_ADMIN_ADDR": "127.0.0.1:0"})
	for name, env := range map[string]map[string]string{
		"the address":               {"SLUICE_ADDR": g.Addr},
		"the address for operators": {"SLUICE_ADMIN_ADDR": g.Admin},
	} {
		code, text, elapsed := tryStart(t, env)
		taken := g.Addr
		if env["SLUICE_ADMIN_ADDR"] != "" {
			taken = g.Admin
		}
		if code != 1 || !strings.Contains(text, taken) || !strings.Contains(text, "address already in use") {
			t.Errorf("%s: exit code %d:\n%s", name, code, text)
		}
		testnet.Prompt(t, name+": the end", elapsed, time.Second)
	}
	if status, _ := get(t, g.Addr, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz of the first gateway: %d", status)
	}
}

// Nothing is left of 30,000 streams, a tenth of which is broken off by its client.
func TestP18NothingIsLeft(t *testing.T) {
	const streams, clients = 30_000, 50
	api, addr, admin := newCrowdModel(t), freeAddr(t), freeAddr(t)
	g := process.Launch(t, exec.Command(process.Program(t)), api.env("SLUICE_ADDR", addr, "SLUICE_ADMIN_ADDR", admin, "SLUICE_LOG_LEVEL", "warning"))
	g.Addr, g.Admin = addr, admin
	testnet.Eventually(t, "the gateway listens", func() bool { status, _ := get(t, addr, "/healthz"); return status == http.StatusOK })

	run := func(n int) {
		var all sync.WaitGroup
		for c := range clients {
			all.Go(func() { serial(t, addr, n/clients, c) })
		}
		all.Wait()
		api.close() // what the gateway keeps open to the model is not a stream's
	}
	run(1000) // what is made once is made
	var goroutines, files float64
	least := func() bool { // until they fall no more
		g0, f0 := goroutines, files
		goroutines, files = figure(t, g, "go_goroutines"), figure(t, g, "process_open_fds")
		time.Sleep(100 * time.Millisecond)
		return g0 == goroutines && f0 == files && figure(t, g, "sluice_streams_active") == 0
	}
	testnet.Eventually(t, "rest before", least)
	goroutinesBefore, filesBefore, done := goroutines, files, figure(t, g, `sluice_streams_total{finish_reason="stop"}`)
	run(streams)
	began := time.Now()
	testnet.Eventually(t, fmt.Sprintf("%v goroutines and %v descriptors, as before", goroutinesBefore, filesBefore), func() bool {
		_ = least()
		return goroutines <= goroutinesBefore+2 && files <= filesBefore+2 && figure(t, g, "sluice_streams_active") == 0
	})
	testnet.Prompt(t, "the rest of the streams", time.Since(began), 5*time.Second)
	if got := figure(t, g, `sluice_streams_total{finish_reason="stop"}`) - done; got != streams*9/10 {
		t.Errorf("%v streams have ended well, want %d", got, streams*9/10)
	}
}

// serial runs n turns one after the other, nine over the same connection and then one that is
// broken off over its own. c is the number of the client.
func serial(t testing.TB, addr string, n, c int) {
	var conn net.Conn
	for i := range n {
		if (c+i)%10 == 0 {
			leave(t, addr)
			continue
		}
		var err error
		if conn == nil {
			if conn, err = net.Dial("tcp", addr); err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
		}
		if o := talkOn(conn, "hi", nil); o.says() != "stop" {
			t.Errorf("a turn ended with %s", o.says())
			return
		}
	}
}

// freeAddr is an address that nobody listens on.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
