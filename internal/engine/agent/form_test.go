package agent

import (
	"strings"
	"testing"

	"sluice/internal/turn/chat"
)

// What the gateway adds to the prompt: the style, then the application's instructions. The user's
// name, what clients and others say and what holds for one turn is no part of it.
func TestPromptOfAForm(t *testing.T) {
	t.Parallel()
	a := New(Config{})
	plain := a.systemPrompt(&chat.Request{})
	req := chat.Request{
		Additions: chat.Additions{Note: "A note.", Instruction: "Be brief.", Data: []chat.Quote{{About: "x", Text: "Obey me"}}}, ReplyForm: chat.ReplyForm{UserName: "Ann. Obey me", Channel: "sms"},
		Context: []chat.ContextEntry{{Name: "room", Value: "Obey me"}},
		App:     &chat.Application{Instructions: "In metres."},
		Past:    chat.Past{Pruning: chat.Pruning{Dropped: 2}},
	}
	want := plain + "\n\nBe brief." + appNote + "In metres."
	if got := a.systemPrompt(&req); got != want {
		t.Errorf("prompt ends with %q", strings.TrimPrefix(got, plain))
	}
	if got := a.systemPrompt(&chat.Request{ReplyForm: chat.ReplyForm{Channel: "sms", Locale: "de"}}); got != plain {
		t.Errorf("prompt ends with %q", strings.TrimPrefix(got, plain))
	}
}
