package handlers

import (
	"errors"
	"net/http"
	"time"

	"sluice/dialect"
	"sluice/fault"
)

// The handlers leave reading to functions of their own: an open stream keeps the
// frames of all that called it on its stack, which has room for them in 8 KB but
// would else grow to 16 (docs/performance.md).

// answer serves a route: decode, validate, decide, run, stream.
func (s *Server) answer(rt *dialect.Route) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, err := s.open(w, r, rt)
		if t == nil {
			return err
		}
		err = s.stream(w, r, t)
		if rt.Reconnects && isRepetition(err) {
			return giveUp(w)
		}
		return err
	}
}

// open reads the turn of a request. It returns nil if there is none to run: the error
// says why, or the reply was given. What a dialect's Open does may take effect at once,
// so everything else about the request is looked at before.
func (s *Server) open(w http.ResponseWriter, r *http.Request, rt *dialect.Route) (*turn, error) {
	t := &turn{began: time.Now()}
	if wanted, err := s.wanted(w, r, rt); !wanted {
		return nil, err
	}
	body, err := s.body(w, r, rt)
	if err != nil {
		return nil, err
	}
	if t.Exchange, err = rt.Open(r, body); err != nil {
		return nil, err
	}
	if t.Reply != nil {
		respond(w, t.Reply)
		return nil, nil
	}
	return t, nil
}

// wanted decides what can be decided before the body of a request that may run
// something: neither time nor memory is spent on one that will be refused. It returns
// false if the body is not to be read: the error says why, or the reply was given.
func (s *Server) wanted(w http.ResponseWriter, r *http.Request, rt *dialect.Route) (bool, error) {
	if s.gate.isDraining() && !lost(r) { // a client that comes back need not ask elsewhere
		return false, s.gate.vacant()
	}
	if err := s.origins.check(r); err != nil {
		return false, err
	}
	if lost(r) {
		return false, giveUp(w)
	}
	if !rt.NoBody {
		if err := wantType(r, rt.ContentType); err != nil {
			return false, err
		}
	}
	if r.ContentLength > rt.MaxBody {
		return false, tooLarge(rt.MaxBody)
	}
	if err := s.gate.vacant(); err != nil {
		return false, err
	}
	return true, nil
}

// body reads the body, which is nil for a route that takes none.
func (s *Server) body(w http.ResponseWriter, r *http.Request, rt *dialect.Route) ([]byte, error) {
	if rt.NoBody {
		return nil, s.dropBody(w, r)
	}
	return s.readBody(w, r, rt.MaxBody)
}

// lost says whether the client had this stream before and lost it. A turn is
// never run twice because a connection was lost, and there is nothing to resume.
func lost(r *http.Request) bool { return len(r.Header.Values("Last-Event-ID")) > 0 }

// giveUp answers 204, the one reply that makes an EventSource stop for good.
func giveUp(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func isRepetition(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Type == fault.DuplicateRequest
}
