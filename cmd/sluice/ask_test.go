package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"sluice/clients/terminal"
	"sluice/internal/gateway/gatewaytest"
	"sluice/stream/sse"

	"github.com/google/go-cmp/cmp"
)

// everyFrame is a stream with every kind of event, one that is not known yet, and what
// steers a terminal wherever somebody else chose the words.
const everyFrame = `retry: 86400000
id: r:1
event: start
data: {"request_id":"r","model":"m\u001b[31m","protocol":"sluice/1"}

: ping

id: r:2
event: thinking
data: {"request_id":"r","content":"**Hm**\n\nLet me see.\u001b[2J\n\n"}

id: r:3
event: tool_call
data: {"request_id":"r","call_id":"1","tool_name":"add\u009b5m","server":"s","arguments":{"title": "eggs\u001b]0;owned\u0007"},"status":"in_progress"}

id: r:4
event: tool_call
data: {"request_id":"r","call_id":"1","tool_name":"add","server":"s","arguments":{},"status":"completed","duration_ms":12,"result":"{\n \"id\": \"t\u202e1\"\n}"}

id: r:5
event: response_delta
data: {"request_id":"r","delta":"Let\u001b[31m me` + "\u009b\u202e" + `\r"}

id: r:6
event: response_delta
data: {"request_id":"r","delta":" look\u00a0👩‍👧.\nThen"}

id: r:7
event: tool_call
data: {"request_id":"r","call_id":"2","tool_name":"rm","server":"s","arguments":{},"status":"in_progress"}

id: r:8
event: tool_call
data: {"request_id":"r","call_id":"2","tool_name":"rm","server":"s","arguments":{},"status":"failed","duration_ms":3,"error":"no such \u001b[1mthing"}

id: r:9
event: error
data: {"request_id":"r","error_type":"tool_execution_failed","message":"no such thing","recoverable":true,"fatal":false}

id: r:10
event: tool_call
data: {"request_id":"r","call_id":"3","tool_name":"mv","server":"s","arguments":{},"status":"in_progress"}

id: r:11
event: tool_call
data: {"request_id":"r","call_id":"3","tool_name":"mv","server":"s","arguments":{},"status":"unknown","duration_ms":3,"error":"it was cut"}

id: r:12
event: of_tomorrow
data: {"request_id":"r"}

id: r:13
event: response_delta
data: {"request_id":"r","delta":"Done."}

id: r:14
event: done
data: {"request_id":"r","final_output":"","tools_called":[],"success":true,"finish_reason":"stop\u001b[0m","usage":{"input_tokens":120,"output_tokens":7,"thinking_tokens":3},"timings":{"total_ms":1234,"first_delta_ms":50}}

`

const shown = `model m[31m
**Hm**

Let me see.[2J
→ add5m {"title": "eggs\u001b]0;owned\u0007"}
✓ add  12 ms  { "id": "t1" }

Let[31m me look` + "\u00a0" + `👩‍👧.
Then
→ rm {}
✗ rm  3 ms  no such [1mthing
error: no such thing (tool_execution_failed)
→ mv {}
? mv  unknown: it was cut

Done.

stop[0m · 120 tokens in, 7 out, 3 thinking · first text 50ms, total 1.234s · r
`

// gatewayThatSays answers every request with the same stream.
func gatewayThatSays(t *testing.T, stream string) string {
	t.Helper()
	return gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
}

func TestAskShowsEvents(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runCommand(t, nil, "ask", "--url", gatewayThatSays(t, everyFrame)+"/", "hi")
	if code != exitOK || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if diff := cmp.Diff(shown, stdout); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
}

func TestAskJSON(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runCommand(t, nil, "ask", "--json", "hi", "--url", gatewayThatSays(t, everyFrame))
	if code != exitOK || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	n := 0
	for line := range strings.Lines(stdout) {
		n++
		var ev struct {
			ID, Event string
			Data      map[string]any
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil || ev.ID != fmt.Sprintf("r:%d", n) || ev.Event == "" || ev.Data["request_id"] != "r" {
			t.Errorf("line %d: %v: %s", n, err, line)
		}
	}
	if n != 14 {
		t.Errorf("%d lines, want one for each of 14 events", n)
	}
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

func TestAskExitCodes(t *testing.T) {
	t.Parallel()
	full := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"detail":"no \u001b[31mroom"}`)
	}))
	broken, _, _ := strings.Cut(everyFrame, "id: r:14")
	garbage := "id: r:1\nevent: start\ndata: {\n\n"
	failing := strings.Replace(everyFrame, `"success":true`, `"success":false`, 1)
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string // on stderr
	}{
		{"no success", []string{"hi", "--url", gatewayThatSays(t, failing)}, exitFailed, ""},
		{"cut", []string{"hi", "--url", gatewayThatSays(t, broken)}, exitFailed, "the stream broke before done, so the outcome is unknown"},
		{"cut, as JSON", []string{"hi", "--json", "--url", gatewayThatSays(t, broken)}, exitFailed, "the stream broke before done"},
		{"empty", []string{"hi", "--url", gatewayThatSays(t, "")}, exitFailed, "the stream broke before done"},
		{"garbage", []string{"hi", "--url", gatewayThatSays(t, garbage)}, exitFailed, "event r:1"},
		{"refused", []string{"hi", "--url", full}, exitFailed, "the gateway answered 503 Service Unavailable: no [31mroom\n"},
		{"nobody there", []string{"hi", "--url", "http://" + gatewaytest.UnusedAddr(t)}, exitFailed, "connection refused"},
		{"no URL", []string{"hi", "--url", "::"}, exitFailed, "sluice ask: "},
		{"no message", nil, exitUsage, "give the message as one argument"},
		{"an empty message", []string{""}, exitUsage, "give the message as one argument"},
		{"two messages", []string{"hi", "there"}, exitUsage, "argument 2"},
		{"no UTF-8", []string{"\xff", "--url", full}, exitFailed, "UTF-8"},
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
	if code != exitFailed || stderr != "" || !strings.Contains(stdout, "(model_error)\n") || !strings.Contains(stdout, "\nerror · ") {
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

// What others wrote is made harmless between the colours of its line.
func TestLineIsHarmless(t *testing.T) {
	t.Parallel()
	var out gatewaytest.SafeBuffer
	view := &screen{out: &out, style: terminal.Style{Red: "\x1b[31m", Reset: "\x1b[0m"}}
	if err := view.line(view.style.Red, "%s", "no\x1b[2J"); err != nil || out.String() != "\x1b[31mno[2J\x1b[0m\n" {
		t.Errorf("%v: got %q", err, out.String())
	}
}

// A person reads when another model answers, and why.
func TestAskReportsAnotherModel(t *testing.T) {
	t.Parallel()
	var out gatewaytest.SafeBuffer
	view := &screen{out: &out}
	data := eventData{Key: "spare", Model: "gpt-5-mini", Previous: "fast", Reason: "rate_limited"}
	const want = "model gpt-5-mini (spare) in place of fast: rate limited\n"
	if err := view.show(sse.Event{Type: "model"}, data); err != nil || out.String() != want {
		t.Errorf("%v: got %q", err, out.String())
	}
}
