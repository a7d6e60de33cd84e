package gateway

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sluice/chat"
	"sluice/model"
)

// parrot answers with a text.
type parrot string

func (parrot) Key() string  { return "k" }
func (parrot) Name() string { return "m" }

func (p parrot) Stream(_ context.Context, _ *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	return yield(&chat.Chunk{Parts: []chat.Part{{Text: string(p)}}, Finish: chat.FinishStop})
}

func TestAskStructured(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`
	ask := func(schema, answer string) (string, error) {
		var out strings.Builder
		err := AskStructured(t.Context(), Structured{Model: parrot(answer), Forms: model.NewForms(model.FormsConfig{}), Schema: []byte(schema), Text: "n?"}, &out)
		return out.String(), err
	}
	if got, err := ask(schema, "Sure: {\"n\": 1}"); got != "{\"n\":1}\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	var invalid *model.Invalid
	if got, err := ask(schema, "no"); got != "" || !errors.As(err, &invalid) {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := ask("{", "{}"); got != "" || !errors.Is(err, ErrSchema) {
		t.Errorf("got %q, %v", got, err)
	}
}
