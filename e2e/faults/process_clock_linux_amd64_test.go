package faults

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/process"
	"sluice/internal/base/testnet"
)

// The wall clock of the gateway jumps by an hour, forward and back, while the monotonic clock
// goes on: times, breakers and heartbeats do not notice, and tokens hold by the clock as it is,
// with a leeway of a minute.
func TestP12WallClockJumps(t *testing.T) {
	for name, row := range map[string]struct {
		jump time.Duration
		long bool // times are longer than the test, and shorter than the jump; else they are short
	}{
		"forward": {time.Hour, true},
		"back":    {-time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) { clockJumps(t, row.jump, row.long) })
	}
}

func clockJumps(t *testing.T, jump time.Duration, long bool) {
	const beat, late = 300 * time.Millisecond, 5 * time.Second
	secret := strings.Repeat("0123456789abcdef", 4)
	dir := t.TempDir()
	config := filepath.Join(dir, "sluice.yaml")
	for path, text := range map[string]string{
		filepath.Join(dir, "secret"): secret,
		config:                       "auth: {jwt: [{issuer: test, audiences: [sluice], secret_file: '" + filepath.Join(dir, "secret") + "', scopes: [ops]}], anonymous: {scopes: [chat]}}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	limit := "30m"
	if !long {
		limit = "3s"
	}
	api := newCrowdModel(t)
	g, turnClock := startTraced(t, with(api.env(), "SLUICE_CONFIG", config, "SLUICE_HEARTBEAT", beat.String(),
		"SLUICE_MODEL_TIMEOUT", limit, "SLUICE_REQUEST_TIMEOUT", "40m", "SLUICE_GEMINI_BREAKER", "1,"+limit+",1"))
	now := time.Now()
	token := func(at time.Duration) string { return signedToken(secret, now.Add(at)) }
	wantMe(t, g, "a token before the jump", token(20*time.Minute), http.StatusOK)

	held, quick := gather(t, g.Addr, 1, func(int) string { return "hold" }), gather(t, g.Addr, 1, func(int) string { return "quick" })
	held.allBegun(1)
	quick.allBegun(1)
	wantTurn(t, g.Addr, "broken", "error model_unavailable") // opens the breaker
	lasting := token(3 * time.Hour)
	wantReady(t, g, lasting, "open", 2)
	turnClock(jump)
	wantMe(t, g, "a token of the former time", token(20*time.Minute), map[bool]int{true: http.StatusUnauthorized, false: http.StatusOK}[long])
	wantMe(t, g, "a token within the leeway", token(jump-30*time.Second), http.StatusOK)
	wantMe(t, g, "a token beyond the leeway", token(jump-2*time.Minute), http.StatusUnauthorized)
	stamp, err := time.Parse(time.RFC3339, lastStamp(g))
	if err != nil || stamp.Sub(time.Now().Add(jump)).Abs() > 10*time.Minute {
		t.Fatalf("the clock has not jumped: the log says %v, %v", stamp, err)
	}

	if long {
		testnet.SleepAtLeast(time.Second) // a time by the wall clock is over now
		wantReady(t, g, lasting, "open", 2)
		wantTurn(t, g.Addr, "hi", "error model_unavailable")
		close(api.let)
		wantEnd(t, quick, "stop", beat+late)
		return
	}
	// A time by the wall clock would be over in an hour.
	wantEnd(t, held, "timeout timeout", beat+late)
	close(api.let)
	receive(t, "the other stream's end", quick.over)
	testnet.Eventually(t, "the breaker lets a call through", func() bool { o := talk(t.Context(), g.Addr, "hi", nil); return o.says() == "stop" })
}

// wantEnd checks how the one stream of a ends, and the silence between its heartbeats.
func wantEnd(t testing.TB, a *audience, want string, most time.Duration) {
	t.Helper()
	o := receive(t, "the end of a stream", a.over)
	if got := o.says(); got != want {
		t.Errorf("a stream ended with %q, want %q", got, want)
	}
	if len(o.beats) < 2 {
		t.Errorf("%d heartbeats", len(o.beats))
	}
	for _, gap := range o.beats {
		testnet.Prompt(t, "the time between two heartbeats", gap, most)
	}
}

// wantReady checks the model's breaker and the number of streams, as somebody sees them who may.
func wantReady(t testing.TB, g *process.Gateway, token, breaker string, streams int) {
	t.Helper()
	status, body := getAs(t, g, "/readyz", token)
	var r ready
	if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Breakers) == 0 || r.Breakers[0].State != breaker || r.Streams != streams {
		t.Errorf("/readyz: %d %s, want %d streams and the breaker %s", status, body, streams, breaker)
	}
}

// wantMe asks who the bearer of a token is.
func wantMe(t testing.TB, g *process.Gateway, what, token string, want int) {
	t.Helper()
	if status, body := getAs(t, g, "/me", token); status != want {
		t.Errorf("%s: %d %s, want %d", what, status, body, want)
	}
}

// getAs returns status and body of a page, for the bearer of a token.
func getAs(t testing.TB, g *process.Gateway, path, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.Addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := plainClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// signedToken is a JSON Web Token that ends then.
func signedToken(secret string, end time.Time) string {
	text := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	signed := text(`{"alg":"HS256","typ":"JWT"}`) + "." + text(fmt.Sprintf(`{"iss":"test","aud":"sluice","sub":"ann","exp":%d}`, end.Unix()))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// lastStamp is the time of the last line of the log.
func lastStamp(g *process.Gateway) string {
	lines := g.Logged("")
	_, stamp, _ := strings.Cut(lines[len(lines)-1].Raw, `"timestamp":"`)
	stamp, _, _ = strings.Cut(stamp, `"`)
	return stamp
}

// tracedVariable names the program that this process runs with a clock of its own.
const tracedVariable = "FAULTS_TRACED"

// init makes the test's program a tracer, if it is to be one, before anything else of it runs.
func init() {
	if path := os.Getenv(tracedVariable); path != "" {
		os.Exit(runTraced(path))
	}
}

// startTraced starts a gateway whose wall clock turn changes. The machine's clock stays.
func startTraced(t testing.TB, env map[string]string) (g *process.Gateway, turn func(time.Duration)) {
	t.Helper()
	program := process.Program(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	g = process.Launch(t, cmd, with(env, tracedVariable, program))
	g.Addr = g.Await("listening").Detail("addr")
	return g, func(d time.Duration) {
		if _, err := fmt.Fprintln(in, int64(d/time.Second)); err != nil {
			t.Fatal(err)
		}
		testnet.Eventually(t, "the clock has jumped", func() bool {
			get(t, g.Addr, "/no-such-page") // leaves a line
			stamp, err := time.Parse(time.RFC3339, lastStamp(g))
			return err == nil && time.Since(stamp).Abs() > 30*time.Minute
		})
	}
}

const (
	traceSysgood, traceClone, traceExitKill = 0x1, 0x8, 0x100000 // of ptrace(2)
	waitAll                                 = 0x40000000         // __WALL
	vdsoHeader                              = 33                 // AT_SYSINFO_EHDR of getauxval(3)
)

// runTraced runs a program under ptrace, without the functions that the kernel maps into it, so
// that it asks for the time by system calls, whose answers are changed by as many seconds as stdin
// says. It returns the exit code.
func runTraced(path string) int {
	runtime.LockOSThread() // all requests of a tracer come from one thread
	var ahead atomic.Int64
	go func() { // ends with the process
		in := bufio.NewReader(os.Stdin)
		for {
			var seconds int64
			if _, err := fmt.Fscanln(in, &seconds); err != nil {
				return
			}
			ahead.Store(seconds)
		}
	}()
	cmd := exec.Command(path)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, tracedVariable+"=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	pid := cmd.Process.Pid
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM)
	go func() { // ends with the process
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	hideVDSO(pid)
	if err := syscall.PtraceSetOptions(pid, traceSysgood|traceClone|traceExitKill); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	_ = syscall.PtraceSyscall(pid, 0)
	return follow(pid, &ahead)
}

// follow lets the threads of a process run from one system call to the next until it ends.
func follow(pid int, ahead *atomic.Int64) int {
	within := map[int]bool{} // threads in a system call; those that are known
	for {
		var status syscall.WaitStatus
		thread, err := syscall.Wait4(-1, &status, waitAll, nil)
		if err != nil {
			return 125
		}
		if status.Exited() || status.Signaled() {
			if thread == pid {
				return status.ExitStatus()
			}
			continue
		}
		deliver := 0
		inside, known := within[thread]
		within[thread] = inside
		switch s := status.StopSignal(); {
		case s == syscall.SIGTRAP|0x80:
			within[thread] = !inside
			if inside {
				shift(thread, ahead.Load())
			}
		case s == syscall.SIGTRAP: // a new thread was made
		case s == syscall.SIGSTOP && !known: // its begin
		default:
			deliver = int(s)
		}
		_ = syscall.PtraceSyscall(thread, deliver)
	}
}

// shift changes the answer of the system call that ends if it asked for the wall clock.
func shift(thread int, seconds int64) {
	var regs syscall.PtraceRegs
	if seconds == 0 || syscall.PtraceGetRegs(thread, &regs) != nil || regs.Orig_rax != syscall.SYS_CLOCK_GETTIME || regs.Rdi != 0 {
		return
	}
	word := make([]byte, 8)
	if _, err := syscall.PtracePeekData(thread, uintptr(regs.Rsi), word); err == nil {
		binary.LittleEndian.PutUint64(word, binary.LittleEndian.Uint64(word)+uint64(seconds))
		_, _ = syscall.PtracePokeData(thread, uintptr(regs.Rsi), word)
	}
}

// hideVDSO takes from a process that is about to begin what says where the kernel's functions
// are, in the vector behind its arguments and environment.
func hideVDSO(pid int) {
	var regs syscall.PtraceRegs
	if syscall.PtraceGetRegs(pid, &regs) != nil {
		return
	}
	word := make([]byte, 8)
	read := func(at uint64) uint64 {
		_, _ = syscall.PtracePeekData(pid, uintptr(at), word)
		return binary.LittleEndian.Uint64(word)
	}
	at := regs.Rsp + 8*(read(regs.Rsp)+2) // behind argc, argv and its end
	for read(at) != 0 {
		at += 8
	}
	for at += 8; read(at) != 0; at += 16 {
		if binary.LittleEndian.Uint64(word) == vdsoHeader {
			_, _ = syscall.PtracePokeData(pid, uintptr(at), []byte{1, 0, 0, 0, 0, 0, 0, 0}) // AT_IGNORE
		}
	}
}
