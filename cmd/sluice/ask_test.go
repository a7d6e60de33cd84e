package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"sluice/internal/app/gateway/gatewaytest"

	"github.com/google/go-cmp/cmp"
)

// endedFrames is a stream of a turn that was a success.
const endedFrames = "id: r:1\nevent: response_delta\ndata: {\"delta\":\"Hi.\"}\n\nid: r:2\nevent: done\ndata: {\"success\":true,\"finish_reason\":\"stop\"}\n\n"

// gatewayThatSays answers every request with the same stream.
func gatewayThatSays(t *testing.T, stream string) string {
	t.Helper()
	return gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
}

var (
	changing = regexp.MustCompile(`\d+ ms|first text [^,]+, total \S+|\d{4}-\d\d-\d\dT[0-9:]+Z?|(req|todo)_[0-9a-z]+`)
	askTwice = `thought **Looking**
call list_todos {"status": "all"}
finish STOP
---
usage 120 7 3
text "Nothing \x1b[5mto"
text " do."
finish STOP`
)

// Without --url it starts all that it needs, and ends it again.
func TestAskStartsItsOwnGateway(t *testing.T) {
	t.Parallel()
	api := gatewaytest.Scripted(t, askTwice)
	code, stdout, stderr := runCommand(t, api.Env(), "ask", "What is left?")
	const want = `model gemini-flash-latest
**Looking**
→ list_todos {"status": "all"}
✓ list_todos  #  {"todos":[],"count":0,"more":false}

Nothing [5mto do.

stop · 130 tokens in, 12 out, 3 thinking · # · #
`
	if diff := cmp.Diff(want, changing.ReplaceAllString(stdout, "#")); diff != "" || code != exitOK || stderr != "" {
		t.Errorf("exit code %d, stderr %q, stdout (-want +got):\n%s", code, stderr, diff)
	}
}

// The offline model is not passed off as Gemini.
func TestAskOffline(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runCommand(t, map[string]string{"SLUICE_LOG_LEVEL": "info"}, "ask", "Remind me to buy eggs tomorrow at 3pm")
	if code != exitOK || !strings.HasPrefix(stdout, "model offline-demo (a simulator, not Gemini)\n") || !strings.Contains(stdout, "✓ create_todo") {
		t.Errorf("exit code %d, stdout:\n%s", code, stdout)
	}
	var log gatewaytest.LogTail // with a level it is on stderr
	if _, err := io.WriteString(&log, stderr); err != nil || len(log.All("request_completed")) != 1 {
		t.Errorf("log: %v:\n%s", err, stderr)
	}
	log.Check(t)
}

// A model may only say that it lacks a tool: the command names the server that is unavailable, and
// where it should be, without what may be a token in its address.
func TestAskNamesServersThatAreUnavailable(t *testing.T) {
	t.Parallel()
	code, _, stderr := runCommand(t, map[string]string{"MCP_SERVER_URL": "http://127.0.0.1:1/s3cret/mcp"}, "ask", "Remind me to buy eggs")
	const want = "sluice ask: warning: the MCP server todo (http://127.0.0.1:1) is unavailable; its tools were not offered\n"
	if code != exitOK || !strings.Contains(stderr, want) || strings.Contains(stderr, "s3cret") {
		t.Errorf("exit code %d, stderr %q, want %q", code, stderr, want)
	}
}

// A pipe gets the answer alone, and one that comes is the message.
func TestAskInAPipe(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"ask"}, {"ask", "-"}} {
		api := gatewaytest.Scripted(t, askTwice)
		var out, errOut gatewaytest.SafeBuffer
		code := run(t.Context(), args, program{
			stdin: strings.NewReader("What is\nleft?\n"), stdout: &out, stderr: &errOut,
			lookup: gatewaytest.LookupIn(gatewaytest.WithDefaults(t, api.Env())), readFile: os.ReadFile,
		})
		if code != exitOK || out.String() != "Nothing [5mto do.\n" || !strings.Contains(errOut.String(), "✓ list_todos") {
			t.Errorf("%q: exit code %d, stdout %q, stderr:\n%s", args, code, out.String(), errOut.String())
		}
		if diff := cmp.Diff([]string{"user: What is\nleft?"}, gatewaytest.ShownTo(t, api, 0)); diff != "" {
			t.Errorf("%q: the first request (-want +got):\n%s", args, diff)
		}
	}
}

// What the flags say of a turn is in its request.
func TestAskSaysWhomAndWhere(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 1)
	base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, endedFrames)
	}))
	code, _, stderr := runCommand(t, nil, "ask", "hi", "--url", base, "--agent", "clerk", "--workflow", "triage", "--channel", "sms", "--deliver")
	const want = `{"input":"hi","agent":"clerk","workflow":"triage","accumulated":false,"channel":"sms","deliver":true}`
	if got := <-bodies; got != want || code != exitOK {
		t.Errorf("exit code %d, stderr %q, body\n%s, want\n%s", code, stderr, got, want)
	}
}

// With --json each event is a line.
func TestAskJSON(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runCommand(t, nil, "ask", "--json", "hi", "--url", gatewayThatSays(t, endedFrames))
	const want = `{"id":"r:1","event":"response_delta","data":{"delta":"Hi."}}
{"id":"r:2","event":"done","data":{"success":true,"finish_reason":"stop"}}
`
	if code != exitOK || stdout != want || stderr != "" {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}

// Each line is a turn, and TEXT is the first one.
func TestAskChat(t *testing.T) {
	t.Parallel()
	api := gatewaytest.Scripted(t, "text One.\nfinish STOP\n---\ntext Two.\nfinish STOP")
	var out paper
	var errs gatewaytest.SafeBuffer
	code := run(t.Context(), []string{"ask", "--chat", "one"}, program{
		stdin: strings.NewReader("two\n"), stdout: &out, stderr: &errs,
		lookup: gatewaytest.LookupIn(gatewaytest.WithDefaults(t, api.Env())), readFile: os.ReadFile,
	})
	if code != exitOK || !strings.Contains(out.String(), "\nTwo.\n") || errs.String() != "" {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, errs.String(), out.String())
	}
	if diff := cmp.Diff([]string{"user: one", "model: One.", "user: two"}, gatewaytest.ShownTo(t, api, 1)); diff != "" {
		t.Errorf("the second request (-want +got):\n%s", diff)
	}
}

func TestAskExitCodes(t *testing.T) {
	t.Parallel()
	full := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"detail":"no \u001b[31mroom"}`)
	}))
	broken, _, _ := strings.Cut(endedFrames, "id: r:2")
	none := "task_" + strings.Repeat("0", 26)
	failing := strings.Replace(endedFrames, `"success":true`, `"success":false`, 1)
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string // on stderr
	}{
		{"success", []string{"hi", "--url", gatewayThatSays(t, endedFrames) + "/"}, exitOK, ""},
		{"no success", []string{"hi", "--url", gatewayThatSays(t, failing)}, exitFailed, ""},
		{"cut", []string{"hi", "--url", gatewayThatSays(t, broken)}, exitFailed, "the stream broke before done, so the outcome is unknown"},
		{"refused", []string{"hi", "--url", full}, exitFailed, "the gateway answered 503 Service Unavailable: no [31mroom\n"},
		{"no URL", []string{"hi", "--url", "::"}, exitUsage, "--url: is not a URL"},
		{"no message", nil, exitUsage, "give the message as one argument"},
		{"an empty message", []string{""}, exitUsage, "give the message as one argument"},
		{"what is no id", []string{"--resume", "task_../../x", "--url", full}, exitUsage, "--resume takes the id"},
		{"an id and a message", []string{"--resume", none, "hi"}, exitUsage, "no message beside it"},
		{"an id and a conversation", []string{"--resume", none, "--chat"}, exitUsage, "no message beside it"},
		{"an id and a schema", []string{"--resume", none, "--schema", "x"}, exitUsage, "--resume have no meaning"},
		{"an id of nothing", []string{"--resume", none, "--url", full}, exitFailed, "503 Service Unavailable"},
		{"--waiting alone", []string{"--waiting"}, exitUsage, "--waiting needs"},
		{"--waiting without a user", []string{"--waiting", "--url", full}, exitUsage, "--waiting needs"},
		{"--waiting without a URL", []string{"--waiting", "--user", "x"}, exitUsage, "--waiting needs"},
		{"--waiting and a message", []string{"--waiting", "--user", "x", "--url", full, "hi"}, exitUsage, "--waiting needs"},
		{"--waiting that is refused", []string{"--waiting", "--user", "x", "--url", full}, exitFailed, "503 Service Unavailable"},
		{"a delivery to nowhere", []string{"--deliver", "hi"}, exitUsage, "--deliver needs --channel"},
		{"an id and an agent", []string{"--resume", none, "--agent", "x", "--url", full}, exitUsage, "belong to a message"},
		{"an agent and a schema", []string{"--agent", "x", "--schema", "y", "hi"}, exitUsage, "--schema: asks a model itself"},
		{"both answers", []string{"--approve", "--reject", "hi"}, exitUsage, "exclude each other"},
		{"two messages", []string{"hi", "there"}, exitUsage, "argument 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := runCommand(t, nil, append([]string{"ask"}, tt.args...)...)
			if code != tt.code || !strings.Contains(stderr, tt.says) || (tt.says == "") != (stderr == "") {
				t.Errorf("exit code %d, want %d; stderr %q, want %q", code, tt.code, stderr, tt.says)
			}
			if strings.ContainsFunc(stderr+stdout, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
				t.Errorf("control characters in %q or %q", stderr, stdout)
			}
		})
	}
}

// A turn that ended without success is shown, and reported by the exit code.
func TestAskFailedTurn(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runCommand(t, gatewaytest.Scripted(t, "error 400 broken").Env(), "ask", "hi")
	if code != exitFailed || !strings.HasPrefix(stderr, "sluice: with SLUICE_LOG_LEVEL=warning ") || !strings.Contains(stdout, "(model_error)\n") || !strings.Contains(stdout, "\nerror · ") {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
}

// A signal ends ask and all that it started.
func TestAskInterrupted(t *testing.T) {
	t.Parallel()
	api := gatewaytest.Scripted(t, "text Hi\nstall")
	signals := make(chan os.Signal, 1)
	var stdout, stderr gatewaytest.SafeBuffer
	out := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "Hi") {
			signals <- syscall.SIGINT
		}
		return stdout.Write(p)
	})
	code := run(context.Background(), []string{"ask", "hi"}, program{
		stdin: strings.NewReader(""), stdout: out, stderr: &stderr,
		lookup: gatewaytest.LookupIn(gatewaytest.WithDefaults(t, api.Env())), readFile: os.ReadFile, signals: signals,
	})
	if code != exitFailed || !strings.Contains(stderr.String(), "context canceled") {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (writerFunc) IsTerminal() bool { return true }
