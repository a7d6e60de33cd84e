package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/gateway/gatewaytest"
)

// keeping starts a gateway that keeps turns, whose model answers with script.
func keeping(t *testing.T, script string) string {
	t.Helper()
	return start(t, gatewaytest.Scripted(t, script).Env("SLUICE_STORE", "memory")).Base
}

// A turn is followed by anyone who knows its id: from its beginning, or from an event on.
func TestAskResume(t *testing.T) {
	t.Parallel()
	base := keeping(t, "thought **Hm**\ntext \"Hi \"\ntext there.\nfinish STOP")
	code, first, stderr := runCommand(t, nil, "ask", "hi", "--url", base)
	task := regexp.MustCompile(`task_\w+`).FindString(first)
	if code != exitOK || stderr != "" || task == "" {
		t.Fatalf("exit code %d, stderr %q, stdout %q", code, stderr, first)
	}
	code, again, stderr := runCommand(t, nil, "ask", "--url", base, "--resume", task)
	if diff := cmp.Diff(first, again); diff != "" || code != exitOK || stderr != "" {
		t.Errorf("exit code %d, stderr %q, stdout (-first +again):\n%s", code, stderr, diff)
	}
	_, lines, _ := runCommand(t, nil, "ask", "--json", "--url", base, "--resume", task)
	turn := regexp.MustCompile(`turn_\w+`).FindString(lines)
	_, fromTurn, _ := runCommand(t, nil, "ask", "--json", "--url", base, "--resume", turn)
	_, behind, _ := runCommand(t, nil, "ask", "--json", "--url", base, "--resume", turn+":2")
	if fromTurn != lines || behind != strings.Join(strings.SplitAfter(lines, "\n")[2:], "") {
		t.Errorf("the task:\n%sthe turn:\n%sbehind its second event:\n%s", lines, fromTurn, behind)
	}
}

func TestAskResumeFaults(t *testing.T) {
	t.Parallel()
	base := keeping(t, "text Hi.\nfinish STOP")
	none := strings.Repeat("0", 26)
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--resume", "task_" + none, "--url", base}, exitFailed, "404 Not Found: There is no such task"},
		{[]string{"--resume", "turn_" + none, "--url", base}, exitFailed, "there is nothing to take up"},
		{[]string{"--resume", "turn_" + none, "--url", gatewayThatSays(t, "retry: 1\n")}, exitFailed, "the stream broke before done"},
		{[]string{"--resume", "task_../../x", "--url", base}, exitUsage, "--resume takes the id"},
		{[]string{"--resume", "task_" + none, "hi"}, exitUsage, "no message beside it"},
		{[]string{"--resume", "task_" + none, "--chat"}, exitUsage, "no message beside it"},
		{[]string{"--resume", "task_" + none, "--schema", "x"}, exitUsage, "--resume have no meaning"},
		{[]string{"--resume", "task_" + none, "--url", "::"}, exitFailed, "sluice ask: "},
	} {
		code, stdout, stderr := runCommand(t, nil, append([]string{"ask"}, tt.args...)...)
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.says) {
			t.Errorf("%q: exit code %d, want %d; stdout %q, stderr %q", tt.args, code, tt.code, stdout, stderr)
		}
	}
}

// A stream that breaks after each event is taken up where it broke.
func TestAskGoesOn(t *testing.T) {
	t.Parallel()
	target, err := url.Parse(keeping(t, "thought **Hm**\ntext \"Hi \"\ntext there.\nfinish STOP"))
	if err != nil {
		t.Fatal(err)
	}
	var streams atomic.Int64
	breaking := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		streams.Add(1)
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.ModifyResponse = func(resp *http.Response) error {
			all, err := io.ReadAll(resp.Body)
			event, rest, _ := strings.Cut(string(all), "\n\n")
			next, _, _ := strings.Cut(rest, "\n\n")
			resp.Body = io.NopCloser(strings.NewReader(event + "\n\n" + next[:len(next)/2]))
			resp.Header.Del("Content-Length")
			return err
		}
		proxy.ServeHTTP(w, r)
	}))
	code, stdout, stderr := runCommand(t, nil, "ask", "hi", "--url", breaking)
	if code != exitOK || !strings.Contains(stdout, "\nHi there.\n") || strings.Count(stderr, "the rest of the turn is asked for") != 1 || streams.Load() < 4 {
		t.Errorf("exit code %d after %d streams, stderr %q, stdout:\n%s", code, streams.Load(), stderr, stdout)
	}
}

// A signal cancels a turn that would continue without its client.
func TestAskCancels(t *testing.T) {
	t.Parallel()
	base := keeping(t, "text Hi\nstall\n---\ntext Hi\nstall")
	for _, resume := range []bool{false, true} {
		signals := make(chan os.Signal, 1)
		var stdout, stderr gatewaytest.SafeBuffer
		out := writerFunc(func(p []byte) (int, error) {
			if strings.Contains(string(p), "Hi") {
				signals <- syscall.SIGINT
			}
			return stdout.Write(p)
		})
		args := []string{"ask", "hi", "--url", base}
		if resume {
			args = []string{"ask", "--url", base, "--resume", beginTurn(t, base)}
		}
		code := run(context.Background(), args, program{
			stdin: strings.NewReader(""), stdout: out, stderr: &stderr,
			lookup: gatewaytest.LookupIn(gatewaytest.WithDefaults(t, nil)), readFile: os.ReadFile, signals: signals,
		})
		if code != exitFailed || stderr.String() != "" || !strings.Contains(stdout.String(), "\ncancelled · ") {
			t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr.String(), stdout.String())
		}
	}
}

// beginTurn begins a turn, leaves it, and returns its task.
func beginTurn(t *testing.T, base string) string {
	t.Helper()
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/chat/stream?input=hi", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var read []byte
	for buf := make([]byte, 1<<10); ; {
		n, err := resp.Body.Read(buf)
		read = append(read, buf[:n]...)
		if task := regexp.MustCompile(`task_\w{26}`).Find(read); task != nil {
			return string(task)
		}
		if err != nil {
			t.Fatalf("%v after %s", err, read)
		}
	}
}
