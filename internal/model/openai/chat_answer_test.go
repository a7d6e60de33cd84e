package openai

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

const (
	stop = `{"choices":[{"delta":{},"finish_reason":"stop"}]}`
	done = `[DONE]`
)

// says makes a chunk of a delta's members.
func says(members string) string { return `{"choices":[{"delta":{` + members + `}}]}` }

func toEvents(chunks ...string) (events []event) {
	for _, c := range chunks {
		events = append(events, event{data: c})
	}
	return events
}

// summary reports an answer in one line.
func summary(h observed) string {
	s := h.text
	if h.thoughts != "" {
		s = "(" + h.thoughts + ")" + s
	}
	for _, c := range h.calls {
		s += fmt.Sprintf(" %s%s", c.Name, c.Arguments)
	}
	return s + " | " + ending(h)
}

func TestChatAnswers(t *testing.T) {
	t.Parallel()
	text := says(`"content":"a"`)
	tests := []struct {
		name   string
		chunks []string
		want   string
	}{
		{"text", []string{text, says(`"content":"b"`), stop, done}, "ab | stop"},
		{"a finish reason is enough", []string{text, stop}, "a | stop"},
		{"[DONE] is enough", []string{text, done}, "a | stop"},
		{"no end", []string{text}, "a | error model_unavailable"},
		{"nothing after [DONE]", []string{text, done, says(`"content":"b"`)}, "a | stop"},
		{"text after the finish reason", []string{text, stop, text, done}, "aa | stop"},
		{"neither text nor call", []string{says(`"content":""`), stop, done}, " | error model_unavailable"},
		{"thoughts alone", []string{says(`"reasoning":"x"`), stop, done}, "(x) | error model_unavailable"},
		{"limit", []string{says(`"reasoning":"x"`), `{"choices":[{"finish_reason":"length"}]}`}, "(x) | max_tokens"},
		{"other words for the limit", []string{text, `{"choices":[{"finish_reason":"model_length"}]}`}, "a | max_tokens"},
		{"unknown finish reason", []string{text, `{"choices":[{"finish_reason":"eos"}]}`}, "a | stop"},
		{"filter, then stop", []string{text, `{"choices":[{"finish_reason":"content_filter"}]}`, stop, done}, "a | error model_blocked"},
		{"finish reason error", []string{text, `{"choices":[{"finish_reason":"error"}]}`, done}, "a | error model_unavailable"},
		{"contradicting finish reasons", []string{text, `{"choices":[{"finish_reason":"length"}]}`, stop}, "a | stop"},

		{"null, absent, empty, unknown", []string{`{"choices":null,"usage":null,"error":null,"x":[{}]}`, `{}`, `{"choices":[]}`, `{"choices":[null]}`,
			`{"choices":[{"delta":null,"finish_reason":null}]}`, says(`"content":null,"tool_calls":null,"reasoning_details":null,"refusal":null,"x":1`), text, stop}, "a | stop"},
		{"wrong type of choices", []string{`{"choices":{}}`}, " | error model_unavailable"},
		{"wrong type of delta", []string{`{"choices":[{"delta":"a"}]}`}, " | error model_unavailable"},
		{"wrong type of content", []string{text, says(`"content":5`)}, "a | error model_unavailable"},
		{"wrong type of tool_calls", []string{says(`"tool_calls":{}`)}, " | error model_unavailable"},
		{"wrong type of a call", []string{says(`"tool_calls":["a"]`)}, " | error model_unavailable"},
		{"wrong types elsewhere say nothing", []string{`{"model":5,"usage":"x","choices":[{"delta":{"content":"a","role":5,"reasoning":{},"reasoning_details":"x"},"finish_reason":7,"index":"0"}]}`, stop}, "a | stop"},
		{"not JSON", []string{text, `{"choices":[`}, "a | error model_unavailable"},
		{"two documents", []string{text + text}, " | error model_unavailable"},
		{"a number", []string{`5`}, " | error model_unavailable"},
		{"choice 0 alone", []string{`{"choices":[{"index":1,"delta":{"content":"x"}},{"index":0,"delta":{"content":"a"}},{"delta":{"content":"y"}}]}`, stop}, "a | stop"},
		{"the message of a chunk does not count", []string{`{"choices":[{"message":{"content":"x"},"delta":{"content":"a"}}]}`, stop}, "a | stop"},

		{"parts", []string{says(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]},{"type":"text","text":"a"},{"type":"image_url"},"b"]`), stop}, "(t)ab | stop"},
		{"refusal", []string{says(`"content":null,"refusal":"no"`), stop}, "no | stop"},
		{"one thought in three fields", []string{says(`"reasoning":"r","reasoning_details":[{"text":"d"}],"reasoning_content":"c"`), text, stop}, "(c)a | stop"},
		{"empty fields of thoughts", []string{says(`"reasoning_content":"","reasoning":null,"reasoning_details":[{"text":"d"},{"summary":"s"},5]`), text, stop}, "(ds)a | stop"},

		{"arguments as an object", []string{says(`"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]`), stop}, ` f{"a":1} | stop`},
		{"no arguments", []string{says(`"tool_calls":[{"function":{"name":"f","arguments":""}}]`), stop}, ` f{} | stop`},
		{"arguments that are null", []string{says(`"tool_calls":[{"function":{"name":"f","arguments":null}}]`), stop}, ` f{} | stop`},
		{"index as a string", []string{says(`"tool_calls":[{"index":"0","id":"a","function":{"name":"f"}},{"index":"0","function":{"arguments":"{}"}}]`), stop}, ` f{} | stop`},
		{"index below zero", []string{says(`"tool_calls":[{"index":-1,"function":{"name":"f"}},{"index":1e9,"function":{"name":"g"}},{"index":-1,"function":{"arguments":"{}"}}]`), stop}, ` f{} g{} | stop`},
		{"index with a fraction", []string{says(`"tool_calls":[{"index":1.5,"function":{"name":"f"}},{"index":1.5,"function":{"arguments":"{}"}}]`), stop}, ` f{} | stop`},
		{"a call by the limit", []string{says(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}},{"index":1,"function":{"name":"g","arguments":"{\"a"}}]`), `{"choices":[{"finish_reason":"length"}]}`}, ` f{} | max_tokens`},
		{"calls, whatever the word", []string{says(`"tool_calls":[{"function":{"name":"f"}}]`), `{"choices":[{"finish_reason":"content_done"}]}`}, ` f{} | stop`},
		{"a call in an answer that was cut", []string{says(`"tool_calls":[{"function":{"name":"f"}}]`)}, " | error model_unavailable"},

		{"error as an object", []string{text, `{"error":{"message":"x"}}`}, "a | error model_unavailable"},
		{"error as a string", []string{text, `{"error":"x"}`}, "a | error model_unavailable"},
		{"error in an array", []string{text, `[{"error":{"code":429}}]`}, "a | error model_rate_limited"},
		{"an array of errors", []string{text, `{"error":[{"code":429}]}`}, "a | error model_rate_limited"},
		{"error after the end", []string{text, stop, `{"error":{"status_code":503}}`, done}, "a | error model_unavailable"},
		{"error beside text", []string{`{"error":{"code":400},"choices":[{"delta":{"content":"b"}}]}`}, "b | error model_error"},
		{"a chunk that is an error", []string{text, `{"object":"error","message":"x","code":400}`}, "a | error model_error"},
		{"no error", []string{`{"error":null}`, `{"error":""}`, `{"error":false}`, `{"error":[]}`, text, stop}, "a | stop"},
	}
	codec := testChat(t, model.Spec{})
	answer := codec.NewAnswer()
	for _, tt := range tests {
		answer.Reset()
		h := observe(answer, toEvents(tt.chunks...))
		if got := summary(h); got != tt.want {
			t.Errorf("%s: %q (%v), want %q", tt.name, got, h.err, tt.want)
		}
	}
}

// An event of the name error, or a field of it, is an error whatever it holds.
func TestChatErrorEvents(t *testing.T) {
	t.Parallel()
	codec := testChat(t, model.Spec{})
	for wire, want := range map[string]string{
		"event: error\ndata: {\"error\":{\"code\":\"rate_limit_exceeded\"}}\n\n": "model_rate_limited",
		"error: {\"code\":500,\"message\":\"x\",\"type\":\"server_error\"}\n\n":  "model_unavailable",
		"event: error\ndata: {\"type\":\"invalid_request_error\"}\n\n":           "model_error",
		"event: error\ndata: broken\n\n":                                         "model_unavailable",
	} {
		h := observe(codec.NewAnswer(), splitBytes([]byte("data: "+says(`"content":"a"`)+"\n\n"+wire)))
		if got := summary(h); got != "a | error "+want {
			t.Errorf("%q: %q, want %s", wire, got, want)
		}
	}
}

func TestChatWholeAnswer(t *testing.T) {
	t.Parallel()
	codec := testChat(t, model.Spec{})
	for body, want := range map[string]string{
		`{"choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning_content":"t","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"1","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`: "(t)a f{} g{} | stop",
		`{"choices":[{"message":{"content":"<think>t</think>\na"}}]}`: "(t\n)a | stop",
		`{"error":{"message":"x","code":401}}`:                        " | error model_error",
		`{"choices":[]}`:                                              " | error model_unavailable",
		`{"choices":[{"delta":{"content":"a"}}]}`:                     " | error model_unavailable",
		`<html>`: " | error model_unavailable",
	} {
		answer := codec.NewAnswer()
		var h observed
		var c chat.Chunk
		if h.err = answer.DecodeDocument([]byte(body), &c); h.err == nil {
			h.add(&c)
			h.err = answer.End(&c)
		}
		h.add(&c)
		if got := summary(h); got != want {
			t.Errorf("%s: %q (%v), want %q", body, got, h.err, want)
		}
	}
}

func TestChatThinkTags(t *testing.T) {
	t.Parallel()
	tests := []struct{ mode, content, want string }{
		{"auto", "<think>a</think>b", "(a)b | stop"},
		{"auto", "\n<think>\na < b </thin</think>\n\n b</think>", "(\na < b </thin\n\n )b</think> | stop"},
		{"auto", "<thin", "<thin | stop"},
		{"auto", "b<think>a</think>", "b<think>a</think> | stop"},
		{"auto", "<think>a</thin", "(a</thin) | error model_unavailable"},
		{"auto", " b", " b | stop"},
		{"auto", " ", "  | stop"},
		{"auto", "", " | error model_unavailable"},
		{"open", "a</think> b", "(a )b | stop"},
		{"open", "<think>a</think>b", "(a)b | stop"},
		{"open", "a", "(a) | error model_unavailable"},
		{"off", "<think>a</think>b", "<think>a</think>b | stop"},
	}
	for _, tt := range tests {
		answer := testChat(t, model.Spec{Generation: model.Generation{ThinkTags: tt.mode}}).NewAnswer()
		for step := 1; step <= max(1, len(tt.content)); step++ {
			var chunks []string
			for at := 0; at < len(tt.content); at += step {
				chunks = append(chunks, says(`"content":`+string(model.AppendString(nil, tt.content[at:min(at+step, len(tt.content))]))))
			}
			answer.Reset()
			if got := summary(observe(answer, toEvents(append(chunks, stop)...))); got != tt.want {
				t.Errorf("%s, %d bytes a chunk, %q: %q, want %q", tt.mode, step, tt.content, got, tt.want)
			}
		}
	}
}

func TestChatUsage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		chunks string
		want   chat.Usage // zero: none
	}{
		{`{"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":3},"prompt_tokens_details":{"cached_tokens":4}}}`,
			chat.Usage{InputTokens: 10, OutputTokens: 2, ThinkingTokens: 3, CachedTokens: 4}},
		{`{"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":18,"completion_tokens_details":{"reasoning_tokens":3}}}`, chat.Usage{InputTokens: 10, OutputTokens: 5, ThinkingTokens: 3}},
		{`{"usage":{"prompt_tokens":10,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":9}}}`, chat.Usage{InputTokens: 10, ThinkingTokens: 9}},
		{`{"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":8}}`, chat.Usage{InputTokens: 10, OutputTokens: 5, CachedTokens: 8}},
		{`{"x_groq":{"usage":{"prompt_tokens":1,"completion_tokens":2}}}`, chat.Usage{InputTokens: 1, OutputTokens: 2}},
		{`{"usage":{"prompt_tokens":9,"completion_tokens":9}}` + "\n" + `{"usage":{"prompt_tokens":1,"completion_tokens":2}}` + "\n" + `{"usage":null}`, chat.Usage{InputTokens: 1, OutputTokens: 2}},
		{`{"usage":{"prompt_tokens":-1,"completion_tokens":1000000000000000000,"total_tokens":"5"}}`, chat.Usage{}},
		{`{"usage":{"prompt_tokens":1,"completion_tokens":1.5}}`, chat.Usage{InputTokens: 1}},
		{`{"usage":{}}`, chat.Usage{}},
	}
	codec := testChat(t, model.Spec{})
	for _, tt := range tests {
		chunks := append([]string{says(`"content":"eight by"`)}, strings.Split(tt.chunks, "\n")...)
		h := observe(codec.NewAnswer(), toEvents(append(chunks, done)...))
		want := &tt.want
		if tt.want == (chat.Usage{}) {
			want = nil
		}
		if diff := cmp.Diff(want, h.usage); h.err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.chunks, h.err, diff)
		}
	}
}

func TestChatAnswersOutOfBounds(t *testing.T) {
	t.Parallel()
	codec := testChat(t, model.Spec{})
	call := func(args string) string {
		return says(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":` + string(model.AppendString(nil, args)) + `}}]`)
	}
	malformed := func(t *testing.T, h observed) {
		if !errors.Is(h.err, model.ErrMalformedCall) {
			t.Errorf("%v, want a malformed call", h.err)
		}
	}
	tests := map[string]struct {
		chunks []string
		check  func(t *testing.T, h observed)
	}{
		"arguments that are an array":         {[]string{call(`[]`), stop}, malformed},
		"arguments that are a number":         {[]string{call(`5`), stop}, malformed},
		"arguments that are JSON in a string": {[]string{call(`"{\"a\":1}"`), stop}, malformed},
		"arguments nested 10,000 deep":        {[]string{call(strings.Repeat(`{"a":`, 10001) + `1` + strings.Repeat(`}`, 10001)), stop}, malformed},
		"no name":                             {[]string{says(`"tool_calls":[{"id":"a","function":{"arguments":"{}"}}]`), stop}, malformed},
		"a chunk nested 10,000 deep": {[]string{strings.Repeat(`[`, 10001)}, func(t *testing.T, h observed) {
			if !errors.Is(h.err, model.ErrUnreadable) {
				t.Error(h.err)
			}
		}},
		"an id of 1 MiB": {[]string{says(`"tool_calls":[{"id":"` + strings.Repeat("i", 1<<20) + `","function":{"name":"f"}}]`), stop}, func(t *testing.T, h observed) {
			if h.err != nil || len(h.calls) != 1 || !model.NineLetters(h.calls[0].ID) {
				t.Errorf("%v, %d calls", h.err, len(h.calls))
			}
		}},
		"a call of 3 MiB": {[]string{call(`{"a":"` + strings.Repeat("x", 1<<20)), call(strings.Repeat("x", 1<<20)), call(strings.Repeat("x", 1<<20)), stop}, func(t *testing.T, h observed) {
			if !errors.Is(h.err, model.ErrTooLarge) {
				t.Error(h.err)
			}
		}},
		"10,000 calls": {append(slicesRepeat(says(`"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]`), 10000), stop), func(t *testing.T, h observed) {
			if h.err != nil || len(h.calls) != 10000 {
				t.Errorf("%v, %d calls", h.err, len(h.calls))
			}
		}},
		"10,000 calls in turn": {func() (chunks []string) {
			for i := range 20000 {
				chunks = append(chunks, fmt.Sprintf(`{"choices":[{"delta":{"tool_calls":[{"index":%d,"function":{"name":"f","arguments":%q}}]}}]}`, i%10000, "{}"[i/10000:][:1]))
			}
			return append(chunks, stop)
		}(), func(t *testing.T, h observed) {
			if h.err != nil || len(h.calls) != 10000 {
				t.Errorf("%v, %d calls", h.err, len(h.calls))
			}
		}},
		"1,000 choices": {[]string{`{"choices":[` + strings.Repeat(`{"index":3,"delta":{"content":"x"}},`, 999) + `{"index":0,"delta":{"content":"a"}}]}`, stop}, func(t *testing.T, h observed) {
			if got := summary(h); got != "a | stop" {
				t.Error(got)
			}
		}},
		"half a surrogate pair in each of two deltas": {[]string{says(`"content":"\ud83d"`), says(`"content":"\ude00 ok"`), call(`{"a":"\ud83d`), call(`\ude00"}`), stop}, func(t *testing.T, h observed) {
			if h.err != nil || h.text != "😀 ok" || len(h.calls) != 1 {
				t.Errorf("%v %q", h.err, h.text)
			}
		}},
		"bytes that are no UTF-8": {[]string{says("\"content\":\"a\xff\""), stop}, func(t *testing.T, h observed) {
			if h.text != "a\ufffd" || h.err != nil {
				t.Errorf("%v %q", h.err, h.text)
			}
		}},
		"duplicate members": {[]string{says(`"content":"a","content":"b"`), stop}, func(t *testing.T, h observed) {
			if h.err != nil {
				t.Error(h.err)
			}
		}},
		"too much to keep": {append(slicesRepeat(says(`"reasoning_content":"`+strings.Repeat("x", 100<<10)+`"`), 3), call(`{}`), stop), func(t *testing.T, h observed) {
			for _, p := range h.parts {
				if p.Kept != "" {
					t.Errorf("%d bytes are kept", len(p.Kept))
				}
			}
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.check(t, observe(codec.NewAnswer(), toEvents(tt.chunks...)))
		})
	}
}

func slicesRepeat(s string, n int) (list []string) {
	for range n {
		list = append(list, s)
	}
	return list
}

// No error holds a word of the model's.
func TestChatErrorsHoldNoText(t *testing.T) {
	t.Parallel()
	codec := testChat(t, model.Spec{})
	for _, chunk := range []string{
		says(`"content":"canary"`)[:20] + `canary`,
		says(`"content":["canary",5]`),
		says(`"tool_calls":["canary"]`),
		says(`"tool_calls":[{"function":{"name":"canary","arguments":"canary"}}]`),
	} {
		h := observe(codec.NewAnswer(), toEvents(chunk, stop))
		if h.err == nil || strings.Contains(h.err.Error(), "canary") {
			t.Errorf("%s: %v", chunk, h.err)
		}
	}
}

func TestChatNote(t *testing.T) {
	t.Parallel()
	h := observe(testChat(t, model.Spec{}).NewAnswer(), toEvents(`{"model":"a/b:free","choices":[{"delta":{"content":"ab"}}]}`, `{"model":"","choices":[{"finish_reason":"stop"}]}`))
	if n := h.note; n.TextLength != 2 || n.Finish != "stop" || n.Model != "a/b:free" {
		t.Errorf("%+v", n)
	}
}
