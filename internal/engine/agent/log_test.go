package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// talkative is a turn in which each text is a canary of its own.
func talkative() scene {
	return scene{
		request: chat.Request{Input: "CANARY-input"},
		answers: []answer{
			chunks(thought("CANARY-"), thought("thought"), text("CANARY-text"), chat.Chunk{Parts: []chat.Part{
				{Call: &tool.Call{ID: "a", Name: "add", Arguments: []byte(`{"what":{"deep":"CANARY-argument"},"n":1}`)}},
			}}, end(chat.FinishStop)),
			wants(call("b", "read", `["CANARY-argument"]`)),
			wants(call("c", "read", `{"n":}`)),
			says("CANARY-text"),
		},
		call: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			switch c.ID {
			case "a":
				return result(c, "CANARY-result"), wait(ctx, 1500*time.Millisecond)
			case "b":
				return tool.Result{Text: "CANARY-result", IsError: true}, nil
			}
			return tool.Result{}, &fault.Error{Type: fault.ToolFailed, Message: "bad", Hint: "CANARY-argument", Err: errors.New("cause")}
		},
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	got := play(t, talkative())
	want := []string{
		`{"level":"info","details":{"step":1,"reasoning_step":1,"thought_length":14},"message":"agent_reasoning"}`,
		`{"level":"info","details":{"tool_name":"add","server":"todo","call_id":"a","argument_names":["what","n"]},"message":"mcp_tool_called"}`,
		`{"level":"info","duration_ms":1500,"details":{"tool_name":"add","call_id":"a","success":true,"result_length":13},"message":"mcp_tool_result"}`,
		`{"level":"info","details":{"tool_name":"read","server":"todo","call_id":"b","argument_names":[]},"message":"mcp_tool_called"}`,
		`{"level":"info","duration_ms":0,"details":{"tool_name":"read","call_id":"b","success":false,"result_length":13},"message":"mcp_tool_result"}`,
		`{"level":"warn","details":{"error_type":"tool_execution_failed","error_message":"tool_execution_failed: The tool read answered with an error","recoverable":true},"message":"error_occurred"}`,
		`{"level":"info","details":{"tool_name":"read","server":"todo","call_id":"c","argument_names":["n"]},"message":"mcp_tool_called"}`,
		`{"level":"info","duration_ms":0,"details":{"tool_name":"read","call_id":"c","success":false,"result_length":0},"message":"mcp_tool_result"}`,
		`{"level":"warn","details":{"error_type":"tool_execution_failed","error_message":"tool_execution_failed: bad: cause","recoverable":true},"message":"error_occurred"}`,
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(got.log), "\n")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if strings.Contains(got.log, "CANARY") {
		t.Errorf("somebody's text is in the log:\n%s", got.log)
	}
}

// With LogPayloads arguments and results are in the log, and still nothing else.
func TestLogPayloads(t *testing.T) {
	t.Parallel()
	s := talkative()
	s.LogPayloads = true
	s.call = func(_ context.Context, c tool.Call) (tool.Result, error) {
		return result(c, "CANARY-result"+strings.Repeat("é", 512)), nil
	}
	log := play(t, s).log
	for _, want := range []string{
		`"arguments":{"what":{"deep":"CANARY-argument"},"n":1}`,
		`"arguments":{"text":"[\"CANARY-argument\"]"}`,
		`"arguments":{"text":"{\"n\":}"}`,
		`"result_preview":"CANARY-result` + strings.Repeat("é", 249) + `"`, // 512 bytes would cut an é
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	for _, never := range []string{"CANARY-input", "CANARY-text", "CANARY-thought", "argument_names"} {
		if strings.Contains(log, never) {
			t.Errorf("%s is in the log:\n%s", never, log)
		}
	}
}

// What looks personal or secret is not in the log, with LogPayloads neither, be it JSON, long,
// or no JSON at all.
func TestLogPayloadsHideSecrets(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	s := scene{
		request: chat.Request{Input: "go"},
		answers: []answer{
			wants(call("a", "add", `{"password":"CANARY","note":"{\"cookie\":\"CANARY\"}","mail":"jo@example.org"}`)),
			wants(call("b", "read", `{"long":"`+long+`","password":"CANARY"}`)),
			wants(call("c", "read", `password=CANARY`)),
			says("done"),
		},
		call: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return result(c, `{"Cookie":"CANARY","card":"4111 1111 1111 1111","x":"`+long+`","password":"CANARY"}`), nil
		},
	}
	s.LogPayloads = true
	log := play(t, s).log
	for _, never := range []string{"CANARY", "jo@", "4111"} {
		if strings.Contains(log, never) {
			t.Errorf("%s is in the log:\n%s", never, log)
		}
	}
	if strings.Count(log, `"result_preview":"{\"Cookie\":\"[redacted]\",\"card\":\"[card]\"`) == 0 {
		t.Errorf("log:\n%s", log)
	}
}

func TestLogFatal(t *testing.T) {
	t.Parallel()
	got := play(t, scene{answers: []answer{fails(&fault.Error{
		Type: fault.ModelBlocked, Message: "The answer was blocked", Err: errors.New("finish reason SAFETY"),
	})}})
	want := `{"level":"error","details":{"error_type":"model_blocked","error_message":"model_blocked: The answer was blocked: finish reason SAFETY","recoverable":false},"message":"error_occurred"}` + "\n"
	if diff := cmp.Diff(want, got.log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
