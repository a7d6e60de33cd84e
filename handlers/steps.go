package handlers

import (
	"net/http"

	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
)

// step is one of the decisions about a request that may run something. It gets who the
// steps before it found the sender to be, and returns that, or what it made sure of
// itself. Its error refuses the request.
type step func(r *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error)

// steps lists what can be decided before the body of a request: neither time nor memory
// is spent on one that will be refused. What costs less comes first, and what a limit may
// want to know comes before it. (Whom any request may ask, ServeHTTP has decided.)
func (s *Server) steps() []step {
	return []step{s.notDraining, s.allowedOrigin, s.authentic, s.withinLimits, fitHeaders, s.freePlace}
}

// admit takes a request through the steps. The sender is nobody until one of them knows
// better.
func (s *Server) admit(r *http.Request, rt *dialect.Route, by *ticketed) (who *access.Identity, err error) {
	if by != nil {
		who, rt = by.who, by.route
	}
	for _, step := range s.admission {
		if who, err = step(r, rt, who); err != nil {
			return nil, err
		}
	}
	return who, nil
}

// notDraining refuses turns: another gateway may accept them.
func (s *Server) notDraining(_ *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error) {
	if s.gate.isDraining() && !rt.Mixed {
		return who, s.gate.vacant()
	}
	return who, nil
}

// allowedOrigin refuses what a foreign page can make a browser send.
func (s *Server) allowedOrigin(r *http.Request, _ *dialect.Route, who *access.Identity) (*access.Identity, error) {
	return who, s.origins.check(r)
}

// fitHeaders refuses a body by its headers alone: of another type, packed in another way, or
// declared longer than the route takes.
func fitHeaders(r *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error) {
	limit := rt.MaxBody
	if !rt.NoBody {
		if err := wantType(r, rt.ContentType); err != nil {
			return who, err
		}
		encoding, err := encodingOf(r)
		if err != nil {
			return who, err
		}
		limit = bytesOf(limit, encoding)
	}
	if r.ContentLength > limit {
		return who, tooLarge(rt.MaxBody)
	}
	return who, nil
}

// authentic asks Config.Door who the sender is, and whether they may.
func (s *Server) authentic(r *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error) {
	if who != nil { // a ticket says it
		return who, nil
	}
	return s.senders.authenticate(r, ruleOf(rt))
}

// withinLimits refuses what is too much, before the body is read, and charges the requests that run no turn.
func (s *Server) withinLimits(r *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error) {
	return who, s.limits.chargeHead(r, who, ruleOf(rt))
}

// freePlace refuses when no stream could begin now. It reserves nothing: the place is
// taken after the body was read.
func (s *Server) freePlace(_ *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error) {
	if rt.Mixed {
		return who, nil
	}
	return who, s.gate.vacant()
}
