package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/gateway/gatewaytest"

	"github.com/rs/zerolog"
)

// dam is a reader of stdout that does not read until it is opened.
type dam struct {
	open chan struct{}
	once sync.Once
	gatewaytest.LogTail
}

func newDam() *dam { return &dam{open: make(chan struct{})} }

func (d *dam) Write(p []byte) (int, error) {
	<-d.open
	return d.LogTail.Write(p)
}

func (d *dam) release() { d.once.Do(func() { close(d.open) }) }

// Nobody reads stdout: turns go on, and the log waits.
func TestTurnsGoOnWithoutAReader(t *testing.T) {
	t.Parallel()
	out := newDam()
	r := launch(t, gatewaytest.Scripted(t, "loop\ntext Hi\nfinish STOP").Env(), out)
	t.Cleanup(out.release)
	for range 30 {
		gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
	}
	if out.String() != "" {
		t.Error("somebody has read the log")
	}
	out.release()
	if code := r.Stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	out.Check(t)
	if got := len(out.All("request_completed")); got != 30 {
		t.Errorf("%d turns in the log, want 30", got)
	}
	if lines, _ := out.Since(0); len(lines) == 0 || !lines[len(lines)-1].Is("stopped") {
		t.Errorf("the last line is not the last:\n%s", out)
	}
}

// Nor does a stdout that is stuck keep the program from ending.
func TestEndWithoutAReader(t *testing.T) {
	t.Parallel()
	out := newDam()
	r := launch(t, gatewaytest.Scripted(t, "loop\ntext Hi\nfinish STOP").Env(), out)
	gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
	if code := r.Stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	out.release() // the goroutine in Write ends only now
}

// Every line of a turn has the fields that docs/operations.md names, and nothing of what
// was said.
func TestLogOfATurn(t *testing.T) {
	t.Parallel()
	const secretive = `{"input":"Remind me to feed the zebra tomorrow at 3pm","user_id":"u-1","conversation_id":"conv_7"}`
	want := map[string][]string{
		"request_received":  {"method", "path", "input_length"},
		"agent_reasoning":   {"step", "thought_length"},
		"mcp_tool_called":   {"tool_name", "server", "call_id", "argument_names"},
		"mcp_tool_result":   {"tool_name", "success", "result_length"},
		"gemini_api_called": {"model", "step", "prompt_length", "attempt"},
		"gemini_api_result": {"model", "response_length", "tokens_used", "finish_reason"},
		"request_completed": {"total_duration_ms", "success", "finish_reason", "tools_called", "events"},
	}
	for _, payloads := range []bool{false, true} {
		r := start(t, map[string]string{"SLUICE_LOG_PAYLOADS": fmt.Sprint(payloads), "SLUICE_LOG_LEVEL": "debug"})
		s, err := r.Post(t.Context(), secretive)
		if err != nil {
			t.Fatal(err)
		}
		gatewaytest.WantSuccess(t, s.All(t), "stop")
		r.Stop()
		for event, details := range want {
			lines := r.Log.All(event)
			if len(lines) == 0 {
				t.Errorf("there is no %s", event)
			}
			for _, line := range lines {
				wantLine(t, line, s.Request, details)
			}
		}
		if got := strings.Contains(r.Log.String(), "zebra"); got != payloads {
			t.Errorf("SLUICE_LOG_PAYLOADS=%v: what was said is in the log: %v", payloads, got)
		}
		called, result := r.Log.All("mcp_tool_called")[0], r.Log.All("mcp_tool_result")[0]
		if (called.Detail("arguments") != "") != payloads || (result.Detail("result_preview") != "") != payloads {
			t.Errorf("SLUICE_LOG_PAYLOADS=%v: %s\n%s", payloads, called.Raw, result.Raw)
		}
	}
}

func wantLine(t *testing.T, line gatewaytest.LogLine, requestID string, details []string) {
	t.Helper()
	if line.Fields["request_id"] != requestID || line.Fields["user_id"] != "u-1" || line.Fields["conversation_id"] != "conv_7" {
		t.Errorf("it does not say whose it is: %s", line.Raw)
	}
	if line.Is("mcp_tool_called") && line.Detail("arguments") != "" {
		return // in place of argument_names
	}
	for _, name := range details {
		if line.Detail(name) == "" {
			t.Errorf("%s is missing in %s", name, line.Raw)
		}
	}
}

// A key that we do not know is hidden by its looks, wherever an error repeats it.
func TestKeyLike(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := newLogWriter(&out, nil)
	log := newLogger(w, "info")
	for _, text := range []string{
		"API key AIzaSyA1234567890_abcdefghijklmnopqrstuv is not valid",
		`Post "https://host/v1?alt=sse&key=abc123&x=1": refused`,
		`Get "https://host/?key=abc123"`,
		"monkey=banana, AIzaShort",
	} {
		log.Info().Dict("details", zerolog.Dict().AnErr("cause", errors.New(text))).Msg("failed")
	}
	w.Close()
	for _, leak := range []string{"1234567890_abc", "abc123"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%s is in the log:\n%s", leak, out.String())
		}
	}
	for _, harmless := range []string{"is not valid", "&x=1", "monkey=banana, AIzaShort", "alt=sse"} {
		if !strings.Contains(out.String(), harmless) {
			t.Errorf("%s is not in the log:\n%s", harmless, out.String())
		}
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]string{
		"debug": "DEBUG INFO WARNING ERROR", "info": "INFO WARNING ERROR", "warning": "WARNING ERROR", "error": "ERROR",
	} {
		var out bytes.Buffer
		log := processLogger(newLogger(&out, level))
		for _, e := range []*zerolog.Event{log.Debug(), log.Info(), log.Warn(), log.Error()} {
			e.Dict("details", zerolog.Dict()).Msg("said")
		}
		var tail gatewaytest.LogTail
		_, _ = tail.Write(out.Bytes())
		tail.Check(t)
		var got []string
		for _, line := range tail.All("said") {
			got = append(got, fmt.Sprint(line.Fields["level"]))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("level %s: got %v, want %s", level, got, want)
		}
	}
}

// More than the backlog holds is dropped by the line, and counted.
func TestBacklogOverflow(t *testing.T) {
	t.Parallel()
	out := newDam()
	w := newLogWriter(out, nil)
	log := processLogger(newLogger(w, "info"))
	const lines = 10_000
	filler := strings.Repeat("x", 1000)
	for range lines {
		log.Info().Dict("details", zerolog.Dict().Str("filler", filler)).Msg("said")
	}
	out.release()
	w.Close()
	out.Check(t)
	kept, dropped := len(out.All("said")), 0
	for _, line := range out.All("log_lines_dropped") {
		n, _ := line.Fields["details"].(map[string]any)["count"].(float64)
		dropped += int(n)
	}
	if kept+dropped != lines || dropped == 0 || kept*1000 > 2*maxBacklog || kept*1000 < maxBacklog/2 {
		t.Errorf("of %d lines %d were kept and %d counted as dropped", lines, kept, dropped)
	}
}

// What was written before Close is out after it, even if stdout was stuck until
// then. Often, as the goroutine that writes has a choice.
func TestCloseFlushes(t *testing.T) {
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			out := newDam()
			w := newLogWriter(out, nil)
			_, _ = io.WriteString(w, `{"event":"one"}`+"\n")
			synctest.Wait() // until it is stuck
			_, _ = io.WriteString(w, `{"event":"two"}`+"\n")
			closed := make(chan struct{})
			go func() {
				w.Close()
				close(closed)
			}()
			synctest.Wait()
			out.release()
			<-closed
			if len(out.All("one")) != 1 || len(out.All("two")) != 1 {
				t.Errorf("the log is %q", out.String())
			}
		})
	}
}

func TestCloseGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := newDam()
		w := newLogWriter(out, nil)
		_, _ = io.WriteString(w, "line\n")
		began := time.Now()
		w.Close()
		if took := time.Since(began); took != time.Second {
			t.Errorf("Close took %v", took)
		}
		out.release()
	})
}

// What net/http has to say is a line like any other.
func TestServerErrors(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if _, err := (serverErrors{processLogger(newLogger(&out, "debug"))}).Write([]byte("http: TLS handshake error\n")); err != nil {
		t.Fatal(err)
	}
	var tail gatewaytest.LogTail
	_, _ = tail.Write(out.Bytes())
	tail.Check(t)
	if lines := tail.All("http_server", "message", "http: TLS handshake error"); len(lines) != 1 {
		t.Errorf("got %s", out.String())
	}
}
