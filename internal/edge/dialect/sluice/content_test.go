package sluice_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/stream"
	"sluice/stream/sse/ssetest"
)

// A client that waits as long as the header says must not come too early.
func TestRetryAfterIsRoundedUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		after time.Duration
		want  any
	}{
		{0, nil}, {1, 1.0}, {time.Millisecond, 1.0}, {time.Millisecond + 1, 2.0}, {29_999_999_999, 30000.0},
	} {
		got := lastData(t, &stream.Error{RetryAfter: tt.after})["retry_after_ms"]
		if got != tt.want {
			t.Errorf("retry_after_ms of %v is %v, want %v", tt.after, got, tt.want)
		}
	}
}

func TestResultIsCutAtACodePoint(t *testing.T) {
	t.Parallel()
	const limit = 2048
	emoji := strings.Repeat("😀", limit/4)
	for _, tt := range []struct {
		name      string
		ev        stream.ToolCompleted
		want      string
		truncated any
	}{
		{"just fits", stream.ToolCompleted{Result: emoji}, emoji, nil},
		{"one byte too many", stream.ToolCompleted{Result: "a" + emoji}, "a" + emoji[:limit-4], true},
		{"three bytes too many", stream.ToolCompleted{Result: emoji[:limit-4] + "abc😀"}, emoji[:limit-4] + "abc", true},
		{"cut before", stream.ToolCompleted{Result: "short", Truncated: true}, "short", true},
		{"kept", stream.ToolCompleted{Result: "said before", Cached: true}, "said before", nil},
		{"empty", stream.ToolCompleted{}, "", nil},
	} {
		got := lastData(t, &tt.ev)
		if cached, reported := got["cached"]; reported != tt.ev.Cached || reported && cached != true {
			t.Errorf("%s: cached %v", tt.name, cached)
		}
		if got["result"] != tt.want || got["truncated"] != tt.truncated || !utf8.ValidString(tt.want) {
			t.Errorf("%s: %d bytes, truncated %v; want %d bytes, %v", tt.name, len(got["result"].(string)), got["truncated"], len(tt.want), tt.truncated)
		}
	}
}

// The arguments are the model's: whatever they are, the data stays one JSON
// object on one line. What is fine is passed on byte for byte.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, args, want string }{
		{"none", ``, `{}`},
		{"as they are", `{ "b": 1.0, "a": 12345678901234567890,	"c":"\u00e9\/"}`, `{ "b": 1.0, "a": 12345678901234567890,	"c":"\u00e9\/"}`},
		{"over several lines", "{\n  \"big\": 12345678901234567890,\r\n  \"f\": 1.50,\r\"s\": \"a\\nb\"\n}\n", `{"big":12345678901234567890,"f":1.50,"s":"a\nb"}`},
		{"names that come twice", `{"a":1,"a":2}`, `{"a":1}`},
		{"invalid UTF-8", "{\"a\":\"x\xffy\"}", "{\"a\":\"x\ufffdy\"}"},
		{"lone surrogate", `{"a":"\ud83d"}`, "{\"a\":\"\ufffd\"}"},
		{"line separators", "{\"a\":\"\u0085é\u2028…\u2029\"}", `{"a":"\u0085é\u2028…\u2029"}`},
		{"null", `null`, `{}`},
		{"array", `[1]`, `{}`},
		{"string", `"x"`, `{}`},
		{"broken", `{"a":`, `{}`},
		{"broken over two lines", "{\"a\":\n1", `{}`},
		{"two objects", `{"a":1}{"b":2}`, `{}`},
		{"a frame in disguise", "{}\n\nevent: done\ndata: {}", `{}`},
	} {
		got := body(t, encoding{RequestID: "r"}, &stream.ToolStarted{Call: stream.Call{ID: "c", Tool: "t", Arguments: jsontext.Value(tt.args)}})
		if want := `"arguments":` + tt.want + `,"status":"in_progress"}` + "\n\n"; !strings.HasSuffix(got, want) {
			t.Errorf("%s: got\n%swant at its end\n%s", tt.name, got, want)
		}
		ssetest.SameForBothReaders(t, got)
	}
}

// Text that would break a careless encoder comes back as it was.
func TestHostileText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a\nb", "a\r\nb", "\r", "\n\nevent: done\ndata: {\"success\":true}\n\n", "data: x", ": ping", "id: 7\nretry: 0",
		"\u2028\u2029\u0085", `"`, `\`, `\u0000`, `\n`, `"}`, "\x00\x01\x1f\x7f", "\ufeff", "👩\u200d👩\u200d👧", "\U000E0041", "</script>",
		strings.Repeat("long ", 5000),
	} {
		got := body(t, encoding{RequestID: "r", Accumulated: true},
			&stream.Start{UserID: text, ConversationID: text, Model: text},
			&stream.Thinking{Content: text},
			&stream.ToolStarted{Call: stream.Call{ID: "c", Tool: text, Server: text}},
			&stream.ToolFailed{Call: stream.Call{ID: "c", Tool: text, Server: text}, Message: text},
			&stream.Delta{Text: text}, &stream.Delta{Text: text},
			&stream.Error{Message: text, Service: text}, &stream.Done{Reason: stream.Stop})
		events := ssetest.SameForBothReaders(t, got)
		var types []string
		for _, ev := range events {
			types = append(types, ev.Type)
		}
		want := []string{"start", "thinking", "tool_call", "tool_call", "response_delta", "response_delta", "error", "done"}
		if diff := cmp.Diff(want, types); diff != "" {
			t.Fatalf("%.40q: event types (-want +got):\n%s", text, diff)
		}
		for i, fields := range [][]string{{"user_id", "conversation_id", "model"}, {"content"}, {"tool_name", "server"}, {"error"}, {"delta"}, {"delta"}, {"message", "service"}} {
			for _, field := range fields {
				if got := decode(t, events[i].Data)[field]; got != text {
					t.Errorf("%.40q: %s of event %d is %q", text, field, i+1, got)
				}
			}
		}
		if got := decode(t, events[5].Data)["accumulated"]; got != text+text {
			t.Errorf("%.40q: accumulated is %q", text, got)
		}
		if got := decode(t, events[7].Data)["final_output"]; got != text+text {
			t.Errorf("%.40q: final_output is %q", text, got)
		}
	}
}
