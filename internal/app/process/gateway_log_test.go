package process_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// Nobody reads stdout: turns continue, and the log waits.
func TestTurnsGoOnWithoutAReader(t *testing.T) {
	t.Parallel()
	out := gatewaytest.NewDam()
	r := wholetest.ListenWith(t, gatewaytest.Scripted(t, "loop\ntext Hi\nfinish STOP").Env(), out)
	t.Cleanup(out.Release)
	for range 30 {
		gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
	}
	if out.String() != "" {
		t.Error("somebody has read the log")
	}
	out.Release()
	if code := r.Stop(); code != wholetest.ExitOK {
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
	out := gatewaytest.NewDam()
	r := wholetest.ListenWith(t, gatewaytest.Scripted(t, "loop\ntext Hi\nfinish STOP").Env(), out)
	gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
	if code := r.Stop(); code != wholetest.ExitOK {
		t.Errorf("exit code %d", code)
	}
	out.Release() // the goroutine in Write ends only now
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
		r := wholetest.Listen(t, map[string]string{"SLUICE_LOG_PAYLOADS": fmt.Sprint(payloads), "SLUICE_LOG_LEVEL": "debug"})
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
