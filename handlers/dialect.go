package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"sluice/dialect"
	"sluice/fault"
)

// The handlers leave reading to functions of their own: an open stream keeps the
// frames of all that called it on its stack, which has room for them in 8 KB but
// would else grow to 16 (docs/performance.md).

// dialect serves a route: decode, validate, decide, run, stream.
func (s *Server) dialect(rt *dialect.Route) func(http.ResponseWriter, *http.Request) error {
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
	if s.gate.isDraining() && !lost(r) { // whoever comes back need not ask elsewhere
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

// routed is a route and what its path looks like.
type routed struct {
	dialect.Route
	segments []string // of the path: as they are, {name} or {name...}
}

// newRouted fills in what the route leaves open.
func newRouted(rt dialect.Route) *routed {
	if rt.MaxBody == 0 {
		rt.MaxBody = dialect.MaxBody
	}
	if rt.ContentType == "" {
		rt.ContentType = "application/json"
	}
	return &routed{rt, strings.Split(strings.TrimPrefix(rt.Path, "/"), "/")}
}

// parameter returns the name of a segment that stands for others, and whether it
// stands for all that follow.
func parameter(segment string) (name string, rest bool) {
	inner, ok := strings.CutPrefix(segment, "{")
	if !ok {
		return "", false
	}
	inner = strings.TrimSuffix(inner, "}")
	return strings.CutSuffix(inner, "...")
}

// matches says whether path is one of the route's.
func (rt *routed) matches(path string) bool {
	given := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, want := range rt.segments {
		name, rest := parameter(want)
		switch {
		case i == len(given):
			return false
		case rest:
			return true
		case name == "" && want != given[i]:
			return false
		}
	}
	return len(given) == len(rt.segments)
}

// serve registers the routes of a dialect.
func (s *Server) serve(e *echo.Echo, d dialect.Dialect) {
	for _, route := range d.Routes() {
		rt := newRouted(route)
		if rt.Refuse != nil {
			s.shapes = append(s.shapes, rt)
		}
		for _, method := range rt.Methods {
			s.origins.take(method)
		}
		s.register(e, rt)
	}
}

// register adds a route to the router.
func (s *Server) register(e *echo.Echo, rt *routed) {
	var path strings.Builder
	var names []string
	for _, segment := range rt.segments {
		name, rest := parameter(segment)
		switch {
		case rest:
			segment = "*"
		case name != "":
			segment = ":" + name
		}
		if name != "" {
			names = append(names, name)
		}
		path.WriteString("/" + segment)
	}
	h := raw(s.dialect(&rt.Route))
	if len(names) > 0 {
		h = withPathValues(names, h)
	}
	for _, method := range rt.Methods {
		e.Add(method, path.String(), h)
	}
}

// withPathValues gives the request the values of its path.
func withPathValues(names []string, h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		for i, name := range names {
			value := c.ParamValues()[i]
			if plain, err := url.PathUnescape(value); err == nil && r.URL.RawPath != "" {
				value = plain // the router goes by the path as it was sent
			}
			r.SetPathValue(name, value)
		}
		return h(c)
	}
}

// shape returns how a refusal of r is worded: as the route at its path does, also if the
// request does not get there.
func (s *Server) shape(r *http.Request) func(dialect.Refusal) dialect.Reply {
	var refuse func(dialect.Refusal) dialect.Reply
	for _, rt := range s.shapes {
		if !rt.matches(r.URL.Path) {
			continue
		}
		if slices.Contains(rt.Methods, r.Method) {
			return rt.Refuse
		}
		if refuse == nil {
			refuse = rt.Refuse
		}
	}
	if refuse == nil {
		return dialect.Problem
	}
	return refuse
}
