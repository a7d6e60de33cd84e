package handlers

import (
	"context"
	"net/http"
	"time"

	"sluice/chat"
	"sluice/stream"
)

// Dialect is another protocol in which turns are asked for and told, over POST at a
// path of its own. Origins, limits, admission, idempotency keys, the log and the
// metrics are those of every stream.
type Dialect interface {
	// Open reads a body; ctx is the request's, with its logger. Its error is told as a
	// problem, as the table of statuses has it. It may be called concurrently.
	Open(ctx context.Context, body []byte) (Exchange, error)
}

// Exchange is one request of a dialect and what answers it: a turn, or a reply
// that is there already.
type Exchange struct {
	// Reply is a JSON text. nil: Request is run as a turn.
	Reply   []byte
	Request chat.Request
	Encoder stream.Encoder
	// Output wraps the output behind which the client is. nil: nothing does.
	Output func(stream.Output) stream.Output
	// Close is called once when a turn that was admitted is over, however it went: to
	// its Done, or with a client that left. May be nil.
	Close func()
}

func (s *Server) dialect(d Dialect) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, err := s.exchanged(w, r, d)
		if t == nil {
			return err
		}
		return s.stream(w, r, t)
	}
}

// exchanged reads the turn of a dialect, as posted does. What Open does may take
// effect at once, so everything else about the request is looked at before.
func (s *Server) exchanged(w http.ResponseWriter, r *http.Request, d Dialect) (*turn, error) {
	t := &turn{began: time.Now()}
	body, err := s.body(w, r)
	if body == nil {
		return nil, err
	}
	if t.key, err = headerKey(r, nil); err != nil {
		return nil, err
	}
	x, err := d.Open(r.Context(), body)
	if err != nil {
		return nil, err
	}
	if x.Reply != nil {
		writeBody(w, http.StatusOK, x.Reply)
		return nil, nil
	}
	t.Request, t.encoder, t.output, t.over = x.Request, x.Encoder, x.Output, x.Close
	return t, nil
}
