package anthropic

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// Events of a stream, in short.
const (
	started = `{"type":"message_start","message":{"model":"m","usage":{"input_tokens":3,"output_tokens":1}}}`
	stopped = `{"type":"message_stop"}`
	hello   = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}`
)

func ended(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":9}}`
}

func blockAt(index, block string) string {
	return `{"type":"content_block_start","index":` + index + `,"content_block":` + block + `}`
}

func deltaAt(index, delta string) string {
	return `{"type":"content_block_delta","index":` + index + `,"delta":` + delta + `}`
}

func stopAt(index string) string { return `{"type":"content_block_stop","index":` + index + `}` }

// toolAt is a call whose arguments come in pieces.
func toolAt(index, id, name string, pieces ...string) []string {
	list := []string{blockAt(index, `{"type":"tool_use","id":"`+id+`","name":"`+name+`","input":{}}`)}
	for _, p := range pieces {
		list = append(list, deltaAt(index, `{"type":"input_json_delta","partial_json":`+strconv.Quote(p)+`}`))
	}
	return append(list, stopAt(index))
}

func all(list ...any) (flat []string) {
	for _, e := range list {
		switch e := e.(type) {
		case string:
			flat = append(flat, e)
		case []string:
			flat = append(flat, e...)
		}
	}
	return flat
}

func TestEndings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		events []string
		finish chat.Finish
		err    error
	}{
		{"end_turn", all(started, hello, ended("end_turn"), stopped), chat.FinishStop, nil},
		{"pause_turn", all(started, hello, ended("pause_turn"), stopped), chat.FinishStop, nil},
		{"stop_sequence", all(started, hello, ended("stop_sequence"), stopped), chat.FinishStop, nil},
		{"a word of tomorrow", all(started, hello, ended("bored"), stopped), chat.FinishStop, nil},
		{"no reason", all(started, hello, stopped), chat.FinishStop, nil},
		{"no message_stop", all(started, hello, ended("end_turn")), chat.FinishStop, nil},
		{"max_tokens", all(started, hello, ended("max_tokens"), stopped), chat.FinishMaxTokens, nil},
		{"max_tokens without text", all(started, ended("max_tokens"), stopped), chat.FinishMaxTokens, nil},
		{"the window is full", all(started, hello, ended("model_context_window_exceeded")), chat.FinishMaxTokens, nil},
		{"tool_use without a call", all(started, ended("tool_use"), stopped), "", model.ErrNoText},
		{"only thoughts", all(started, blockAt("0", `{"type":"thinking","thinking":"hm","signature":"s"}`), stopAt("0"), ended("end_turn"), stopped), "", model.ErrNoText},
		{"neither reason nor end", all(started, hello), "", model.ErrCut},
		{"nothing", nil, "", model.ErrCut},
		{"a reason of null", all(started, hello, `{"type":"message_delta","delta":{"stop_reason":null}}`), "", model.ErrCut},
	} {
		got := answerTo(tt.events...)
		if got.finish != tt.finish || got.err != tt.err {
			t.Errorf("%s: %q, %v, want %q, %v", tt.name, got.finish, got.err, tt.finish, tt.err)
		}
	}
	got := answerTo(started, ended("refusal"), stopped)
	if _, ok := errors.AsType[*model.Blocked](got.err); !ok || got.usage.OutputTokens != 9 {
		t.Errorf("refusal: %v, usage %+v", got.err, got.usage)
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	thinking := `{"type":"thinking","thinking":"a\"b","signature":"c2ln"}`
	for _, tt := range []struct {
		name   string
		events []string
		want   []chat.Part
	}{
		{"a text that the block begins with", all(blockAt("0", `{"type":"text","text":"He"}`), deltaAt("0", `{"type":"text_delta","text":"y"}`)), []chat.Part{text("Hey")}},
		{"a delta without a block", all(hello), []chat.Part{text("Hello")}},
		{"type comes last", all(`{"delta":{"text":"Hello","type":"text_delta"},"index":0,"type":"content_block_delta"}`), []chat.Part{text("Hello")}},
		{"unknown events, blocks and deltas", all(hello, `{"type":"new","delta":"x","index":{},"usage":3}`, `{"a":[1]}`,
			blockAt("1", `{"type":"server_tool_use","id":"i","name":"web","input":{},"text":[]}`), deltaAt("1", `{"type":"text_delta","text":"no"}`), deltaAt("1", `{"type":"input_json_delta","partial_json":"{"}`), stopAt("1"),
			deltaAt("0", `{"type":"citations_delta","citation":{"text":"no"},"text":7,"thinking":"no"}`)), []chat.Part{text("Hello")}},
		{"thinking with the signature in pieces", all(blockAt("0", `{"type":"thinking","thinking":"","signature":""}`), deltaAt("0", `{"type":"thinking_delta","thinking":"a\"b"}`),
			deltaAt("0", `{"type":"signature_delta","signature":"c2"}`), deltaAt("0", `{"type":"signature_delta","signature":"ln"}`), stopAt("0"), deltaAt("1", `{"type":"text_delta","text":"x"}`)),
			[]chat.Part{{Text: `a"b`, Thought: true}, {Kept: thinking}, text("x")}},
		{"thinking that is not shown", all(blockAt("0", `{"type":"thinking","thinking":"","signature":"c2ln"}`), stopAt("0"), deltaAt("1", `{"type":"text_delta","text":"x"}`)),
			[]chat.Part{{Kept: `{"type":"thinking","thinking":"","signature":"c2ln"}`}, text("x")}},
		{"thinking without a signature", all(blockAt("0", `{"type":"thinking","thinking":"hm"}`), stopAt("0"), hello), []chat.Part{{Text: "hm", Thought: true}, text("Hello")}},
		{"a redacted block, byte for byte", all(blockAt("0", `{"data" : "x=" ,"new":[1], "type":"redacted_thinking"}`), stopAt("0"), deltaAt("1", `{"type":"text_delta","text":"x"}`)),
			[]chat.Part{{Kept: `{"data" : "x=" ,"new":[1], "type":"redacted_thinking"}`}, text("x")}},
		{"a call, then text", all(toolAt("0", "i", "f", "", `{"a":`, "1}"), deltaAt("1", `{"type":"text_delta","text":"x"}`)), []chat.Part{text("x"), {Call: callOf("i", "f", `{"a":1}`)}}},
		{"arguments as input", all(blockAt("0", `{"type":"tool_use","id":"i","name":"f","input":{"a":1}}`), stopAt("0")), []chat.Part{{Call: callOf("i", "f", `{"a":1}`)}}},
		{"no input", all(blockAt("0", `{"type":"tool_use","id":"i","name":"f"}`)), []chat.Part{{Call: callOf("i", "f", `{}`)}}},
		{"input of null", all(blockAt("0", `{"type":"tool_use","id":"i","name":"f","input":null}`)), []chat.Part{{Call: callOf("i", "f", `{}`)}}},
		{"calls side by side", all(blockAt("1", `{"type":"tool_use","id":"i","name":"f"}`), blockAt("7", `{"type":"tool_use","id":"j","name":"g"}`),
			deltaAt("1", `{"type":"input_json_delta","partial_json":"{\"a\""}`), deltaAt("7", `{"type":"input_json_delta","partial_json":"{}"}`), deltaAt("1", `{"type":"input_json_delta","partial_json":":1}"}`), stopAt("1"), stopAt("7")),
			[]chat.Part{{Call: callOf("i", "f", `{"a":1}`)}, {Call: callOf("j", "g", `{}`)}}},
		{"half a code point in each piece of a call", all(toolAt("0", "i", "f", `{"a":"\ud83d`, `\ude00"}`)), []chat.Part{{Call: callOf("i", "f", `{"a":"\ud83d\ude00"}`)}}},
	} {
		got := answerTo(append(tt.events, ended("end_turn"), stopped)...)
		if diff := cmp.Diff(tt.want, got.parts); diff != "" || got.err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, got.err, diff)
		}
	}
}

// What comes before a message that begins again is dropped, but for what was shown.
func TestMessageBeginsAgain(t *testing.T) {
	t.Parallel()
	thought := all(blockAt("0", `{"type":"thinking","thinking":"","signature":"old"}`), stopAt("0"))
	got := answerTo(all(started, thought, toolAt("1", "i", "f", `{}`), toolAt("2", "half", "f", `{"a`)[:2],
		`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":2}}}`, hello, toolAt("1", "j", "g", `{}`), ended("tool_use"), stopped)...)
	want := []chat.Part{text("Hello"), {Call: callOf("j", "g", `{}`)}}
	if diff := cmp.Diff(want, got.parts); diff != "" || got.err != nil {
		t.Errorf("%v (-want +got):\n%s", got.err, diff)
	}
	if want := (&chat.Usage{InputTokens: 7, OutputTokens: 9, CachedTokens: 2}); !cmp.Equal(want, got.usage) {
		t.Errorf("usage %+v, want %+v", got.usage, want)
	}
}

// A call that the limit cut does not run; those before it do.
func TestCallsAtTheLimit(t *testing.T) {
	t.Parallel()
	whole := toolAt("0", "i", "f", `{"a":1}`)
	for name, cut := range map[string][]string{
		"half its arguments":  toolAt("1", "j", "g", `{"a":`),
		"none of them":        toolAt("1", "j", "g", ""),
		"no end of the block": toolAt("1", "j", "g", `{"a":`)[:2],
	} {
		got := answerTo(all(started, whole, cut, ended("max_tokens"), stopped)...)
		if got.err != nil || len(got.calls) != 1 || got.calls[0].ID != "i" || got.finish != chat.FinishMaxTokens {
			t.Errorf("%s: %+v, %v", name, got.calls, got.err)
		}
	}
}

func TestMalformedCalls(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{
		`[]`, `[{"SECRET":1}]`, `7`, `"SECRET"`, `"{\"SECRET\":1}"`, `true`, `{"a":1`, `{"a":1}}`,
		strings.Repeat(`{"a":`, 10_001) + "1" + strings.Repeat("}", 10_001),
	} {
		got := answerTo(all(started, toolAt("0", "i", "f", arguments), ended("tool_use"), stopped)...)
		if !errors.Is(got.err, model.ErrMalformedCall) || strings.Contains(got.err.Error(), "SECRET") || len(got.calls) > 0 {
			t.Errorf("%.40s: %v, %+v", arguments, got.err, got.calls)
		}
	}
	if got := answerTo(all(toolAt("0", "i", "", `{}`), stopped)...); !errors.Is(got.err, model.ErrMalformedCall) {
		t.Errorf("a call without a name: %v", got.err)
	}
}

// Ids that are missing, repeated or no ids at all are replaced.
func TestIDsOfCalls(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 1<<20)
	got := answerTo(all(started, toolAt("0", "same", "f"), toolAt("1", "same", "g"), toolAt("2", "", "f"), toolAt("3", huge, "f"), ended("tool_use"), stopped)...)
	if got.err != nil || len(got.calls) != 4 || got.calls[0].ID != "same" {
		t.Fatalf("%v, %+v", got.err, got.calls)
	}
	seen := map[string]bool{"same": true}
	for _, c := range got.calls[1:] {
		if len(c.ID) != 9 || !model.WordOf(c.ID, 9) || seen[c.ID] {
			t.Errorf("id %q", c.ID)
		}
		seen[c.ID] = true
	}
}

// Indexes that no stream has name no block of their own, and do no harm.
func TestOddIndexes(t *testing.T) {
	t.Parallel()
	for _, index := range []string{`-1`, `1000000000`, `"0"`, `1.5`, `1e99`, `null`, `{}`} {
		got := answerTo(all(started, toolAt(index, "i", "f", `{"a":`, `1}`), ended("tool_use"), stopped)...)
		if got.err != nil || len(got.calls) != 1 || string(got.calls[0].Arguments) != `{"a":1}` {
			t.Errorf("index %s: %v, %+v", index, got.err, got.calls)
		}
	}
}

func TestUnreadableEvents(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		``, `x`, `"SECRET"`, `[]`, `7`, `{`, `{}{}`, `{"type":"ping"`, `{"type":"ping","type":"ping"}`, "<html>SECRET</html>",
		`{"type":"content_block_delta","index":0,"delta":"SECRET"}`, deltaAt("0", `{"type":"text_delta","text":7}`), deltaAt("0", `{"type":"text_delta","text":["SECRET"]}`),
		deltaAt("0", `{"type":"text_delta","text":"\ud83d"}`), "{\"type\":\"x\xff\"}", blockAt("0", `[]`), blockAt("0", `{"type":"text","text":{}}`),
		`{"type":"message_delta","delta":{"stop_reason":7}}`,
	} {
		got := answerTo(data)
		if !errors.Is(got.err, model.ErrUnreadable) || strings.Contains(got.err.Error(), "SECRET") {
			t.Errorf("%s: %v", data, got.err)
		}
	}
}

// A figure that cannot be read is left out; those next to it count.
func TestOddUsage(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{`1.5`, `"7"`, `-5`, `1e18`, `1000000000000000000`, `[]`, `{}`, `true`, `null`} {
		got := answerTo(`{"type":"message_start","message":{"usage":{"input_tokens":`+odd+`,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":3}}}`,
			hello, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":`+odd+`}}`, `{"type":"message_delta","usage":`+odd+`}`)
		want := &chat.Usage{InputTokens: 6, OutputTokens: 3, CachedTokens: 4, WrittenTokens: 2}
		if diff := cmp.Diff(want, got.usage); diff != "" || got.err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", odd, got.err, diff)
		}
	}
	if got := answerTo(hello, stopped); got.usage != nil || got.err != nil {
		t.Errorf("no figures: %+v, %v", got.usage, got.err)
	}
}

// What is held until the end of an answer is bounded.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	a := testCodec(nil).NewAnswer()
	piece := strings.Repeat("x", 1<<19)
	list := []string{blockAt("0", `{"type":"tool_use","id":"i","name":"f"}`)}
	for range 6 {
		list = append(list, deltaAt("0", `{"type":"input_json_delta","partial_json":"`+piece+`"}`))
	}
	if got := read(a, events(list...)); !errors.Is(got.err, model.ErrTooLarge) {
		t.Errorf("a call of 3 MiB: %v", got.err)
	}
	list = list[:0]
	for i := range 10_000 {
		list = append(list, toolAt(strconv.Itoa(i), strconv.Itoa(i), "f", `{}`)...)
	}
	a.Reset()
	if got := read(a, events(append(list, stopped)...)); got.err != nil || len(got.calls) != 10_000 {
		t.Errorf("many calls: %v, %d", got.err, len(got.calls))
	}
	list = list[:0]
	for i := range 40_000 {
		list = append(list, blockAt(strconv.Itoa(i), `{"type":"tool_use"}`))
	}
	a.Reset()
	if got := read(a, events(list...)); !errors.Is(got.err, model.ErrTooLarge) {
		t.Errorf("blocks without end: %v", got.err)
	}
}

// An error ends the answer, in whatever form it comes.
func TestErrorsInTheStream(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		event sseEvent
		kind  model.Kind
	}{
		{sseEvent{"error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, model.KindServer},
		{sseEvent{"", `{"type":"error","error":{"type":"rate_limit_error"}}`}, model.KindRateLimited},
		{sseEvent{"", `{"error":{"type":"api_error"}}`}, model.KindServer},
		{sseEvent{"", `{"error":"SECRET","type":"error"}`}, model.KindServer},
		{sseEvent{"", `{"type":"error"}`}, model.KindServer},
		{sseEvent{"error", `gone`}, model.KindServer},
		{sseEvent{"error", `{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`}, model.KindOverflow},
	} {
		got := read(testCodec(nil).NewAnswer(), append(events(started, hello), tt.event))
		r, ok := errors.AsType[*model.Refusal](got.err)
		if !ok || r.Kind != tt.kind || strings.Contains(r.Brief(), "SECRET") {
			t.Errorf("%+v: %+v (%v)", tt.event, r, got.err)
		}
	}
	if got := answerTo(started, `{"type":"ping","error":null}`, hello, stopped); got.err != nil {
		t.Errorf("an error of null: %v", got.err)
	}
	if got := read(testCodec(nil).NewAnswer(), []sseEvent{{"content_block_delta", `{"delta":{"text":"Hello"}}`}, {"message_stop", `{}`}}); got.text != "Hello" || got.err != nil {
		t.Errorf("types as names of events: %+v", got)
	}
}

func TestWholeMessages(t *testing.T) {
	t.Parallel()
	const body = `{"id":"msg","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},
		{"type":"text","text":"Hello"},{"type":"tool_use","id":"i","name":"f","input":{ "a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`
	a := testCodec(nil).NewAnswer()
	var c chat.Chunk
	if err := a.DecodeDocument([]byte(body), &c); err != nil || !a.HasEnded() {
		t.Fatal(err)
	}
	if err := a.End(&c); err != nil {
		t.Fatal(err)
	}
	want := chat.Chunk{Finish: chat.FinishStop, Usage: &chat.Usage{InputTokens: 1, OutputTokens: 2}, Parts: []chat.Part{
		{Text: "hm", Thought: true}, {Kept: `{"type":"thinking","thinking":"hm","signature":"c2ln"}`}, text("Hello"), {Call: callOf("i", "f", `{ "a":1}`)},
	}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("chunk (-want +got):\n%s", diff)
	}
	if n := a.Stats(); n.TextLength != 5 || n.Finish != "tool_use" || n.Model != "m" || n.Size == 0 || n.Usage == nil {
		t.Errorf("note %+v", n)
	}
	for _, body := range []string{``, `x`, `{}`, `[]`, `{"type":"ping"}`, `{"type":"message","content":"SECRET"}`, `{"choices":[]}`} {
		a.Reset()
		if err := a.DecodeDocument([]byte(body), &c); !errors.Is(err, model.ErrUnreadable) {
			t.Errorf("%s: %v", body, err)
		}
	}
	a.Reset()
	err := a.DecodeDocument([]byte(`{"type":"error","error":{"type":"overloaded_error"}}`), &c)
	if r, ok := errors.AsType[*model.Refusal](err); !ok || r.Status != 529 {
		t.Errorf("an error: %v", err)
	}
	a.Reset()
	if got := read(a, events(started, hello, stopped)); got.err != nil || got.text != "Hello" {
		t.Errorf("a stream after whole messages: %+v", got)
	}
}
