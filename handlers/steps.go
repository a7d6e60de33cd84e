package handlers

import (
	"net/http"

	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
)

// guard decides whether a request may run something, before its body is read.
type guard struct {
	gate    *gate
	origins *originPolicy
	senders *senders
	limits  *limits
	steps   []guardStep
}

// guardStep is one of the decisions about a request that may run something. It gets the sender
// that the previous steps have found, and returns it or a sender that it has found itself. Its
// error refuses the request.
type guardStep func(r *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error)

// newGuard returns a guard with its steps: neither time nor memory is spent on a request that
// will be refused. The cheaper steps come first, and the limits after the facts that they count.
// (ServeHTTP has checked the host before.)
func newGuard(gate *gate, origins *originPolicy, senders *senders, limits *limits) *guard {
	gd := &guard{gate: gate, origins: origins, senders: senders, limits: limits}
	gd.steps = []guardStep{gd.notDraining, gd.allowedOrigin, gd.authenticSender, gd.withinLimits, fitHeaders, gd.freePlace}
	return gd
}

// admitRequest runs the steps for a request, and returns its sender. who is the owner of the
// request's ticket, or nil without a ticket.
func (gd *guard) admitRequest(r *http.Request, rt *dialect.Route, who *access.Identity) (_ *access.Identity, err error) {
	for _, step := range gd.steps {
		if who, err = step(r, rt, who); err != nil {
			return nil, err
		}
	}
	return who, nil
}

// notDraining refuses turns: another gateway may accept them.
func (gd *guard) notDraining(_ *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error) {
	if gd.gate.isDraining() && !rt.Mixed {
		return who, gd.gate.checkVacant()
	}
	return who, nil
}

// allowedOrigin refuses a request that a foreign page can make a browser send.
func (gd *guard) allowedOrigin(r *http.Request, _ *dialect.Route, who *access.Identity) (*access.Identity, error) {
	return who, gd.origins.checkOrigin(r)
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

// authenticSender asks Config.Door for the sender, and checks the scopes.
func (gd *guard) authenticSender(r *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error) {
	if who != nil { // a ticket says it
		return who, nil
	}
	return gd.senders.authenticate(r, ruleOf(rt))
}

// withinLimits refuses a request beyond a limit before the body is read. It charges the requests
// that do not run a turn.
func (gd *guard) withinLimits(r *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error) {
	return who, gd.limits.chargeHead(r, who, ruleOf(rt))
}

// freePlace refuses when no stream could begin now. It reserves nothing: the place is
// taken after the body was read.
func (gd *guard) freePlace(_ *http.Request, rt *dialect.Route, who *access.Identity) (*access.Identity, error) {
	if rt.Mixed {
		return who, nil
	}
	return who, gd.gate.checkVacant()
}
