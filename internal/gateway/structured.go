package gateway

import (
	"context"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/model"
)

// Structured is one question whose answer is an object that a schema describes.
type Structured struct {
	// Model is asked, in the forms that Forms know.
	Model model.Link
	Forms *model.Forms
	// Schema is the text of a JSON Schema (2020-12).
	Schema []byte
	Text   string
}

// AskStructured asks, and writes the answer as one line. An error of the schema comes
// before anything is sent; that of an answer which does not fit is a *model.Invalid.
func AskStructured(ctx context.Context, s Structured, out io.Writer) error {
	schema, err := model.NewSchema("answer", jsontext.Value(s.Schema))
	if err != nil {
		return err
	}
	req := chat.ModelRequest{Step: 1, Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: s.Text}}}}}
	got, err := s.Forms.Ask(ctx, s.Model, &req, schema, model.AskOptions{})
	if err != nil {
		return err
	}
	_, err = out.Write(append(got.JSON, '\n'))
	return err
}
