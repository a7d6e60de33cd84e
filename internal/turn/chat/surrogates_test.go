package chat

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// A half of a character closes no chat: it is replaced, but for the places where it would change who
// or what is meant, and for what the user says now.
func TestReplaceLoneSurrogates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, want string }{
		{"earlier messages", `{"messages":[{"role":"user","content":"a\uD83D"},{"role":"assistant","content":"cut \ude00"},{"role":"user","content":"x"}]}`,
			`{"messages":[{"role":"user","content":"a\ufffd"},{"role":"assistant","content":"cut \ufffd"},{"role":"user","content":"x"}]}`},
		{"the last message", `{"messages":[{"role":"user","content":"a\ud83d"},{"role":"user","content":[{"type":"text","text":"b\ud83d"}]},{"role":"tool","content":"\ud83d"}]}`,
			`{"messages":[{"role":"user","content":"a\ufffd"},{"role":"user","content":[{"type":"text","text":"b\ud83d"}]},{"role":"tool","content":"\ufffd"}]}`},
		{"items", `{"input":[{"role":"user","content":"\ud83d"},{"type":"function_call","name":"\ud83d","call_id":"\ud83d"},{"type":"function_call_output","output":"\ud83d"},{"role":"user","content":"\ud83d"}]}`,
			`{"input":[{"role":"user","content":"\ufffd"},{"type":"function_call","name":"\ud83d","call_id":"\ud83d"},{"type":"function_call_output","output":"\ufffd"},{"role":"user","content":"\ud83d"}]}`},
		{"an input", `{"input":"\ud83d","instructions":"\ud83d"}`, `{"input":"\ud83d","instructions":"\ufffd"}`},
		{"context and history", `{"input":"a","context":{"name":"\ud83d"},"history":[{"role":"user","content":"\ud83d\ud83d"}]}`,
			`{"input":"a","context":{"name":"\ufffd"},"history":[{"role":"user","content":"\ufffd\ufffd"}]}`},
		{"names of members", `{"\ud83d":1,"x":"\ud83d"}`, `{"\ud83d":1,"x":"\ufffd"}`},
		{"ids", `{"id":"\ud83d","threadId":"\ud83d","conversation_id":"\ud83d","toolName":"\ud83d","model":"\ud83d"}`,
			`{"id":"\ud83d","threadId":"\ud83d","conversation_id":"\ud83d","toolName":"\ud83d","model":"\ud83d"}`},
		{"names within results", `{"messages":[{"parts":[{"toolCallId":"\ud83d","output":{"name":["\ud83d"],"id":"\ud83d"}}]}]}`,
			`{"messages":[{"parts":[{"toolCallId":"\ud83d","output":{"name":["\ufffd"],"id":"\ufffd"}}]}]}`},
		{"pairs stay", `{"x":"\ud83d\ude00\\ud83d\u00e9\ude00"}`, `{"x":"\ud83d\ude00\\ud83d\u00e9\ufffd"}`},
		{"pairs alone", `{"x":"\uD83D\uDE00 \\\ud83d\ude00"}`, `{"x":"\uD83D\uDE00 \\\ud83d\ude00"}`},
		{"broken", `{"x":"\ud83d"`, `{"x":"\ud83d"`},
		{"not an object", `"\ud83d"`, `"\ud83d"`},
		{"an answer to a question", `{"approval":{"message":"\ud83d"}}`, `{"approval":{"message":"\ud83d"}}`},
	} {
		before := []byte(tt.body)
		if diff := cmp.Diff(tt.want, string(ReplaceLoneSurrogates(before))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if string(before) != tt.body {
			t.Errorf("%s: the body was changed", tt.name)
		}
	}
}

// FuzzReplaceLoneSurrogates: only lone surrogates change, and a text in any other place is valid
// afterwards.
func FuzzReplaceLoneSurrogates(f *testing.F) {
	for _, s := range []string{`{"x":"\ud83d"}`, `{"x":"\ud83d\ude00\ud83d"}`, `["\ud83d",{"a":"\udc00\\"}]`, `{"x":"\ud83`, `\u`, `{"\ud800":"\ud800"}`, `{"x":"\\ud83d\ud83d"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		lone := nextLone(body) >= 0
		got := ReplaceLoneSurrogates(body)
		if len(got) != len(body) || !lone && !bytes.Equal(got, body) {
			t.Fatalf("%q became %q", body, got)
		}
		wrapped := append(append([]byte(`{"other":`), body...), '}')
		if jsontext.Value(wrapped).IsValid(jsontext.AllowInvalidUTF8(true)) {
			value := ReplaceLoneSurrogates(wrapped)
			if bytes.HasPrefix(body, []byte(`"`)) && nextLone(value) >= 0 {
				t.Errorf("%q became %q", wrapped, value)
			}
		}
	})
}
