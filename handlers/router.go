package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// Rule is one path of a Server, and who may use it.
type Rule struct {
	Method, Path string      // the path as echo's router has it
	Scopes       chat.Scopes // of which one is needed; 0: everybody may
	Use          dialect.Use
	Missing      bool // the path is served by no rule, which is a bug
}

// Rules walks the router, for what proves that each path has a rule.
func (s *Server) Rules() (list []Rule) {
	for _, rt := range s.routes.Routes() {
		of, ok := s.rules[rt.Method+" "+rt.Path]
		list = append(list, Rule{rt.Method, rt.Path, of.scopes, of.use, !ok})
	}
	return list
}

// asks is a handler that must know who asks; who is nil where nobody is asked.
type asks func(w http.ResponseWriter, r *http.Request, who *access.Identity) error

// route serves a path by a rule.
func (s *Server) route(method, path string, of rule, h echo.HandlerFunc) {
	s.rules[method+" "+path] = of
	s.routes.Add(method, path, h)
}

// readable routes a GET that has no effect, and HEAD, for which net/http leaves the body out.
func (s *Server) readable(path string, of rule, h func(http.ResponseWriter, *http.Request) error) {
	s.guarded(http.MethodGet, path, of, ignoring(h))
	s.guarded(http.MethodHead, path, of, ignoring(h))
}

// ignoring makes a handler that asks of one that does not.
func ignoring(h func(http.ResponseWriter, *http.Request) error) asks {
	return func(w http.ResponseWriter, r *http.Request, _ *access.Identity) error { return h(w, r) }
}

// guarded serves a path that runs no turn, for those whom its rule allows.
func (s *Server) guarded(method, path string, of rule, h asks) {
	names := parameters(path)
	s.route(method, path, of, func(c echo.Context) error {
		w, r := c.Response().Writer, c.Request()
		setPathValues(c, names)
		who, err := s.senders.authenticate(r, of)
		if err == nil {
			err = s.limits.chargeHead(r, who, of)
		}
		if err != nil {
			return err
		}
		return h(w, sentBy(r, who), who)
	})
}

// raw keeps echo at the edge: handlers see net/http only. The response is the
// server's own, because echo's swallows the error of Flush.
func raw(h func(http.ResponseWriter, *http.Request) error) echo.HandlerFunc {
	return func(c echo.Context) error { return h(c.Response().Writer, c.Request()) }
}
