package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/breaker"
	"sluice/internal/base/config"
	"sluice/internal/model"
	"sluice/internal/model/modeltest"
	"sluice/internal/turn/chat"
)

// playTo makes a call of a model whose service answers like that.
func playTo(t *testing.T, api string, reply modeltest.Reply) modeltest.Outcome {
	t.Helper()
	m, err := New(model.Spec{Key: "k", Provider: "openai", API: api, Endpoint: "https://service.test/v1", Model: "m", First: 1e9, Idle: 1e9, Breaker: breaker.Config{}},
		model.Options{Transport: &modeltest.Service{Replies: []modeltest.Reply{reply}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	return modeltest.Ask(t.Context(), m)
}

// Figures may be written as floats. Of a total alone as much is input as the request is
// long, and the rest is output: a budget sees all of it.
func TestFiguresOfUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		api, usage string
		want       chat.Usage // InputTokens negative: a guess
	}{
		{"chat", `{"prompt_tokens":10.0,"completion_tokens":5e0}`, chat.Usage{InputTokens: 10, OutputTokens: 5}},
		{"chat", `{"prompt_tokens":10.5,"completion_tokens":5}`, chat.Usage{OutputTokens: 5}},
		{"chat", `{"total_tokens":5000}`, chat.Usage{InputTokens: -1, OutputTokens: 5000, Estimated: true}},
		{"chat", `{"total_tokens":2}`, chat.Usage{InputTokens: -1, OutputTokens: 2, Estimated: true}},
		{"responses", `{"input_tokens":10.0,"output_tokens":5}`, chat.Usage{InputTokens: 10, OutputTokens: 5}},
		{"chat", `{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}`, chat.Usage{InputTokens: 100, OutputTokens: 5, CachedTokens: 60, WrittenTokens: 30}},
		{"responses", `{"input_tokens":100,"output_tokens":5,"input_tokens_details":{"cache_write_tokens":70,"cached_tokens":60}}`, chat.Usage{InputTokens: 100, OutputTokens: 5, CachedTokens: 60, WrittenTokens: 40}},
		{"responses", `{"total_tokens":5000.0}`, chat.Usage{InputTokens: -1, OutputTokens: 5000, Estimated: true}},
	} {
		stream := sse(says(`"content":"hello"`)) + sse(stop) + sse(`{"choices":[],"usage":`+tt.usage+`}`) + sse(done)
		if tt.api == "responses" {
			stream = sse(responsesHello) + sse(`{"type":"response.completed","response":{"status":"completed","usage":`+tt.usage+`}}`)
		}
		outcome := playTo(t, tt.api, modeltest.Reply{Pieces: []string{stream}})
		got := outcome.Usage
		if tt.want.InputTokens < 0 && got.InputTokens > 0 { // the two are the total
			got.OutputTokens += got.InputTokens
			got.InputTokens = -1
		}
		if diff := cmp.Diff(tt.want, got); outcome.Err != nil || diff != "" {
			t.Errorf("%s %s: %v (-want +got):\n%s", tt.api, tt.usage, outcome.Err, diff)
		}
	}
}

// A service that has failed may say so in words of its own, behind a text too.
func TestFailuresInWordsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, last := range []string{
		`{"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}`,
		`{"choices":[],"x_groq":{"id":"r","error":{"message":"over capacity","type":"server_error"}}}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"error":"over capacity"}}`,
	} {
		got := playTo(t, "chat", modeltest.Reply{Pieces: []string{sse(says(`"content":"hello"`)), sse(last), sse(done)}})
		if got.Err == nil || !strings.Contains(got.Err.Error(), "model_unavailable") || got.Text != "hello" {
			t.Errorf("%s: %+v", last, got)
		}
	}
	if got := playTo(t, "chat", modeltest.Reply{Pieces: []string{sse(says(`"content":"hello"`)), sse(strings.Replace(stop, "{", `{"x_groq":{"error":null},`, 1)), sse(done)}}); got.Err != nil {
		t.Errorf("no error: %v", got.Err)
	}
}

// A byte order mark in front of the first event is no part of it.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	for _, pieces := range [][]string{{"\ufeff" + sse(says(`"content":"hello"`)), sse(stop), sse(done)}, {"\xef", "\xbb\xbf", sse(says(`"content":"hello"`)), sse(stop), sse(done)}} {
		if got := playTo(t, "chat", modeltest.Reply{Pieces: pieces}); got.Err != nil || got.Text != "hello" {
			t.Errorf("%+v", got)
		}
	}
}

// A text that no delta brought is read from the item that is done, or from the whole
// response; one that has come is not reported again. Messages stand a blank line apart.
func TestTextsWithoutDeltas(t *testing.T) {
	t.Parallel()
	item := func(id, text string) string {
		return `{"type":"message","id":"` + id + `","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}`
	}
	itemDone := func(id, text string) string {
		return `{"type":"response.output_item.done","item":` + item(id, text) + `}`
	}
	completed := func(items ...string) string {
		return `{"type":"response.completed","response":{"status":"completed","output":[` + strings.Join(items, ",") + `]}}`
	}
	for name, tt := range map[string]struct {
		events []string
		want   string
	}{
		"deltas":                     {[]string{responsesHello, itemDone("m", "hello"), completed(item("m", "hello"))}, "hello"},
		"done alone":                 {[]string{itemDone("m", "hello"), completed(item("m", "hello"))}, "hello"},
		"done twice":                 {[]string{itemDone("m", "hello"), itemDone("m", "hello"), completed()}, "hello"},
		"deltas, then done twice":    {[]string{responsesHello, itemDone("m", "hello"), itemDone("m", "hello"), completed()}, "hello"},
		"completed alone":            {[]string{completed(item("m", "hel"), item("n", "lo"))}, "hel\n\nlo"},
		"the second in deltas alone": {[]string{itemDone("m", "I say "), responsesHello, itemDone("n", "hello"), completed()}, "I say \n\nhello"},
		"the first in deltas alone":  {[]string{responsesHello, itemDone("m", "hello"), itemDone("n", " there"), completed()}, "hello\n\n there"},
	} {
		got, err := readResponsesEvents(tt.events...)
		if err != nil || got.Text != tt.want {
			t.Errorf("%s: %q, %v", name, got.Text, err)
		}
	}
	call := `{"type":"function_call","id":"fc","call_id":"c","name":"add","arguments":"{}","status":"completed"}`
	if got, err := readResponsesEvents(completed(call, call)); err != nil || len(got.Calls) != 1 {
		t.Errorf("calls of the whole response: %v, %v", got.Calls, err)
	}
}

// What the configuration adds to each request is kept out of errors, where a service
// repeats it: values of eight characters and more.
func TestExtraIsKeptOutOfErrors(t *testing.T) {
	t.Parallel()
	m, err := New(model.Spec{Key: "k", Provider: "openai", API: "chat", Endpoint: "https://service.test/v1", Model: "m", First: 1e9, Idle: 1e9, APIKey: config.Secret("key"),
		Extra: []byte(`{"user":"tenant-4711","a":{"b":["s3cret-value",1234567890,"short"]}}`)},
		model.Options{Transport: &modeltest.Service{Replies: []modeltest.Reply{{Status: 400, Pieces: []string{`{"error":{"message":"tenant-4711 may not use s3cret-value of 1234567890 short","type":"tenant-4711"}}`}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got := modeltest.Ask(t.Context(), m)
	if got.Err == nil {
		t.Fatal("no error")
	}
	for _, value := range []string{"tenant-4711", "s3cret-value", "1234567890"} {
		if strings.Contains(got.Err.Error(), value) {
			t.Errorf("%s in %v", value, got.Err)
		}
	}
	if !strings.Contains(got.Err.Error(), "short") {
		t.Errorf("words are hidden in %v", got.Err)
	}
}
