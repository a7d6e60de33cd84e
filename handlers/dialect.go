package handlers

import (
	"net/http"
	"time"

	"sluice/chat"
	"sluice/stream/sse"
)

// Dialect is another protocol in which turns are asked for and told, over POST at a
// path of its own. Origins, limits, admission, idempotency keys, the log and the
// metrics are those of every stream.
type Dialect interface {
	// Open reads a body. Its error is told as a problem, as the table of statuses
	// has it. It may be called concurrently.
	Open(body []byte) (Exchange, error)
}

// Exchange is one request of a dialect and what answers it: a turn, or a reply
// that is there already.
type Exchange struct {
	// Reply is a JSON text. nil: Request is run as a turn.
	Reply   []byte
	Request chat.Request
	Encoder sse.Encoder
	// Close is called once when the turn is over, however it went: to its Done, with
	// a client that left, or not at all, as it was not admitted. May be nil.
	Close func()
}

func (s *Server) dialect(d Dialect) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, done, err := s.exchanged(w, r, d)
		if t == nil {
			return err
		}
		if done != nil {
			defer done()
		}
		return s.stream(w, r, t)
	}
}

// exchanged reads the turn of a dialect, as posted does, and what is to be called
// at its end.
func (s *Server) exchanged(w http.ResponseWriter, r *http.Request, d Dialect) (*turn, func(), error) {
	t := &turn{began: time.Now()}
	body, err := s.body(w, r)
	if body == nil {
		return nil, nil, err
	}
	x, err := d.Open(body)
	if t.key, err = headerKey(r, err); err != nil {
		return nil, nil, err
	}
	if x.Reply != nil {
		writeBody(w, http.StatusOK, x.Reply)
		return nil, nil, nil
	}
	t.Request, t.encoder = x.Request, x.Encoder
	return t, x.Close, nil
}
