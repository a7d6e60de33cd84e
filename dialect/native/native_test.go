package native_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/chat"
	"sluice/dialect/native"
	"sluice/fault"
	"sluice/stream"
)

var call = stream.Call{ID: "c", Tool: "index", Server: "files", Arguments: jsontext.Value(`{"n":1}`)}

const head = `,"call_id":"c","tool_name":"index","server":"files","arguments":{"n":1},"status":`

// members are what one event says after others.
func members(t *testing.T, d *native.Data, events ...stream.Event) (last string) {
	t.Helper()
	for _, ev := range events {
		text, ok := d.Append(nil, ev)
		if whole := jsontext.Value(`{"x":0` + string(text) + `}`); !ok || !whole.IsValid() {
			t.Fatalf("%T: %v %s", ev, ok, text)
		}
		last = string(text)
	}
	return last
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ev   stream.Event
		want string
	}{
		"start":           {&stream.Start{Model: "m"}, `,"model":"m","protocol":"sluice/1"`},
		"thinking":        {&stream.Thinking{Content: "a\"\n"}, `,"content":"a\"\n"`},
		"delta":           {&stream.Delta{Text: "a"}, `,"delta":"a"`},
		"started":         {&stream.ToolStarted{Call: call}, head + `"in_progress"`},
		"client's":        {&stream.ToolRequired{Call: call}, head + `"client_required"`},
		"error":           {&stream.Error{Type: fault.Timeout, Message: "m", Recoverable: true, Fatal: true}, `,"error_type":"timeout","message":"m","recoverable":true,"fatal":true`},
		"retry":           {&stream.Error{Type: fault.Timeout, RetryAfter: 1500 * time.Microsecond}, `,"error_type":"timeout","message":"","recoverable":false,"fatal":false,"retry_after_ms":2`},
		"who says it":     {&stream.Thinking{Content: "a", Attribution: stream.Attribution{AgentID: "x", NodeID: "n", SessionID: "s"}}, `,"agent_id":"x","node_id":"n","session_id":"s","content":"a"`},
		"an extension":    {&stream.InnerDelta{Delta: "a"}, `,"delta":"a"`},
		"without a model": {&stream.Start{}, `,"model":"","protocol":"sluice/1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, members(t, new(native.Data), tt.ev)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ev   stream.ToolProgress
		want string
	}{
		"all":                {stream.ToolProgress{Progress: 3, Total: 10, Message: "page 3"}, `,"progress":3,"total":10,"message":"page 3"`},
		"nothing but":        {stream.ToolProgress{Progress: 0.25}, `,"progress":0.25`},
		"nothing yet":        {stream.ToolProgress{}, `,"progress":0`},
		"large":              {stream.ToolProgress{Progress: 123456789012, Total: 1e300}, `,"progress":123456789012,"total":1e+300`},
		"small and negative": {stream.ToolProgress{Progress: -1e-9, Total: -4}, `,"progress":-1e-09`},
		"no numbers":         {stream.ToolProgress{Progress: math.NaN(), Total: math.Inf(1)}, `,"progress":0`},
		"controls":           {stream.ToolProgress{Message: "\x1b[31ma\r\nb\u0085c\x00 "}, `,"progress":0,"message":"[31ma  bc"`},
		"only controls":      {stream.ToolProgress{Message: "\x00\n"}, `,"progress":0`},
		"long":               {stream.ToolProgress{Message: strings.Repeat("é", 127) + "aé" + strings.Repeat("x", 9000)}, `,"progress":0,"message":"` + strings.Repeat("é", 127) + `a"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.ev.Call = call
			if diff := cmp.Diff(head+`"progress"`+tt.want, members(t, new(native.Data), &tt.ev)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The last event repeats the answer and the names of the tools, whether the client has had them
// or they were skipped, and whether the pieces come with the text so far or not.
func TestDone(t *testing.T) {
	t.Parallel()
	events := []stream.Event{&stream.Start{}, &stream.Delta{Text: "a\""}, &stream.ToolStarted{Call: call}, &stream.ToolCompleted{Call: call}, &stream.Delta{Text: "\u2028b"}}
	done := &stream.Done{Reason: stream.Stop, Usage: chat.Usage{InputTokens: 1}}
	const want = `,"final_output":"a\"\u2028b","tools_called":["index"],"success":true,"finish_reason":"stop","usage":{"input_tokens":1,`
	for _, accumulate := range []bool{false, true} {
		for n := range len(events) + 1 {
			d := &native.Data{Accumulate: accumulate}
			for _, ev := range events[:n] {
				d.Skip(ev)
			}
			got := members(t, d, append(events[n:len(events):len(events)], done)...)
			if plain := strings.ReplaceAll(got, "\u2028", `\u2028`); !strings.HasPrefix(plain, want) {
				t.Errorf("accumulated %v, %d skipped: %s", accumulate, n, got)
			}
		}
	}
	if got := members(t, &native.Data{Accumulate: true}, events[1], events[4]); !strings.Contains(got, `,"accumulated":"a\"`) {
		t.Errorf("the second piece is %s", got)
	}
}

// A call of a client's tool is none of tools_called.
func TestClientToolsAreNotCalled(t *testing.T) {
	t.Parallel()
	got := members(t, new(native.Data), &stream.Start{}, &stream.ToolRequired{Call: call}, &stream.Done{Reason: stream.ClientTools})
	if !strings.Contains(got, `"tools_called":[],"success":true,"finish_reason":"client_tools"`) {
		t.Errorf("done is %s", got)
	}
}
