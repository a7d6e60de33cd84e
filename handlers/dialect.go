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
		t := turn{began: time.Now()}
		if err := s.origins.check(r); err != nil {
			return err
		}
		if lost(r) {
			return giveUp(w)
		}
		body, err := readBody(w, r, s.cfg.BodyTimeout)
		if err != nil {
			return err
		}
		x, err := d.Open(body)
		if t.key, err = headerKey(r, err); err != nil {
			return err
		}
		if x.Reply != nil {
			writeBody(w, http.StatusOK, x.Reply)
			return nil
		}
		t.Request, t.encoder = x.Request, x.Encoder
		if x.Close != nil {
			defer x.Close()
		}
		return s.stream(w, r, t)
	}
}
