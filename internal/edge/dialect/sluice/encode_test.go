package sluice_test

import (
	stdjson "encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
	"sluice/stream/sse/ssetest"
)

// body returns what a Writer sends for the events. Before each it waits 10 ms of
// fake time.
func body(t *testing.T, cfg encoding, events ...stream.Event) string {
	t.Helper()
	rec := httptest.NewRecorder()
	synctest.Test(t, func(t *testing.T) {
		w := newTurn(rec, cfg)
		for _, ev := range events {
			time.Sleep(10 * time.Millisecond)
			if err := w.Emit(ev); err != nil {
				t.Errorf("Emit(%T): %v", ev, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return rec.Body.String()
}

// The bytes of a whole turn with every kind of event.
func TestFramesOfATurn(t *testing.T) {
	t.Parallel()
	list := stream.Call{ID: "call_1", Tool: "list_todos", Server: "todo", Arguments: jsontext.Value(`{"done":false}`)}
	add := stream.Call{ID: "x9", Tool: "add", Server: "todo", Arguments: jsontext.Value(`{}`)}
	got := body(t, encoding{RequestID: "req_0123456789ab", Accumulated: true},
		&stream.Start{ConversationID: "conv_1", UserID: "u1", Model: "gemini-flash-latest"},
		&stream.Thinking{Content: "**Plan**\n\nlook"},
		&stream.ToolStarted{Call: list},
		&stream.ToolStarted{Call: add},
		&stream.ToolCompleted{Call: list, Duration: 12500 * time.Microsecond, Result: "[]"},
		&stream.ToolUnknown{Call: add, Duration: 10 * time.Second, Message: "It timed out"},
		&stream.Error{Type: fault.Timeout, Message: "It timed out", Recoverable: true, Service: "mcp:todo"},
		&stream.Delta{Text: "Sal"},
		&stream.Delta{Text: "ü \"d\"\n"},
		&stream.Error{Type: fault.ModelRateLimited, Message: "Too many", Recoverable: true, Fatal: true, RetryAfter: 27 * time.Second},
		&stream.Done{
			Reason: stream.Failed,
			Usage:  chat.Usage{InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3},
			Model:  []time.Duration{time.Second, 1499 * time.Microsecond},
			Tools:  []stream.ToolTiming{{Tool: "list_todos", Duration: 12 * time.Millisecond}, {Tool: "add", Duration: 10 * time.Second}},
		},
	)
	want := strings.ReplaceAll(`retry: 86400000
id: req_0123456789ab:1
event: start
data: {ID,"conversation_id":"conv_1","user_id":"u1","model":"gemini-flash-latest","protocol":"sluice/1"}

id: req_0123456789ab:2
event: thinking
data: {ID,"content":"**Plan**\n\nlook"}

id: req_0123456789ab:3
event: tool_call
data: {ID,"call_id":"call_1","tool_name":"list_todos","server":"todo","arguments":{"done":false},"status":"in_progress"}

id: req_0123456789ab:4
event: tool_call
data: {ID,"call_id":"x9","tool_name":"add","server":"todo","arguments":{},"status":"in_progress"}

id: req_0123456789ab:5
event: tool_call
data: {ID,"call_id":"call_1","tool_name":"list_todos","server":"todo","arguments":{"done":false},"status":"completed","duration_ms":13,"result":"[]"}

id: req_0123456789ab:6
event: tool_call
data: {ID,"call_id":"x9","tool_name":"add","server":"todo","arguments":{},"status":"unknown","duration_ms":10000,"error":"It timed out"}

id: req_0123456789ab:7
event: error
data: {ID,"error_type":"timeout","message":"It timed out","recoverable":true,"fatal":false,"service":"mcp:todo"}

id: req_0123456789ab:8
event: response_delta
data: {ID,"delta":"Sal","accumulated":"Sal"}

id: req_0123456789ab:9
event: response_delta
data: {ID,"delta":"ü \"d\"\n","accumulated":"Salü \"d\"\n"}

id: req_0123456789ab:10
event: error
data: {ID,"error_type":"model_rate_limited","message":"Too many","recoverable":true,"fatal":true,"retry_after_ms":27000}

id: req_0123456789ab:11
event: done
data: {ID,"final_output":"Salü \"d\"\n","tools_called":["list_todos","add"],"success":false,"finish_reason":"error",`+
		`"usage":{"input_tokens":1,"output_tokens":2,"thinking_tokens":3},`+
		`"timings":{"total_ms":110,"first_event_ms":10,"first_delta_ms":80,"model_ms":[1000,1],`+
		`"tools":[{"tool_name":"list_todos","ms":12},{"tool_name":"add","ms":10000}],"write_blocked_ms":0}}

`, "ID", `"request_id":"req_0123456789ab"`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
	ssetest.SameForBothReaders(t, got)
}

// The least that a turn can be, without what is optional.
func TestFramesWithoutWhatIsOptional(t *testing.T) {
	t.Parallel()
	got := body(t, encoding{RequestID: "r", Retry: time.Second},
		&stream.Start{}, &stream.Delta{Text: "a"}, &stream.Delta{Text: "b"}, &stream.Done{Reason: stream.Stop})
	want := `retry: 1000
id: r:1
event: start
data: {"request_id":"r","model":"","protocol":"sluice/1"}

id: r:2
event: response_delta
data: {"request_id":"r","delta":"a"}

id: r:3
event: response_delta
data: {"request_id":"r","delta":"b"}

id: r:4
event: done
data: {"request_id":"r","final_output":"ab","tools_called":[],"success":true,"finish_reason":"stop",` +
		`"usage":{"input_tokens":0,"output_tokens":0,"thinking_tokens":0},` +
		`"timings":{"total_ms":40,"first_event_ms":10,"first_delta_ms":20,"model_ms":[],"tools":[],"write_blocked_ms":0}}

`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
	silent := body(t, encoding{RequestID: "r"}, &stream.Start{}, &stream.Error{Fatal: true}, &stream.Done{Reason: stream.Shutdown})
	if strings.Contains(silent, "first_delta_ms") {
		t.Errorf("first_delta_ms without a delta:\n%s", silent)
	}
}

// lastData returns the data of ev's frame.
func lastData(t *testing.T, ev stream.Event) map[string]any {
	t.Helper()
	events := ssetest.SameForBothReaders(t, body(t, encoding{RequestID: "r"}, ev))
	return decode(t, events[len(events)-1].Data)
}

// decode reads data as a client does that knows nothing of our code.
func decode(t *testing.T, data string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := stdjson.Unmarshal([]byte(data), &m); err != nil {
		t.Fatalf("data is no JSON object: %v\n%s", err, data)
	}
	if m["request_id"] == "" || m["request_id"] == nil {
		t.Errorf("data without a request_id: %s", data)
	}
	return m
}
