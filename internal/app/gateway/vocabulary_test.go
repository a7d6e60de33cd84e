package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// everyEvent returns one of each event of package stream, in the order of a turn
// and with every field set.
func everyEvent() []stream.Event {
	from := stream.Attribution{AgentID: "light-agent", NodeID: "n1", SessionID: "s1"}
	call := func(id string) stream.Call {
		return stream.Call{Attribution: from, ID: id, Tool: "add", Server: "todo", Arguments: jsontext.Value("{\n \"a\": \"<&>\u2028\"}")}
	}
	failure := stream.Error{Attribution: from, Type: fault.MCPUnavailable, Message: "not there\n", Recoverable: true, RetryAfter: time.Second, Service: "mcp:todo"}
	fatal := failure
	fatal.Fatal = true
	ok, elapsed := true, int64(12)
	return []stream.Event{
		&stream.Start{ConversationID: "conv_1", UserID: "ann", Model: "m", TaskID: "task_1", TurnID: "turn_1"},
		&stream.Route{
			Decision: stream.Routed, AgentID: "light-agent", Additional: []string{"music-agent"}, Confidence: 0.9,
			Reasoning: "<b>\u2028", Method: "model", Attempts: 1, Millis: 3, Model: "default",
		},
		&stream.AgentRun{Remote: true, AgentID: "light-agent", Role: stream.RolePrimary, Attempt: 1, Status: stream.AgentStarted},
		&stream.AgentRun{
			AgentID: "light-agent", Role: stream.RolePrimary, Attempt: 1, Status: stream.AgentCompleted, Success: &ok, Millis: &elapsed,
			ErrorMessage: "\n", ErrorType: fault.ModelError, Usage: &stream.TokenUsage{Input: 1, Output: 2, Thinking: 3},
		},
		&stream.AgentRun{
			AgentID: "music-agent", Role: stream.RoleDelegate, Attempt: 1, Status: stream.AgentStarted, SessionID: "s-1", CallID: "a",
		},
		&stream.AgentRun{
			AgentID: "music-agent", Role: stream.RoleDelegate, Attempt: 1, Status: stream.AgentCompleted, SessionID: "s-1", CallID: "a", Success: &ok, Millis: &elapsed,
		},
		&stream.Thinking{Attribution: from, Content: "hm\n\n<b>"},
		&stream.ToolStarted{Repeatable: true, Call: call("a")},
		&stream.ToolProgress{Call: call("a"), Progress: 0.5, Total: 2, Message: "half\nway"},
		&stream.ToolCompleted{Call: call("a"), Duration: time.Second, Result: "{\"id\": 1}\r\n", Truncated: true, Cached: true, Warning: "odd"},
		&stream.ToolStarted{Repeatable: true, Call: call("b")},
		&stream.ToolProgress{Call: call("b"), Progress: math.NaN(), Total: math.Inf(1), Message: "\u2028"},
		&stream.ToolFailed{Call: call("b"), Duration: 1, Message: "no", ErrorType: fault.ApprovalRejected},
		&stream.ToolStarted{Repeatable: true, Call: call("c")},
		&stream.ToolUnknown{Call: call("c"), Duration: time.Hour, Message: "lost"},
		&failure,
		&stream.NodeRun{NodeID: "n", Type: "agent", Status: stream.NodeStarted, Attempt: 1},
		&stream.NodeRun{NodeID: "n", Type: "agent", Status: stream.NodeFailed, Attempt: 1, Iteration: 2, Millis: new(int64), Output: "<b>\u2028\n\n", ErrorType: fault.WorkflowLimit},
		&stream.ModelChanged{Attribution: from, Step: 2, Key: "spare", Model: "m-2", Previous: "fast", Reason: "unavailable", Continued: true},
		&stream.Quality{
			Phase: stream.Validating, Attempt: 1, Millis: 2, Plan: jsontext.Value(`{"steps":["\u2028"]}`), Chars: 3,
			Passed: []string{"a"}, Failed: []string{"b\n"},
		},
		&stream.InnerDelta{Attribution: from, Delta: "<b>\u2028\n\n", Attempt: 1},
		&stream.Delta{Attribution: from, Text: "ü\u2028\"\\\n\ndata: x\n\n"},
		&stream.Reset{Attribution: from, Accumulated: "ü\u2028", Reason: stream.ResetFallback},
		&stream.ChannelMessage{
			Channel: "sms", Sequence: 1, Total: 1, Content: "<b>\u2028\n\n", ContentType: "text/plain", Indicator: "(1/1)", Encoding: "GSM-7",
			Segments: 1, Units: 2, Chars: 3, Card: jsontext.Value(`{"a":"b"}`), Bytes: 4, Subject: "s", Text: "t", HTML: "<p>",
		},
		&stream.Approval{
			ID: "appr_1", Kind: chat.AskTools, Prompt: "Allow\n<b>?", ExpiresAt: "2026-01-01T00:00:00.000Z", Token: "slap1.x", TaskID: "task_1", Truncated: true, Schema: jsontext.Value(`{"type":"object"}`),
			Calls: []stream.ApprovalCall{{CallID: "d", Tool: "add", Server: "todo", Arguments: jsontext.Value(`{"b":"\u2028"}`), Reason: "writes", AgentID: "light-agent"}},
		},
		&stream.ToolRequired{Call: call("e")},
		&fatal,
		&stream.Done{
			Seams:     []stream.Seam{{At: 4, Key: "spare", Reason: "unavailable"}},
			Takeovers: 1, Reason: stream.Failed, Usage: chat.Usage{InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3, CachedTokens: 1, Estimated: true}, Models: []string{"fast", "spare"}, Keyed: true,
			Model: []time.Duration{1, 2}, Tools: []stream.ToolTiming{{Tool: "add", Duration: 3}},
			Agents: []stream.AgentOutcome{{AgentID: "light-agent", Success: true, Millis: 12}}, Route: 4, Asker: "light-agent",
			Quality: &stream.Receipt{Outcome: stream.Refined, ScorecardID: "sc_1", Criteria: []stream.CriterionCheck{{ID: "a", By: "code"}}},
			Channel: &stream.Formatted{Channel: "sms", Parts: 1, Metadata: jsontext.Value(`{"a":1}`)},
			Timings: stream.Timings{Total: 4, FirstEvent: 5, FirstDelta: 6, Blocked: 7},
		},
	}
}

// ofOneTurn returns those of everyEvent that can stand in one turn: it fails, asks a person, or
// asks its client.
func ofOneTurn() []stream.Event {
	return slices.DeleteFunc(everyEvent(), func(ev stream.Event) bool {
		_, required := ev.(*stream.ToolRequired)
		return required || stream.Name(ev) == "approval"
	})
}

// madeUp is an extension that this version does not know. The embedded event lends it
// the method that keeps the set of events closed.
type madeUp struct {
	*stream.Thinking `json:"-"`
	Note             string `json:"note"`
	Refuse           bool   `json:"refuse"`
}

func (madeUp) Name() string { return "made_up" }

func (m madeUp) Allow(*stream.Turn) error {
	if m.Refuse {
		return errors.New("not now")
	}
	return nil
}

// wordless is an extension of which no JSON can be made.
type wordless struct {
	madeUp
	Impossible chan int
}

// foreign is of another package and embeds an event: an Event to the compiler alone.
type foreign struct{ *stream.Delta }

// A new type of event must be added here, with every field set, and so meets
// what this file asks of each.
func TestEveryEventIsWalked(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../stream/*.go")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)^func \(\w* ?\*?(\w+)\) markEvent\(\)`).FindAllStringSubmatch(readText(t, f), -1) {
			want[m[1]] = true
		}
	}
	got, set := map[string]bool{}, map[string]bool{}
	for _, ev := range everyEvent() {
		v := reflect.ValueOf(ev).Elem()
		got[v.Type().Name()] = true
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			if v.Type().Field(i).Tag.Get("json") == "-" {
				continue // it is for what keeps turns, and neither written nor stored
			}
			set[name] = set[name] || !v.Field(i).IsZero()
		}
	}
	for name, is := range set {
		if !is {
			t.Errorf("%s is set in none of them", name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-declared +walked):\n%s", diff)
	}
}

// An encoder writes whole frames or nothing, whatever it is handed.
func TestEncodersWriteWholeFramesOrNothing(t *testing.T) {
	t.Parallel()
	for name, encoder := range map[string]func() stream.Encoder{
		"sluice":              func() stream.Encoder { return sluice.NewEncoder(wholetest.RequestID, false, 0) },
		"sluice, accumulated": func() stream.Encoder { return sluice.NewEncoder(wholetest.RequestID, true, 0) },
		"chatkit":             func() stream.Encoder { return chatKitEncoder(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			native := name != "chatkit"
			var whole []byte
			enc := encoder()
			for i, ev := range everyEvent() {
				stamp := stream.Stamp{N: i + 1, At: time.Duration(i) * time.Second}
				for _, odd := range []stream.Event{nil, foreign{&stream.Delta{Text: "d"}}, wordless{}} {
					if got := enc.Encode(nil, stamp, odd); len(got) > 0 {
						t.Errorf("%T has a frame: %q", odd, got)
					}
				}
				frame := enc.Encode(nil, stamp, ev)
				names := wholeFrames(t, string(frame))
				if native && !slices.Equal(names, []string{stream.Name(ev)}) {
					t.Errorf("%T has the frames %q: %q", ev, names, frame)
				}
				whole = append(whole, frame...)
				if i == 1 {
					frame := enc.Encode(nil, stamp, madeUp{Note: "a\n\nb"})
					if names := wholeFrames(t, string(frame)); native != slices.Equal(names, []string{"made_up"}) {
						t.Errorf("an unknown extension has the frames %q: %q", names, frame)
					}
				}
			}
			if len(whole) == 0 || len(wholeFrames(t, string(enc.Heartbeat()))) > 1 {
				t.Errorf("the stream is %q, a heartbeat %q", whole, enc.Heartbeat())
			}
		})
	}
}

func chatKitEncoder(t *testing.T) stream.Encoder {
	t.Helper()
	x, err := chatkit.New(chatkit.Config{}).Open(t.Context(), []byte(chatKitBody(map[string]any{"input": "hi"})))
	if err != nil {
		t.Fatal(err)
	}
	return x.Encoder
}

// wholeFrames checks that text is a sequence of whole frames, each with one JSON object
// or nothing but a comment, and returns the names of the events.
func wholeFrames(t *testing.T, text string) (names []string) {
	t.Helper()
	if text == "" {
		return nil
	}
	body, ok := strings.CutSuffix(text, "\n\n")
	if !ok {
		t.Errorf("the last frame is not whole: %q", text)
		return nil
	}
	for frame := range strings.SplitSeq(body, "\n\n") {
		name, data := "", 0
		for line := range strings.SplitSeq(frame, "\n") {
			field, value, _ := strings.Cut(line, ": ")
			switch field {
			case "event":
				name = value
			case "data":
				data++
				var object map[string]any
				if err := json.Unmarshal([]byte(value), &object); err != nil {
					t.Errorf("%v: %q", err, frame)
				}
			case "id", "retry", "":
			default:
				t.Errorf("a line is no field: %q in %q", line, frame)
			}
		}
		if comment := strings.HasPrefix(frame, ":"); comment == (data == 1) {
			t.Errorf("%d data lines: %q", data, frame)
		} else if !comment {
			names = append(names, name)
		}
	}
	return names
}

// What is stored is one line that can be read back, or refused; an extension of a
// newer version is refused when it is read.
func TestStorageAcceptsWholeEventsOrRefuses(t *testing.T) {
	t.Parallel()
	for _, ev := range everyEvent() {
		line, err := stream.AppendStored(nil, stream.Stamp{N: 1}, ev)
		if err != nil || !json.Valid(line) || bytes.ContainsAny(line, "\r\n") {
			t.Fatalf("%T is stored as %q, %v", ev, line, err)
		}
		if _, again, err := readStored(line); err != nil || reflect.TypeOf(again) != reflect.TypeOf(ev) {
			t.Errorf("%T is read back as %T, %v", ev, again, err)
		}
	}
	for _, ev := range []stream.Event{nil, foreign{&stream.Delta{Text: "d"}}, wordless{}} {
		if line, err := stream.AppendStored(nil, stream.Stamp{N: 1}, ev); err == nil || len(line) > 0 {
			t.Errorf("%T is stored as %q, %v", ev, line, err)
		}
	}
	line, err := stream.AppendStored(nil, stream.Stamp{N: 1}, madeUp{Note: "n"})
	if err != nil {
		t.Fatal(err)
	}
	if _, ev, err := readStored(line); !errors.Is(err, stream.ErrStored) {
		t.Errorf("%s is read back as %T, %v", line, ev, err)
	}
}

// emitter is a Runner that emits every event, and what is none, and notes what was
// refused.
type emitter struct{ refused []string }

func (e *emitter) Run(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	all := append(ofOneTurn(), madeUp{Note: "a\n\nb"}, madeUp{Refuse: true}, foreign{&stream.Delta{Text: "d"}}, nil)
	for _, ev := range all {
		_, framing := ev.(*stream.Done)
		if failure, ok := ev.(*stream.Error); framing || ok && failure.Fatal {
			continue // the frame has these
		}
		if err := sink.Emit(ev); errors.Is(err, stream.ErrGrammar) {
			e.refused = append(e.refused, fmt.Sprintf("%T", ev))
		} else if err != nil {
			return stream.Result{}, err
		}
	}
	return stream.Result{}, &fault.Error{Type: fault.Timeout, Message: "late"}
}

// Through the whole gateway each event is reported, counted under its name, or refused.
func TestGatewayEmitsAndCountsEveryEvent(t *testing.T) {
	t.Parallel()
	const request = "POST /chat/stream\nContent-Type: application/json\n\n{\"input\":\"hi\"}\n---\n"
	tr := wholetest.Transcript{Archive: txtar.Parse([]byte("-- request --\n" + request +
		"POST /chatkit\nContent-Type: application/json\n\n" + chatKitBody(map[string]any{"input": "hi"}) + "\n---\nGET /metrics\n"))}
	synctest.Test(t, func(t *testing.T) {
		e := new(emitter)
		replies := tr.PlayWith(t, tr.Gemini(t), new(bytes.Buffer), gateway.Seams{Runner: func(*agent.Agent) stream.Runner { return e }})
		for _, r := range replies {
			if r.Status != http.StatusOK {
				t.Fatalf("%d: %s", r.Status, r.Body)
			}
		}
		once := []string{"*stream.Start", "gateway_test.madeUp", "gateway_test.foreign", "<nil>"}
		if diff := cmp.Diff(append(slices.Clone(once), once...), e.refused); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
		want := map[string]int{"made_up": 1}
		for _, ev := range ofOneTurn() {
			want[stream.Name(ev)]++
		}
		got := map[string]int{}
		for _, name := range wholeFrames(t, replies[0].Body) {
			got[name]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("frames (-want +got):\n%s", diff)
		}
		wholeFrames(t, replies[1].Body)
		for name, n := range want {
			if line := fmt.Sprintf("\nsluice_events_total{event=%q} %d\n", name, 2*n); !strings.Contains(replies[2].Body, line) {
				t.Errorf("the metrics have no line %q", line)
			}
		}
	})
}

// The places that list the events' names list the same.
func TestVocabulariesNameEveryEvent(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, ev := range everyEvent() {
		names[stream.Name(ev)] = true
	}
	_, openAPI, _ := strings.Cut(readText(t, "../../../web/openapi.yaml"), "\n    Stream:\n")
	_, openAPI, _ = strings.Cut(openAPI, "\n          x-events:\n")
	openAPI = regexp.MustCompile(`(?s)\n {1,10}\S.*`).ReplaceAllString(openAPI, "")
	_, script, _ := strings.Cut(readText(t, "../../../web/wire/events.js"), "eventNames = [")
	script, _, _ = strings.Cut(script, "]")
	_, page, _ := strings.Cut(readText(t, "../../../docs/events.md"), "\n| event | data |\n| --- | --- |\n")
	page, _, _ = strings.Cut(page, "\n\n")
	_, judge, _ := strings.Cut(readText(t, "../../clients/loadtest/audit.go"), "\nfunc (a *audit) checkEvent(")
	judge, _, _ = strings.Cut(judge, "\n}\n")
	for where, found := range map[string][][]string{
		"internal/clients/loadtest/audit.go": regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(judge, -1),
		"web/openapi.yaml":                   regexp.MustCompile(`(?m)^ {12}(\w+):$`).FindAllStringSubmatch(openAPI, -1),
		"web/wire/events.js":                 regexp.MustCompile(`'(\w+)'`).FindAllStringSubmatch(script, -1),
		"docs/events.md":                     regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(page, -1),
	} {
		got := map[string]bool{}
		for _, m := range found {
			got[m[1]] = true
		}
		if where == "web/openapi.yaml" && got["heartbeat"] { // no event of a turn
			delete(got, "heartbeat")
		}
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("events in %s (-emitted +named):\n%s", where, diff)
		}
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readStored reads an event that was stored by itself.
func readStored(line []byte) (at stream.Stamp, ev stream.Event, err error) {
	err = stream.ReadStoredLine(line, func(s stream.Stamp, e stream.Event) { at, ev = s, e })
	return at, ev, err
}
