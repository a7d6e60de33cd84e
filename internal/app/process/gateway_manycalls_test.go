package process_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// An answer with 196,000 calls costs no more than one with 128: those are reported and
// answered, the rest is reported as a number. The simulator refuses a request whose results do
// not match the calls before them.
func TestAnswerFullOfCalls(t *testing.T) {
	t.Parallel()
	const perChunk, chunks = 28_000, 7
	chunk := `data {"candidates":[{"content":{"role":"model","parts":[` +
		strings.Repeat(`{"functionCall":{"name":"a"}},`, perChunk-1) + `{"functionCall":{"name":"a"}}]}}]}` + "\n"
	api := gatewaytest.Scripted(t, strings.Repeat(chunk, chunks)+`finish STOP
---
expect-count /contents/1/parts 128
expect-count /contents/2/parts 128
text Enough.
finish STOP`)
	frames := wholetest.Listen(t, api.Env("SLUICE_REQUEST_TIMEOUT", "10m")).Ask("go")
	gatewaytest.WantSuccess(t, frames, "stop")
	begun, dropped := 0, 0
	for _, f := range frames {
		switch {
		case f.Kind == "tool_call" && f.Str("status") == "in_progress":
			begun++
		case f.Kind == "error" && f.Str("message") == fmt.Sprintf("Tool calls not executed: %d. At most 128 of one answer are taken", chunks*perChunk-128):
			dropped++
			if f.Str("error_type") != "tool_execution_failed" || f.Str("fatal") != "false" {
				t.Errorf("the error is %s", f.Raw)
			}
		}
	}
	if begun != 128 || dropped != 1 {
		t.Errorf("%d calls were told of (want 128), and the rest %d times (want 1)", begun, dropped)
	}
	if n := len(api.Requests()); n != 2 {
		t.Fatalf("%d requests, want 2", n)
	}
	if body := string(api.Requests()[1].Body); strings.Count(body, "Calls after this one that were not executed: 195872.") != 1 {
		t.Errorf("the model is not told once, at the end, what was dropped: …%s", body[max(0, len(body)-2000):])
	}
}

// With readonly a turn of a GET changes nothing, and one of a POST does as before.
func TestTurnOfAGetChangesNothing(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"readonly", "off"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			r := wholetest.Listen(t, map[string]string{"SLUICE_GET_TOOLS": setting})
			resp, err := r.Client.Get(r.Base + "/chat/stream?input=" + url.QueryEscape("Remind me to buy eggs"))
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("GET: %v, %v", resp, err)
			}
			gatewaytest.WantSuccess(t, gatewaytest.NewTurnStream(resp).All(t), "stop")
			if list := gatewaytest.Done(r.Ask("Show my todos")).Str("final_output"); strings.Contains(list, "eggs") {
				t.Errorf("the GET made a todo: %s", list)
			}
			gatewaytest.WantSuccess(t, r.Ask("Remind me to buy eggs"), "stop")
			if list := gatewaytest.Done(r.Ask("Show my todos")).Str("final_output"); !strings.Contains(list, "eggs") {
				t.Errorf("the POST made no todo: %s", list)
			}
		})
	}
}
