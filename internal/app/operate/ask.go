// This file asks one model of a configuration for one object, without a gateway: for sluice
// ask --schema.

package operate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/internal/app/settings"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// Errors of a question that was never asked.
var (
	ErrSchema  = errors.New("is no JSON Schema that can be asked with")
	ErrNoModel = errors.New("names no model of the configuration")
)

// structured is one question whose answer is an object that a schema describes.
type structured struct {
	// Model is asked, in the forms that Forms know.
	Model model.Link
	Forms *model.Forms
	// Schema is the text of a JSON Schema (2020-12).
	Schema []byte
	Text   string
}

// Question is a question to a model of a configuration.
type Question struct {
	Key    string // of the model; empty: default
	Schema []byte // the text of a JSON Schema (2020-12)
	Text   string
}

// AskModel opens the models of cfg, asks one of them and closes them again. The answer
// goes to out as one line. Errors are those of AskStructured, or
// ErrNoModel.
//
// The limit of time is that of a turn. Fallbacks of the model count. The question has an id, sent
// along as X-Request-ID.
func AskModel(ctx context.Context, cfg settings.Config, q Question, out io.Writer, log zerolog.Logger) error {
	models, err := openModels(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer models.Close()
	asked := models.Link(q.Key)
	if asked == nil {
		return ErrNoModel
	}
	id := chat.NewRequestID()
	log = log.With().Str("request_id", id).Logger()
	ctx, cancel := context.WithTimeout(log.WithContext(chat.WithRequestID(ctx, id)), cfg.TurnTimeout())
	defer cancel()
	return askStructured(ctx, structured{Model: asked, Forms: models.Forms(), Schema: q.Schema, Text: q.Text}, out)
}

// askStructured asks, and writes the answer as one line. It returns ErrSchema before it sends
// anything, and a *model.Invalid if the answer does not fit.
func askStructured(ctx context.Context, s structured, out io.Writer) error {
	schema, err := model.NewSchema("answer", jsontext.Value(s.Schema))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSchema, err)
	}
	req := chat.ModelRequest{Step: 1, Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: s.Text}}}}}
	got, err := s.Forms.Ask(ctx, s.Model, &req, schema, model.AskOptions{})
	if err != nil {
		return err
	}
	_, err = out.Write(append(got.JSON, '\n'))
	return err
}
