package openai

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// decodeBoth decodes events as those of one answer, and by one that compares none with the one
// before. It returns how many were like that one.
func decodeBoth(t testing.TB, think bool, events ...string) (alike int) {
	t.Helper()
	spec := model.Spec{}
	if think {
		spec.ThinkTags = "think"
	}
	c := testChat(t, spec)
	got, want := c.NewAnswer().(*chatAnswer), c.NewAnswer().(*chatAnswer)
	for i, data := range events {
		want.alike.Reset()
		var one, other chat.Chunk
		isAlike := got.alike.Read(bytes.TrimSpace([]byte(data))) != nil
		err, wanted := got.Decode("", []byte(data), &one), want.Decode("", []byte(data), &other)
		if (err == nil) != (wanted == nil) || err != nil && err.Error() != wanted.Error() {
			t.Fatalf("event %d of %q: %v, decoded %v", i, events, err, wanted)
		}
		if diff := cmp.Diff(other, one, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("event %d of %q (-decoded +read):\n%s", i, events, diff)
		}
		if err != nil {
			return alike
		}
		if isAlike {
			alike++
		}
	}
	var one, other chat.Chunk
	err, wanted := got.End(&one), want.End(&other)
	if (err == nil) != (wanted == nil) || !cmp.Equal(other, one, cmpopts.EquateEmpty()) || got.Stats() != want.Stats() {
		t.Fatalf("%q ends: %+v, %v, %+v; decoded: %+v, %v, %+v", events, one, err, got.Stats(), other, wanted, want.Stats())
	}
	return alike
}

// deltaOf is a delta with a text, as vLLM writes it.
func deltaOf(text string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1775700000,"model":"m","choices":[{"index":0,"delta":{"content":"` + text + `"},"logprobs":null,"finish_reason":null}]}`
}

func TestDeltasAlike(t *testing.T) {
	t.Parallel()
	first := deltaOf("Hello")
	usage := func(n int) string {
		return fmt.Sprintf(`%s,"usage":{"prompt_tokens":%d,"completion_tokens":%[2]d}}`, first[:len(first)-1], n)
	}
	for _, tt := range []struct {
		name   string
		events []string
		alike  int
	}{
		{"texts", []string{first, deltaOf(` a \"word\" \\`), deltaOf("ä\\n"), deltaOf("")}, 3},
		{"another second, before the text", []string{first, strings.Replace(first, "1775700000", "1775700001", 1)}, 0},
		{"another second, behind it", []string{`{"choices":[{"delta":{"content":"a"}}],"created":1775700000}`, `{"choices":[{"delta":{"content":"b"}}],"created":1775700001}`}, 1},
		{"half a character", []string{first, deltaOf(`\ud83d`), deltaOf(`\ude00`), first, first}, 4}, // compared, and decoded where it is half of one
		{"no UTF-8", []string{first, deltaOf("\xff"), first}, 2},
		{"another model", []string{first, strings.Replace(first, `"m"`, `"n"`, 1)}, 0},
		{"a reason", []string{first, strings.Replace(first, `"finish_reason":null`, `"finish_reason":"stop"`, 1)}, 0},
		{"a usage", []string{first, first[:len(first)-1] + `,"usage":{"prompt_tokens":1,"completion_tokens":2}}`, first}, 0},
		{"usages", []string{usage(1), usage(2)}, 0},
		{"an error", []string{first, first[:len(first)-1] + `,"error":{"message":"no"}}`}, 0},
		{"a thought", []string{strings.Replace(first, `"content"`, `"reasoning":"b","content"`, 1), strings.Replace(first, `"content"`, `"reasoning":"b","content"`, 1)}, 0},
		{"thoughts alone", []string{strings.Replace(first, `"content"`, `"reasoning"`, 1), strings.Replace(first, `"content"`, `"reasoning"`, 1)}, 0},
		{"a call next to a text", []string{strings.Replace(first, `"content"`, `"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}],"content"`, 1), first}, 0},
		{"two choices", []string{strings.Replace(first, `[{`, `[{"index":1,"delta":{"content":"x"}},{`, 1), strings.Replace(first, `[{`, `[{"index":1,"delta":{"content":"x"}},{`, 1)}, 0},
		{"two texts", []string{strings.Replace(first, `"content"`, `"refusal":"b","content"`, 1), strings.Replace(first, `"content"`, `"refusal":"b","content"`, 1)}, 0},
		{"a list of texts", []string{`{"choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}`, `{"choices":[{"delta":{"content":[{"type":"text","text":"b"}]}}]}`}, 1},
		{"no text", []string{strings.Replace(first, `"Hello"`, "null", 1), strings.Replace(first, `"Hello"`, "null", 1)}, 0},
		{"cut off", []string{first, first[:len(first)-1]}, 0},
		{"the end", []string{first, first, "[DONE]"}, 1},
	} {
		if got := decodeBoth(t, false, tt.events...); got != tt.alike {
			t.Errorf("%s: %d events were alike, want %d", tt.name, got, tt.alike)
		}
	}
	if got := decodeBoth(t, true, first, deltaOf("<thi"), deltaOf("nk>hm</think"), deltaOf("> yes"), deltaOf("<think>")); got != 4 {
		t.Errorf("with tags of thoughts %d events were alike", got)
	}
}

// The answers that others recorded are read the same.
func TestRecordedDeltasAreAlike(t *testing.T) {
	t.Parallel()
	alike, all := 0, 0
	for _, rec := range readRecordings(t, "chat-*.sse", "chat-*.jsonl") {
		var events []string
		for _, e := range split(bufio.NewScanner(bytes.NewReader(rec.wire(t)))) {
			if e.name == "" {
				events = append(events, e.data)
			}
		}
		alike += decodeBoth(t, false, events...)
		all += len(events)
	}
	if alike < all/20 {
		t.Errorf("%d of %d events were alike", alike, all)
	}
	t.Logf("figures: %d of %d events of recorded answers are like the one before", alike, all)
}

// readMembers are the members that the decoder of chunks reads, each with values of which the
// second differs from the first in numbers alone, where it has any.
var readMembers = []struct {
	place  string // of the chunk, its choice or its delta
	values [3]string
}{
	{"chunk", [3]string{`"model":"m1"`, `"model":"m2"`, `"model":null`}},
	{"chunk", [3]string{`"object":"chat.completion.chunk"`, `"object":"error"`, `"object":1`}},
	{"chunk", [3]string{`"usage":{"prompt_tokens":4294967296}`, `"usage":{"prompt_tokens":12}`, `"usage":null`}},
	{"chunk", [3]string{`"usage":{"completion_tokens":-1,"total_tokens":1.5}`, `"usage":{"completion_tokens":7,"total_tokens":2.5}`, `"usage":{}`}},
	{"chunk", [3]string{`"usage":{"prompt_tokens_details":{"cached_tokens":99999999999}}`, `"usage":{"prompt_tokens_details":{"cached_tokens":11}}`, `"usage":{"prompt_tokens_details":1}`}},
	{"chunk", [3]string{`"x_groq":{"id":"a","usage":{"total_tokens":4294967296}}`, `"x_groq":{"id":"a","usage":{"total_tokens":5}}`, `"x_groq":{"error":{"code":500}}`}},
	{"chunk", [3]string{`"error":{"code":0}`, `"error":{"code":500}`, `"error":0`}},
	{"chunk", [3]string{`"created":1`, `"created":22`, `"created":1.5`}},
	{"choice", [3]string{`"index":0`, `"index":1`, `"index":0.0`}},
	{"choice", [3]string{`"index":0.0`, `"index":1.0`, `"index":1e1`}},
	{"choice", [3]string{`"finish_reason":null`, `"finish_reason":"stop"`, `"finish_reason":1`}},
	{"choice", [3]string{`"usage":{"prompt_tokens":4294967296}`, `"usage":{"prompt_tokens":3}`, `"usage":1`}},
	{"choice", [3]string{`"message":{"content":"x","n":1}`, `"message":{"content":"x","n":2}`, `"message":null`}},
	{"choice", [3]string{`"logprobs":{"n":1}`, `"logprobs":{"n":2}`, `"logprobs":null`}},
	{"delta", [3]string{`"role":"assistant"`, `"role":"x"`, `"role":null`}},
	{"delta", [3]string{`"refusal":null`, `"refusal":"no"`, `"refusal":1`}},
	{"delta", [3]string{`"reasoning":null`, `"reasoning":"hm"`, `"reasoning":1`}},
	{"delta", [3]string{`"reasoning_content":1`, `"reasoning_content":2`, `"reasoning_content":"hm"`}},
	{"delta", [3]string{`"reasoning_details":[]`, `"reasoning_details":[{"index":0,"text":"a"}]`, `"reasoning_details":[{"index":1,"text":"a"}]`}},
	{"delta", [3]string{`"tool_calls":null`, `"tool_calls":[{"index":0,"function":{"name":"f"}}]`, `"tool_calls":[{"index":1}]`}},
}

// deltasWith returns chunks with a text whose member, before the text or behind it, has each value.
func deltasWith(place string, values [3]string, behind bool) (events []string) {
	for i, value := range values {
		join := func(here, inner string) string {
			switch {
			case here != place:
				return "{" + inner + "}"
			case behind:
				return "{" + inner + "," + value + "}"
			}
			return "{" + value + "," + inner + "}"
		}
		text := join("delta", fmt.Sprintf(`"content":"t%d"`, i))
		events = append(events, join("chunk", `"choices":[`+join("choice", `"delta":`+text)+`]`))
	}
	return events
}

// A member that the decoder reads counts, wherever it stands: an event with another number there is
// not like the one before it.
func TestNumbersThatAreReadCount(t *testing.T) {
	t.Parallel()
	for _, m := range readMembers {
		for _, behind := range []bool{false, true} {
			e := deltasWith(m.place, m.values, behind)
			decodeBoth(t, false, e[0], e[1], e[0], e[0], e[2])
			decodeBoth(t, false, e[1], e[0], e[2], e[1])
		}
	}
	e := deltasWith("choice", [3]string{`"index":0`, `"index":1`, `"index":0`}, true)
	if got := decodeBoth(t, false, e[0], e[2], e[1], e[0]); got != 1 {
		t.Errorf("%d deltas of one choice are alike, want 1", got)
	}
}

// Whatever comes behind a delta is read as if no event was compared.
func FuzzDeltasAlike(f *testing.F) {
	for _, m := range readMembers {
		for _, behind := range []bool{false, true} {
			e := deltasWith(m.place, m.values, behind)
			f.Add(e[0], e[1], e[2], false)
		}
	}
	f.Add(deltaOf("Hello"), deltaOf(`\ud83d`), deltaOf(`\ude00`), false)
	f.Add(deltaOf("Hello"), deltaOf(`a\\`), "[DONE]", true)
	f.Add(`{"choices":[{"delta":{"refusal":"a"}}]}`, `{"choices":[{"delta":{"refusal":"b"},"finish_reason":"stop"}]}`, "", false)
	f.Fuzz(func(t *testing.T, one, two, three string, think bool) { decodeBoth(t, think, one, two, three, one) })
}
