package openai

import (
	"strings"
	"testing"

	"sluice/internal/model"
)

// A character whose halves stand in two deltas is put together; a half that stays alone
// becomes a replacement character.
func TestHalfCharacters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		deltas []string // as they stand in JSON
		want   string
	}{
		{[]string{`a\ud83d`, `\ude00b`}, "a😀b"},
		{[]string{`\uD83D`, `\uDE00`}, "😀"},
		{[]string{`\ud83d`, ``, `\ude00`}, "😀"},
		{[]string{`\ud83d\ude00`}, "😀"},
		{[]string{`a\ud83d`, `\ude00\ud83d`, `\ude00`}, "a😀😀"},
		{[]string{`a\ud83d`, `b`}, "a\uFFFDb"},
		{[]string{`a\ud83d`, `\ud83d`, `\ude00`}, "a\uFFFD😀"},
		{[]string{`a\ud83d`}, "a\uFFFD"},
		{[]string{`\ude00a`}, "\uFFFDa"},
		{[]string{`a`, `\ude00`}, "a\uFFFD"},
		{[]string{`\ud83da`, `\ude00`}, "\uFFFDa\uFFFD"},
		{[]string{`a\\ud83d`, `\\ude00b`}, `a\ud83d\ude00b`}, // no escapes
		{[]string{`a\\\ud83d`, `\ude00b`}, `a\😀b`},
		{[]string{`\u00e9`, `\u00e9`}, "éé"},
	} {
		var chunks, events []string
		for _, d := range tt.deltas {
			chunks = append(chunks, says(`"content":"`+d+`"`))
			events = append(events, `{"type":"response.output_text.delta","delta":"`+d+`"}`)
		}
		h := observe(testChat(t, model.Spec{}).NewAnswer(), toEvents(append(chunks, stop)...))
		if h.err != nil || h.text != tt.want {
			t.Errorf("Chat Completions: %q: %q, %v, want %q", tt.deltas, h.text, h.err, tt.want)
		}
		got, err := readResponsesEvents(append(events, responsesEnded)...)
		if err != nil || got.Text != tt.want {
			t.Errorf("Responses: %q: %q, %v, want %q", tt.deltas, got.Text, err, tt.want)
		}
		if strings.Contains(tt.want, "😀") { // thoughts as well
			for i := range chunks {
				chunks[i] = strings.Replace(chunks[i], `"content"`, `"reasoning"`, 1)
			}
			h := observe(testChat(t, model.Spec{}).NewAnswer(), toEvents(append(chunks, says(`"content":"x"`), stop)...))
			if h.thoughts != tt.want {
				t.Errorf("%q: thought %q, want %q", tt.deltas, h.thoughts, tt.want)
			}
		}
	}
}

func TestHalfCharactersInArguments(t *testing.T) {
	t.Parallel()
	piece := func(args string) string {
		return says(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"` + args + `"}}]`)
	}
	h := observe(testChat(t, model.Spec{}).NewAnswer(), toEvents(piece(`{\"a\":\"\ud83d`), piece(`\ude00\"}`), stop))
	if h.err != nil || len(h.calls) != 1 || string(h.calls[0].Arguments) != `{"a":"😀"}` {
		t.Errorf("%+v, %v", h.calls, h.err)
	}
}
