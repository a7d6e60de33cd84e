package model

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"sluice/internal/turn/chat"
)

// Source opens answers of a model. The default speaks HTTP and reads events with the
// model's Codec.
type Source interface {
	// Open sends req, which body holds as the provider wants it, and returns once the
	// service has agreed to answer. Its errors are a *Refusal when the service refused,
	// a *Defect when the source could not ask, else a failure of the connection. The
	// answer ends with ctx at the latest.
	Open(ctx context.Context, req *chat.ModelRequest, body *Body) (Stream, error)
	// Close lets go of idle connections.
	Close()
}

// Stream is one streamed answer of a model.
type Stream interface {
	// Next waits for the next event and appends its content to c, which must be empty, as
	// Answer.Decode does. It returns io.EOF when the answer is over.
	Next(c *chat.Chunk) error
	// End is called after that, as Answer.End.
	End(c *chat.Chunk) error
	// Finished says that the end was reported, as Answer.Finished does.
	Finished() bool
	// Stats returns the figures of the answer so far, for the log.
	Stats() Stats
	// Buffered reports whether Next is sure to return without waiting.
	Buffered() bool
	// Close ends the stream; it must be called once.
	Close()
}

// Pinged receives signs of life that are not events: comments in the stream. A Stream that can
// report them has a method Listen.
type Pinged interface{ Ping() }

// httpSource is the default Source.
type httpSource struct {
	http    *HTTP
	answers sync.Pool // of *httpStream
}

// OverHTTP returns the source of a provider that speaks HTTP. Closing it closes h. Answers and
// their readers are kept and used again.
func OverHTTP(h *HTTP) Source {
	s := &httpSource{http: h}
	s.answers.New = func() any { return &httpStream{source: s, answer: h.codec.NewAnswer()} }
	return s
}

// Close ends idle connections. Calls that run are their contexts' business.
func (s *httpSource) Close() { s.http.Close() }

// Open sends body, and returns when the headers of the reply are there. The
// caller closes the stream, which takes the answer back into the pool.
func (s *httpSource) Open(ctx context.Context, req *chat.ModelRequest, body *Body) (Stream, error) {
	events, err := s.http.Send(ctx, body)
	if err != nil {
		return nil, err
	}
	a := s.answers.Get().(*httpStream)
	a.events, a.documentRead = events, false
	if asker, ok := a.answer.(Asker); ok {
		asker.SetRequest(req)
	}
	return a, nil
}

// httpStream is one answer under way. It goes back to its pool when closed.
type httpStream struct {
	source       *httpSource
	events       *Events
	answer       Answer
	documentRead bool // the answer came as one document, and was read
}

// Next appends the content of one event to c. It returns io.EOF at the regular end: the codec has
// seen its last event. A connection that ends before that is an error of the reader's (ErrCut).
func (a *httpStream) Next(c *chat.Chunk) error {
	if a.documentRead || a.answer.HasEnded() {
		return io.EOF
	}
	name, data, err := a.events.Next()
	if err == errDocument {
		a.documentRead = true
		return a.decodeDocument(data, c)
	}
	if err != nil {
		return err
	}
	return a.events.Decoded(a.answer.Decode(name, data, c))
}

// decodeDocument reads an answer in one piece, or an error that came like one.
func (a *httpStream) decodeDocument(data []byte, c *chat.Chunk) error {
	err := a.answer.DecodeDocument(data, c)
	if !errors.Is(err, ErrUnreadable) {
		return err
	}
	if r := a.source.http.findRefusal(data); r != nil {
		return r
	}
	return err
}

// End asks the codec for the parts that it holds until the end of the stream.
func (a *httpStream) End(c *chat.Chunk) error { return a.answer.End(c) }

// Finished is the codec's to say.
func (a *httpStream) Finished() bool { return a.answer.Finished() }

// Listen has p called for comments.
func (a *httpStream) Listen(p Pinged) { a.events.Listen(p) }

// Stats returns the figures for the log, also after an error.
func (a *httpStream) Stats() Stats { return a.answer.Stats() }

// Buffered reports whether Next can continue without waiting for the network. Then a flush towards
// the client can wait.
func (a *httpStream) Buffered() bool { return !a.answer.HasEnded() && a.events.Buffered() }

// Close must be called once, and a must not be used afterwards: another call
// may have it.
func (a *httpStream) Close() {
	a.events.Close()
	a.events = nil
	a.answer.Reset()
	a.source.answers.Put(a)
}

// findRefusal reads an error that came in place of a stream, or returns nil.
func (s *HTTP) findRefusal(document []byte) *Refusal {
	r := s.codec.Refuse(0, nil, bytes.TrimLeft(document, " \t,"))
	if r.Status == 0 && r.Kind == KindStatus && r.Type == "" && r.Code == "" && r.Message == "" {
		return nil
	}
	return r
}
