package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
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
		err := askStructured(t.Context(), structured{Model: parrot(answer), Forms: model.NewForms(model.FormsConfig{}), Schema: []byte(schema), Text: "n?"}, &out)
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

// One model of a configuration is asked, by its key and as a turn of its own.
func TestAskModel(t *testing.T) {
	t.Parallel()
	cfg := configured(t, fmt.Sprintf("models:\n  other: {provider: openai, api: chat, model: m, endpoint: %q}\n", modelAt(t, nil, "loop\n"+`text {"n":1}`)))
	const schema = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`
	for _, tt := range []struct {
		q    Question
		want string
		err  error
	}{
		{Question{Key: "other", Schema: []byte(schema), Text: "n?"}, "{\"n\":1}\n", nil},
		{Question{Key: "nobody", Schema: []byte(schema), Text: "n?"}, "", ErrNoModel},
		{Question{Key: "other", Schema: []byte("{"), Text: "n?"}, "", ErrSchema},
	} {
		var out strings.Builder
		if err := AskModel(t.Context(), cfg, tt.q, &out, zerolog.Nop()); !errors.Is(err, tt.err) || out.String() != tt.want {
			t.Errorf("%s: %q, %v", tt.q.Key, out.String(), err)
		}
	}
	cfg.Models[0].Provider = "nobody"
	if err := AskModel(t.Context(), cfg, Question{}, io.Discard, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("a model that cannot be opened: %v", err)
	}
}
