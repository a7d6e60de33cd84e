package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// Rule is one path of a Server, with the needed scopes.
type Rule struct {
	Method, Path string      // the path as echo's router has it
	Scopes       chat.Scopes // one of them is needed; 0: everybody may
	Use          dialect.Use
	Missing      bool // the path lacks a rule, which is a bug
}

// router serves paths, each by its rule.
type router struct {
	echo    *echo.Echo
	rules   map[string]rule // by method and path
	origins *originPolicy
	senders *senders
	limits  *limits
}

// newRouter returns a router without paths.
func newRouter(origins *originPolicy, senders *senders, limits *limits, refuser *refuser) *router {
	ro := &router{echo: echo.New(), rules: map[string]rule{}, origins: origins, senders: senders, limits: limits}
	ro.echo.HTTPErrorHandler = refuser.replyError
	return ro
}

// listRules returns all paths with their rules, for the test that each path has one.
func (ro *router) listRules() (list []Rule) {
	for _, rt := range ro.echo.Routes() {
		of, ok := ro.rules[rt.Method+" "+rt.Path]
		list = append(list, Rule{rt.Method, rt.Path, of.scopes, of.use, !ok})
	}
	return list
}

// addProtocolRoute serves a route of a protocol by h.
func (ro *router) addProtocolRoute(rt *routed, h echo.HandlerFunc) {
	var path strings.Builder
	var names []string
	for _, segment := range rt.segments {
		name, rest := parameterOf(segment)
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
	if len(names) > 0 {
		h = withPathValues(names, h)
	}
	for _, method := range rt.Methods {
		ro.addRoute(method, path.String(), ruleOf(&rt.Route), h)
		if method == http.MethodGet && rt.Use != dialect.Turn {
			ro.addRoute(http.MethodHead, path.String(), ruleOf(&rt.Route), h)
		}
	}
}

// routeRead routes a GET without effects, and HEAD, for which net/http leaves the body out.
func (ro *router) routeRead(path string, of rule, h func(http.ResponseWriter, *http.Request) error) {
	ro.routeGuarded(http.MethodGet, path, of, withoutIdentity(h))
	ro.routeGuarded(http.MethodHead, path, of, withoutIdentity(h))
}

// withoutIdentity adapts a handler that does not need the sender.
func withoutIdentity(h func(http.ResponseWriter, *http.Request) error) asks {
	return func(w http.ResponseWriter, r *http.Request, _ *access.Identity) error { return h(w, r) }
}

// routeGuarded serves a path that runs no turn, for those whom its rule allows.
func (ro *router) routeGuarded(method, path string, of rule, h asks) {
	names := parameterNames(path)
	ro.addRoute(method, path, of, func(c echo.Context) error {
		w, r := c.Response().Writer, c.Request()
		setPathValues(c, names)
		who, err := ro.senders.authenticate(r, of)
		if err == nil {
			err = ro.limits.chargeHead(r, who, of)
		}
		if err != nil {
			return err
		}
		return h(w, sentBy(r, who), who)
	})
}

// asks is a handler that must know the sender. who is nil without authentication.
type asks func(w http.ResponseWriter, r *http.Request, who *access.Identity) error

// addRoute serves a path by a rule.
func (ro *router) addRoute(method, path string, of rule, h echo.HandlerFunc) {
	ro.rules[method+" "+path] = of
	ro.echo.Add(method, path, h)
}

// netHandler keeps echo at the edge: handlers see net/http only. The response is the
// server's own, because echo's swallows the error of Flush.
func netHandler(h func(http.ResponseWriter, *http.Request) error) echo.HandlerFunc {
	return func(c echo.Context) error { return h(c.Response().Writer, c.Request()) }
}
