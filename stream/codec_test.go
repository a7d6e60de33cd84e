package stream_test

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// everyEvent returns one of each core event, with every field set.
func everyEvent() []stream.Event {
	from := stream.Attribution{AgentID: "light-agent", NodeID: "n1", SessionID: "s1"}
	call := stream.Call{Attribution: from, ID: "a", Tool: "add", Server: "todo", Arguments: jsontext.Value("{\n \"b\" :  1.50,\"a\":\"<&>\u2028\"}")}
	return []stream.Event{
		&stream.Start{ConversationID: "conv_1", UserID: "ann", Model: "m"},
		&stream.Thinking{Attribution: from, Content: "hm <b>"},
		&stream.Delta{Attribution: from, Text: "ü\u2028\"\\\n"},
		&stream.Delta{Text: "ü\u2028\"\\\n\r\x00<&>"},
		&stream.ToolStarted{Call: call},
		&stream.ToolStarted{Call: call, Repeatable: true},
		&stream.ToolProgress{Call: call, Progress: 0.5, Total: 2, Message: "half\nway"},
		&stream.ToolCompleted{Call: call, Duration: time.Second, Result: "{\"id\": 1}", Truncated: true},
		&stream.ToolCompleted{Call: call, Result: "kept", Cached: true, Warning: "odd"},
		&stream.ToolFailed{Call: call, Duration: 1, Message: "no"},
		&stream.ToolFailed{Call: call, Message: "no", ErrorType: fault.ApprovalRejected},
		&stream.ToolUnknown{Call: call, Duration: time.Hour, Message: "lost"},
		&stream.Error{Attribution: from, Type: fault.Timeout, Message: "late", Recoverable: true, Fatal: true, RetryAfter: 1500 * time.Microsecond, Service: "gemini"},
		&stream.ModelChanged{Attribution: from, Step: 2, Key: "spare", Model: "m-2", Previous: "fast", Reason: "unavailable"},
		&stream.Reset{Accumulated: "ü\u2028<", Reason: stream.ResetFallback},
		&stream.Reset{Reason: stream.ResetTakenOver, Attribution: from},
		&stream.InnerDelta{Attribution: from, Delta: "ü\u2028"},
		&stream.Quality{Phase: stream.Planning, Attempt: 1, Millis: 2, Plan: jsontext.Value(`{"steps":[]}`)},
		&stream.Quality{Phase: stream.Validating, Attempt: 2, Passed: []string{}, Failed: []string{"complete"}},
		&stream.ChannelMessage{
			Channel: "sms", Sequence: 1, Total: 1, Content: "<hi>", ContentType: "text/plain", Indicator: "(1/1)", Encoding: "GSM-7", Segments: 1, Units: 4, Chars: 1,
			Card: jsontext.Value(`{"a":"<"}`), Bytes: 9, Subject: "s", Text: "t", HTML: "<p>",
		},
		&stream.Done{
			Reason: stream.Stop,
			Quality: &stream.Receipt{Outcome: stream.Refined, Refined: true, ScorecardID: "sc_1", StyleVersion: "1", Criteria: []stream.CriterionCheck{
				{ID: "a", By: "code", Must: true, Passed: new(bool), FailedFirst: true}, {ID: "b", By: "judge", Planned: true, NotApplicable: true},
			}, Millis: stream.ReceiptMillis{Plan: 1, Held: 2}, Usage: stream.TokenUsage{Input: 1}, Plan: stream.ReceiptPlan{Steps: 3, Ran: 2}},
			Channel: &stream.Formatted{Channel: "sms", IsSplit: true, Parts: 2, Metadata: jsontext.Value(`{"x":[]}`), Delivery: &stream.Delivery{Status: "failed", Attempts: 1, Millis: 2, ID: "msg_1"}},
		},
		&stream.Approval{
			ID: "appr_1", Kind: chat.AskTools, Prompt: "Allow <b>?", ExpiresAt: "2026-01-01T00:00:00.000Z", Token: "slap1.x", TaskID: "task_1",
			Calls: []stream.ApprovalCall{{CallID: "a", Tool: "add", Server: "todo", Arguments: jsontext.Value(`{"b":1.50}`), Reason: "writes", AgentID: "light-agent"}},
		},
		&stream.Done{
			Reason: stream.MaxSteps, Usage: chat.Usage{InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3, CachedTokens: 1, Estimated: true}, Models: []string{"fast", "spare"}, Keyed: true,
			Model: []time.Duration{1, 2}, Tools: []stream.ToolTiming{{Tool: "add", Duration: 3}},
			Timings: stream.Timings{Total: 4, FirstEvent: 5, FirstDelta: 6, Blocked: 7},
		},
	}
}

// What was stored is read back whole, so that an encoder cannot see a difference.
func TestStoredEventsAreReadBackWhole(t *testing.T) {
	t.Parallel()
	for i, ev := range everyEvent() {
		want := stream.Stamp{N: i + 1, At: time.Duration(i) * time.Millisecond}
		line, err := stream.AppendStored(nil, want, ev)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(line, "\r\n") {
			t.Errorf("%T is stored on several lines: %q", ev, line)
		}
		stamp, got, err := readStored(line)
		if err != nil || stamp != want {
			t.Fatalf("readStored(%s) = %v, %v", line, stamp, err)
		}
		if diff := cmp.Diff(ev, got); diff != "" {
			t.Errorf("%T (-stored +read):\n%s", ev, diff)
		}
	}
}

// JSON has no such numbers; an encoder writes 0 for them, before and after.
func TestStoredProgressIsFinite(t *testing.T) {
	t.Parallel()
	line, err := stream.AppendStored(nil, stream.Stamp{N: 1}, &stream.ToolProgress{Progress: math.NaN(), Total: math.Inf(1)})
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := readStored(line)
	if diff := cmp.Diff(stream.Event(&stream.ToolProgress{}), got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestStoredEventsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		``, `{}`, `null`, `[]`, `{"n":1,"at":0,"event":"delta","data":{"text":"a"}`, `{"n":1,"at":0,"event":"delta","data":{"text":"a"}} x`,
		`{"n":0,"at":0,"event":"delta","data":{"text":"a"}}`, `{"n":1,"at":-1,"event":"delta","data":{"text":"a"}}`,
		`{"n":1,"at":0,"event":"from_the_future","data":{}}`, `{"n":1,"at":0,"event":"delta","data":7}`, `{"n":1,"at":0,"event":"delta"}`,
		`{"n":"1","at":0,"event":"delta","data":{}}`, `{"n":1,"at":0,"event":"tool_started","data":[]}`,
	} {
		if stamp, ev, err := readStored([]byte(line)); !errors.Is(err, stream.ErrStored) {
			t.Errorf("readStored(%s) = %v, %v, %v", line, stamp, ev, err)
		}
	}
	if _, err := stream.AppendStored(nil, stream.Stamp{N: 1}, foreign{&stream.Delta{Text: "d"}}); err == nil {
		t.Error("an event of another package was stored")
	}
	if line, err := stream.AppendStored([]byte("before"), stream.Stamp{N: 1}, &stream.Quality{Plan: jsontext.Value(`{"steps":`)}); err == nil || string(line) != "before" {
		t.Errorf("an event that is no JSON: %q, %v", line, err)
	}
}

// readStored reads an event that was stored by itself.
func readStored(line []byte) (at stream.Stamp, ev stream.Event, err error) {
	err = stream.ReadStoredLine(line, func(s stream.Stamp, e stream.Event) { at, ev = s, e })
	return at, ev, err
}
