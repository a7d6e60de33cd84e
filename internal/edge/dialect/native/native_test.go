package native_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/native"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

var appendCall = stream.Call{ID: "c", Tool: "index", Server: "files", Arguments: jsontext.Value(`{"n":1}`)}

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
		"started":         {&stream.ToolStarted{Call: appendCall}, head + `"in_progress"`},
		"client's":        {&stream.ToolRequired{Call: appendCall}, head + `"client_required"`},
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
			tt.ev.Call = appendCall
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
	events := []stream.Event{&stream.Start{}, &stream.Delta{Text: "a\""}, &stream.ToolStarted{Call: appendCall}, &stream.ToolCompleted{Call: appendCall}, &stream.Delta{Text: "\u2028b"}}
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
	got := members(t, new(native.Data), &stream.Start{}, &stream.ToolRequired{Call: appendCall}, &stream.Done{Reason: stream.ClientTools})
	if !strings.Contains(got, `"tools_called":[],"success":true,"finish_reason":"client_tools"`) {
		t.Errorf("done is %s", got)
	}
}

// How a call ended says how long it elapsed, rounded to milliseconds, and its result up to a bound.
func TestEndsOfCalls(t *testing.T) {
	t.Parallel()
	const elapsed = 1500 * time.Microsecond
	long := strings.Repeat("é", 20_000)
	for name, tt := range map[string]struct {
		ev   stream.Event
		want string
	}{
		"completed":      {&stream.ToolCompleted{Call: appendCall, Duration: elapsed, Result: "a\n"}, `"completed","duration_ms":2,"result":"a\n"`},
		"cut before":     {&stream.ToolCompleted{Call: appendCall, Result: "a", Truncated: true}, `"completed","duration_ms":0,"result":"a","truncated":true`},
		"of the cache":   {&stream.ToolCompleted{Call: appendCall, Result: "", Cached: true}, `"completed","duration_ms":0,"result":"","cached":true`},
		"failed":         {&stream.ToolFailed{Call: appendCall, Duration: elapsed, Message: "no"}, `"failed","duration_ms":2,"error":"no"`},
		"failed, typed":  {&stream.ToolFailed{Call: appendCall, Message: "no", ErrorType: fault.Timeout}, `"failed","duration_ms":0,"error":"no","error_type":"timeout"`},
		"unknown":        {&stream.ToolUnknown{Call: appendCall, Duration: 400 * time.Microsecond, Message: "no"}, `"unknown","duration_ms":0,"error":"no"`},
		"with a service": {&stream.Error{Type: fault.Timeout, Service: "files"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, want := members(t, new(native.Data), tt.ev), head+tt.want
			if tt.want == "" {
				want = `,"error_type":"timeout","message":"","recoverable":false,"fatal":false,"service":"files"`
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	got := members(t, new(native.Data), &stream.ToolCompleted{Call: appendCall, Result: long})
	if shown := strings.Count(got, "é"); shown == 0 || shown >= 20_000 || !strings.HasSuffix(got, `é","truncated":true`) {
		t.Errorf("%d characters of a long result are shown: …%s", shown, got[len(got)-30:])
	}
}

// Text that is taken back is in nothing that follows, whether it was escaped, or lay between
// pieces, and whether the pieces come with the text so far or not.
func TestReset(t *testing.T) {
	t.Parallel()
	for _, accumulate := range []bool{false, true} {
		d := &native.Data{Accumulate: accumulate}
		members(t, d, &stream.Start{}, &stream.Delta{Text: "a\""}, &stream.Delta{Text: "b\n"}, &stream.Delta{Text: "gone\""})
		if got, want := members(t, d, &stream.Reset{Accumulated: "a\"b", Reason: stream.ResetFallback}), `,"accumulated":"a\"b","reason":"fallback"`; got != want {
			t.Errorf("accumulated %v: %s, want %s", accumulate, got, want)
		}
		last := members(t, d, &stream.Delta{Text: "c\""})
		if accumulate && !strings.HasSuffix(last, `,"accumulated":"a\"bc\""`) {
			t.Errorf("the piece behind it is %s", last)
		}
		if got := members(t, d, &stream.Done{Reason: stream.Stop}); !strings.HasPrefix(got, `,"final_output":"a\"bc\"",`) {
			t.Errorf("accumulated %v: done is %s", accumulate, got)
		}
	}
}

// What done says of a turn beyond the least is there if there is something to say.
func TestDoneOfATurnWithMore(t *testing.T) {
	t.Parallel()
	usage := chat.Usage{InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3, CachedTokens: 4, Estimated: true}
	const tokens = `"usage":{"input_tokens":1,"output_tokens":2,"thinking_tokens":3`
	for name, tt := range map[string]struct {
		done stream.Done
		has  string
		not  []string
	}{
		"the least":  {stream.Done{Usage: usage}, tokens + `},"timings":{"total_ms":0,"first_event_ms":0,"model_ms":[],"tools":[],"write_blocked_ms":0}`, []string{"takeovers", "models", "agents", "quality", "channel", "route_ms"}},
		"keyed":      {stream.Done{Usage: usage, Keyed: true}, tokens + `,"cached_tokens":4,"estimated":true}`, []string{"takeovers", "cache_write_tokens"}},
		"written":    {stream.Done{Usage: chat.Usage{WrittenTokens: 7}, Keyed: true}, `,"cached_tokens":0,"cache_write_tokens":7}`, nil},
		"taken over": {stream.Done{Usage: usage, Takeovers: 2}, tokens + `,"estimated":true},"takeovers":2,`, []string{"cached"}},
		"two models": {stream.Done{Models: []string{"a", "b\""}}, `,"models":["a","b\""],"timings"`, nil},
		"a team":     {stream.Done{Agents: []stream.AgentOutcome{{AgentID: "x"}, {AgentID: "y"}}}, `"agents":[{"agent_id":"x"`, nil},
		"no member":  {stream.Done{Agents: []stream.AgentOutcome{}}, `,"agents":[]`, nil},
		"checked":    {stream.Done{Quality: &stream.Receipt{}}, `,"quality":{`, nil},
		"in a form":  {stream.Done{Channel: &stream.Formatted{Channel: "a\"b"}}, `,"channel":{"channel":"a\"b"`, []string{"quality"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := members(t, new(native.Data), &tt.done)
			if !strings.Contains(got, tt.has) {
				t.Errorf("%s is not in %s", tt.has, got)
			}
			for _, word := range tt.not {
				if strings.Contains(got, `"`+word) {
					t.Errorf("%s is in %s", word, got)
				}
			}
		})
	}
}

// odd is an extension that is no object, or none at all.
type odd struct {
	stream.Extension
	text string
}

func (o odd) MarshalJSON() ([]byte, error) { return []byte(o.text), nil }

func TestOddExtensions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`{}`: true, `{"a":[1]}`: true, `[1]`: false, `1`: false, `"a"`: false, `null`: false, `{`: false} {
		got, ok := new(native.Data).Append([]byte("x"), odd{text: text})
		if ok != want || !ok && string(got) != "x" {
			t.Errorf("%s: %v %s", text, ok, got)
		}
	}
}

// The first event says whose the turn is, and where it can be found, as far as that is known.
func TestStart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ev   stream.Start
		want string
	}{
		"a conversation": {stream.Start{Model: "m", ConversationID: "c\""}, `,"conversation_id":"c\"","model":"m","protocol":"sluice/1"`},
		"a user":         {stream.Start{Model: "m", UserID: "ana"}, `,"user_id":"ana","model":"m","protocol":"sluice/1"`},
		"a kept turn":    {stream.Start{Model: "m", TaskID: "task_1", TurnID: "turn_1"}, `,"task_id":"task_1","turn_id":"turn_1","model":"m","protocol":"sluice/1"`},
		"hidden marks":   {stream.Start{Model: "m\u202e"}, `,"model":"m\u202e","protocol":"sluice/1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, members(t, new(native.Data), &tt.ev)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Times are whole milliseconds; those of what did not happen are absent.
func TestTimings(t *testing.T) {
	t.Parallel()
	done := &stream.Done{
		Timings: stream.Timings{Total: 1999500 * time.Microsecond, FirstEvent: time.Millisecond, FirstDelta: 499 * time.Microsecond, Blocked: 3 * time.Millisecond},
		Route:   7 * time.Millisecond,
		Model:   []time.Duration{time.Second, 0},
		Tools:   []stream.ToolTiming{{Tool: "a\"", Duration: 5 * time.Millisecond}, {Tool: "b"}},
	}
	const want = `,"timings":{"total_ms":2000,"first_event_ms":1,"first_delta_ms":0,"model_ms":[1000,0],` +
		`"tools":[{"tool_name":"a\"","ms":5},{"tool_name":"b","ms":0}],"route_ms":7,"write_blocked_ms":3}`
	if got := members(t, new(native.Data), done); !strings.HasSuffix(got, want) {
		t.Errorf("%s does not end with %s", got, want)
	}
}

// Text that needs escapes is in accumulated as it is in the deltas, also where it is far behind.
func TestAccumulatedTextOfPieces(t *testing.T) {
	t.Parallel()
	d, whole := native.Data{Accumulate: true}, ""
	for _, piece := range []string{"plain ", "\"quoted\"", "line\n", "\u2028", "é👩", "plain"} {
		whole += piece
		var got struct{ Delta, Accumulated string }
		if err := json.Unmarshal([]byte(`{"x":0`+members(t, &d, &stream.Delta{Text: piece})+`}`), &got, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		if got.Delta != piece || got.Accumulated != whole {
			t.Errorf("%q: %q, want %q", piece, got, whole)
		}
	}
}
