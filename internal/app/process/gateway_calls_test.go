package process_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
)

// threeCalls is one step with parallel calls, signed as the real API signs: the
// first one alone. The arguments are spaced and ordered as no encoder would, and
// hold a number that no float64 holds.
const (
	firstArgs  = `{"b": 1.50,"a":12345678901234567890}`
	thirdArgs  = `{"t":"\u00e9 <&>"}`
	threeCalls = `
data {"candidates":[{"content":{"role":"model","parts":[
  {"functionCall":{"id":"fc-1","name":"first","args":` + firstArgs + `},"thoughtSignature":"c2lnLTE="},
  {"functionCall":{"id":"fc-2","name":"second","args":{}}},
  {"functionCall":{"id":"fc-3","name":"third","args":` + thirdArgs + `}}]}}]}
finish STOP
---
text All done
finish STOP`
)

// Calls of one step run at the same time. What goes back to the model is in its
// own order, whatever the order in which they ended, and what the model gave is
// not touched.
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	release := map[string]chan struct{}{"first": make(chan struct{}), "second": make(chan struct{}), "third": make(chan struct{})}
	tools := map[string]func(context.Context) string{}
	for name, ready := range release {
		tools[name] = func(ctx context.Context) string {
			select {
			case <-ready:
			case <-ctx.Done():
			}
			return "the answer of " + name
		}
	}
	api := gatewaytest.Scripted(t, strings.ReplaceAll(threeCalls, "\n  ", ""))
	url := gatewaytest.ServeHandler(t, gatewaytest.ToolServer(t, tools))
	s := wholetest.Listen(t, api.Env("MCP_SERVER_URL", url+"/mcp")).StartTurn("go")

	var ended []string
	for _, name := range []string{"third", "second", "first"} {
		close(release[name]) // only now may it end
		for f := s.Until(t, "tool_call"); ; f = s.Until(t, "tool_call") {
			if f.Str("status") == "completed" {
				ended = append(ended, f.Str("tool_name"))
				break
			}
		}
	}
	if diff := cmp.Diff([]string{"third", "second", "first"}, ended); diff != "" {
		t.Errorf("order of the ends (-want +got):\n%s", diff)
	}
	frames := s.All(t)
	gatewaytest.WantSuccess(t, frames, "stop")
	if diff := cmp.Diff([]any{"first", "second", "third"}, gatewaytest.Done(frames).Data["tools_called"]); diff != "" {
		t.Errorf("tools_called (-want +got):\n%s", diff)
	}
	wantSecondRequest(t, api)
}

func wantSecondRequest(t *testing.T, api *gatewaytest.FakeGemini) {
	t.Helper()
	requests := api.Requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests, want 2", len(requests))
	}
	type call struct {
		ID, Name string
		Args     json.RawMessage
	}
	type result struct {
		ID, Name string
		Response json.RawMessage
	}
	var body struct {
		Contents []struct {
			Role  string
			Parts []struct {
				FunctionCall     *call
				FunctionResponse *result
				ThoughtSignature string
			}
		}
	}
	if err := json.Unmarshal(requests[1].Body, &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Contents) != 3 || len(body.Contents[1].Parts) != 3 || len(body.Contents[2].Parts) != 3 {
		t.Fatalf("the second request is %s", requests[1].Body)
	}
	for i, want := range []struct{ id, name, args, signature string }{
		{"fc-1", "first", firstArgs, "c2lnLTE="},
		{"fc-2", "second", "{}", ""},
		{"fc-3", "third", thirdArgs, ""},
	} {
		asked := body.Contents[1].Parts[i]
		if c := asked.FunctionCall; c == nil || c.ID != want.id || c.Name != want.name || string(c.Args) != want.args || asked.ThoughtSignature != want.signature {
			t.Errorf("call %d went back as %+v (%s) with the signature %q", i, c, c.Args, asked.ThoughtSignature)
		}
		answer := body.Contents[2].Parts[i].FunctionResponse
		if answer == nil || answer.ID != want.id || answer.Name != want.name || !strings.Contains(string(answer.Response), "the answer of "+want.name) {
			t.Errorf("result %d is %+v", i, answer)
		}
	}
}

// atOnce is how long a client's leaving may take to reach an upstream
// (docs/design.md, "How a turn ends").
const atOnce = 50 * time.Millisecond

// The upstream call of a client that leaves is cancelled at once, and is nobody's
// fault. Not parallel: time is measured.
func TestLeavingCancelsTheModelCall(t *testing.T) {
	for _, tt := range []struct{ name, script, seen string }{
		{"before the first chunk", "hang\n---\nloop", "start"},
		{"within the answer", "thought Hm\ntext Hi\nstall\n---\nloop", "response_delta"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			api := gatewaytest.Scripted(t, tt.script)
			began, left := make(chan struct{}, 10), make(chan time.Time, 10)
			url := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				began <- struct{}{}
				api.ServeHTTP(w, r)
				left <- time.Now()
			}))
			r := wholetest.Listen(t, api.Env("GEMINI_BASE_URL", url))
			elapsed := testnet.Soonest(func() time.Duration {
				s := r.StartTurn("hi")
				s.Until(t, tt.seen)
				gatewaytest.Within(t, "the model call", began)
				gone := time.Now()
				s.Leave()
				return gatewaytest.Within(t, "the end of the model call", left).Sub(gone)
			})
			testnet.Prompt(t, "the end of the model call after the client left", elapsed, atOnce)
			wantUnharmed(t, r, 5)
		})
	}
}

func TestLeavingCancelsTheToolCall(t *testing.T) {
	began, left := make(chan struct{}, 10), make(chan time.Time, 10)
	api := gatewaytest.Scripted(t, "call wait {}\nfinish STOP\n---\nloop")
	url := gatewaytest.ServeHandler(t, gatewaytest.ToolServer(t, map[string]func(context.Context) string{"wait": func(ctx context.Context) string {
		began <- struct{}{}
		<-ctx.Done()
		left <- time.Now()
		return ""
	}}))
	r := wholetest.Listen(t, api.Env("MCP_SERVER_URL", url+"/mcp"))
	elapsed := testnet.Soonest(func() time.Duration {
		s := r.StartTurn("hi")
		gatewaytest.Within(t, "the tool call", began)
		gone := time.Now()
		s.Leave()
		return gatewaytest.Within(t, "the end of the tool call", left).Sub(gone)
	})
	testnet.Prompt(t, "the end of the tool call after the client left", elapsed, atOnce)
	wantUnharmed(t, r, 5)
}

// wantUnharmed checks that n clients that left have left no trace but a line each.
func wantUnharmed(t *testing.T, r *gatewaytest.Running, n int) {
	t.Helper()
	for _, line := range r.Log.AwaitAll(t, n, "request_completed", nil) {
		if !line.Is("request_completed", "finish_reason", "cancelled", "success", "false") {
			t.Errorf("got %s", line.Raw)
		}
	}
	_, rep := r.Ready()
	for _, b := range rep.Breakers {
		if b.State != "closed" || b.FailureCount != 0 {
			t.Errorf("a client that left counts as a failure: %+v", b)
		}
	}
}
