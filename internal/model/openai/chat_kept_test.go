package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
)

// What a model wants back stands before its calls: thoughts as text only if there are
// calls, and elements of reasoning_details joined by index.
func TestChatKept(t *testing.T) {
	t.Parallel()
	const call = `"tool_calls":[{"id":"a","function":{"name":"f"},"extra_content":{"x":1}}]`
	tests := []struct {
		name   string
		deltas []string
		want   []string // of each part what is kept
	}{
		{"thoughts and text", []string{`"reasoning_content":"t"`, `"content":"a"`}, []string{"", ""}},
		{"thoughts and a call", []string{`"reasoning":"t"`, `"reasoning":"u"`, call},
			[]string{"", "", `{"reasoning":"tu"}`, `{"extra_content":{"x":1}}`}},
		{"details", []string{
			`"reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"id":null},{"type":"reasoning.summary","summary":"s","index":1}]`,
			`"reasoning_details":[{"type":"reasoning.text","text":"b","signature":"x","index":0}]`,
			`"reasoning_details":[{"type":"reasoning.encrypted","data":"c","index":0},{"type":"reasoning.encrypted","data":"d","index":0}]`,
		}, []string{"", "", `{"reasoning_details":[{"type":"reasoning.text","text":"ab","signature":"x","index":0},` +
			`{"type":"reasoning.summary","summary":"s","index":1},` +
			`{"type":"reasoning.encrypted","data":"c","index":0},{"type":"reasoning.encrypted","data":"d","index":0}]}`}},
	}
	codec := testChat(t, model.Spec{})
	for _, tt := range tests {
		var chunks []string
		for _, d := range tt.deltas {
			chunks = append(chunks, says(d))
		}
		h := observe(codec.NewAnswer(), toEvents(append(chunks, `{"choices":[{"finish_reason":"length"}]}`)...))
		var got []string
		for _, p := range h.parts {
			got = append(got, p.Kept)
		}
		if diff := cmp.Diff(tt.want, got); h.err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, h.err, diff)
		}
	}
}
