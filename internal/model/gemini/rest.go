package gemini

import (
	"context"

	"sluice/internal/model"
)

// rest opens answers for the driver of the SDK, which reads them chunk by chunk.
type rest struct {
	http  *model.HTTP
	codec *codec
}

// open sends body and returns when the headers of the reply are there.
func (s *rest) open(ctx context.Context, body *model.Body) (*restAnswer, error) {
	events, err := s.http.Send(ctx, body)
	if err != nil {
		return nil, err
	}
	return &restAnswer{events: events, codec: s.codec}, nil
}

// restAnswer is one answer under way.
type restAnswer struct {
	events *model.Events
	codec  *codec
	alike  pattern
}

// next waits for the next chunk and decodes it into c, whose former content it
// overwrites.
func (a *restAnswer) next(c *rawChunk) error {
	_, data, err := a.events.Next()
	if err != nil {
		return err
	}
	return a.events.Decoded(a.codec.decode(data, c, &a.alike))
}

// buffered says whether an event can be read without waiting.
func (a *restAnswer) buffered() bool { return a.events.Buffered() }

// close must be called once. It frees the connection.
func (a *restAnswer) close() { a.events.Close() }
