package handlers

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"sluice/internal/edge/dialect"
)

// routed is a route with the segments of its path.
type routed struct {
	dialect.Route
	segments []string // of the path: as they are, {name} or {name...}
}

// newRouted sets the defaults of the route.
func newRouted(rt dialect.Route) *routed {
	if rt.MaxBody == 0 {
		rt.MaxBody = dialect.MaxBody
	}
	if rt.ContentType == "" {
		rt.ContentType = "application/json"
	}
	return &routed{rt, strings.Split(strings.TrimPrefix(rt.Path, "/"), "/")}
}

// parameterOf returns the name of a segment that stands for others, and whether it
// stands for all that follow.
func parameterOf(segment string) (name string, rest bool) {
	inner, ok := strings.CutPrefix(segment, "{")
	if !ok {
		return "", false
	}
	inner = strings.TrimSuffix(inner, "}")
	return strings.CutSuffix(inner, "...")
}

// matchesPath reports whether path is one of the route's.
func (rt *routed) matchesPath(path string) bool {
	given := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, want := range rt.segments {
		name, rest := parameterOf(want)
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

// withPathValues gives the request the values of its path.
func withPathValues(names []string, h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		setPathValues(c, names)
		return h(c)
	}
}

// setPathValues gives a request the values of its path.
func setPathValues(c echo.Context, names []string) {
	r := c.Request()
	for i, name := range names {
		value := c.ParamValues()[i]
		if plain, err := url.PathUnescape(value); err == nil && r.URL.RawPath != "" {
			value = plain // the router goes by the path as it was sent
		}
		r.SetPathValue(name, value)
	}
}

// parameterNames returns the names of a path's segments that stand for others, as echo writes them.
func parameterNames(path string) (names []string) {
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, ":"); ok {
			names = append(names, name)
		}
	}
	return names
}

// isRead reports whether a method only reads.
func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }
