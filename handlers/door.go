package handlers

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// Door knows who sends a request.
type Door interface {
	// Authenticate returns who sent r, by its head. Its error refuses the request: a fault, or
	// what leads to one. It is called before the body is read.
	Authenticate(r *http.Request) (*access.Identity, error)
	// Knows says whether the head of r leads to somebody, by whatever method. Else Authenticate can
	// only ask for a credential.
	Knows(r *http.Request) bool
	// Counts says whether a credential that was good at some time still is, here or at another
	// gateway, and fills in what this one knows of it.
	Counts(who *access.Identity) bool
}

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
		who, err := s.known(r, of)
		if err == nil {
			err = s.chargeHead(r, who, of)
		}
		if err != nil {
			return err
		}
		return h(w, sentBy(r, who), who)
	})
}

// mayStill reports whether a sender who was let in at some time would be let in now. It is the rule of
// tickets and of streams that only watch, and sets in who what the credential is good for now.
func (s *Server) mayStill(who *access.Identity, of rule) bool {
	return (who.Revoked == nil || !who.Revoked()) && s.cfg.Door.Counts(who) && of.allows(who)
}

// known returns who sends a request, if they may; nil where nobody is asked.
func (s *Server) known(r *http.Request, of rule) (*access.Identity, error) {
	if s.cfg.Door == nil || of.scopes == 0 {
		return nil, nil
	}
	if hasTicket(r) { // where it is of no use, or next to another credential
		return nil, access.Invalid("ticket")
	}
	who, err := s.cfg.Door.Authenticate(r)
	if err != nil {
		return nil, err
	}
	logIdentity(r.Context(), who)
	if !of.allows(who) {
		return nil, s.lacks(r, who, of.scopes)
	}
	return who, nil
}

// sees says whether a request comes from somebody who may see what needs one of the scopes. One that
// does not is not refused for it.
func (s *Server) sees(r *http.Request, wanted chat.Scopes) bool {
	if s.cfg.Door == nil {
		return true
	}
	if !s.cfg.Door.Knows(r) {
		return false
	}
	who, err := s.cfg.Door.Authenticate(r)
	return err == nil && who.May(wanted)
}

// authorized refuses who may not do what needs one of the scopes.
func (s *Server) authorized(r *http.Request, wanted chat.Scopes) (*access.Identity, error) {
	return s.known(r, rule{wanted, dialect.Read})
}

// acted says in the audit what an operator did, and who that is: a token has no key by which they
// could be found.
func (s *Server) acted(r *http.Request, who *access.Identity, action, target string) {
	s.audit(r, "admin_action", func(d *zerolog.Event) {
		d.Str("action", action).Str("target", chat.Clip(target, maxLoggedName)).Str("method", string(who.Method))
		if !who.IsAnonymous() {
			d.Str("user", who.ID)
		}
	})
}

// logIdentity has the lines of a request say by which key it came. Its logger is its own.
func logIdentity(ctx context.Context, who *access.Identity) {
	if who.Tenant == "" && who.KeyID == "" {
		return
	}
	zerolog.Ctx(ctx).UpdateContext(func(c zerolog.Context) zerolog.Context {
		if who.Tenant != "" {
			c = c.Str("tenant", who.Tenant)
		}
		if who.KeyID != "" {
			c = c.Str("key_id", who.KeyID)
		}
		return c
	})
}

// lacks refuses a credential without the scopes of a path.
func (s *Server) lacks(r *http.Request, who *access.Identity, wanted chat.Scopes) error {
	s.audit(r, "auth_denied", func(d *zerolog.Event) {
		d.Str("method", string(who.Method)).Str("scope", wanted.String()).Str("reason", "scope")
	})
	return &access.Challenged{
		Fault:     &fault.Error{Type: fault.Forbidden, Message: "The credential does not allow this: it needs one of the scopes " + wanted.String()},
		Challenge: `Bearer realm="sluice", error="insufficient_scope", scope="` + wanted.String() + `"`,
	}
}

// audit logs what somebody did who is responsible for it, or what was refused.
func (s *Server) audit(r *http.Request, event string, details func(*zerolog.Event)) {
	client := ""
	if s.cfg.Client != nil {
		client = s.cfg.Client(r)
	}
	Audit(r, client, event, details)
}

// foreignUser refuses a request that names a user whom its credential must not name.
func (s *Server) foreignUser(r *http.Request, who *access.Identity) error {
	s.audit(r, "auth_denied", func(d *zerolog.Event) { d.Str("method", string(who.Method)).Str("reason", "user_id") })
	return dialect.ForeignUser()
}

// settle has a request be carried out for one person, not for anyone whom its body names.
func (s *Server) settle(r *http.Request, t *turn) error {
	who := t.who
	if who == nil {
		return nil
	}
	req := &t.Request
	p, ok := who.For(t.userFor(who))
	if !ok {
		return s.foreignUser(r, who)
	}
	req.Principal = p
	if req.UserID = p.ID; p.IsAnonymous() {
		req.UserID = ""
	}
	if who.Scopes&turnScopes != chat.ScopeReadOnly {
		return nil
	}
	if req.Workflow != "" {
		return s.lacks(r, who, chat.ScopeChat)
	}
	req.Tools = max(req.Tools, chat.ToolsReadOnly)
	return nil
}

// Streams that only watch end with the credential by which they were asked for.

// lookAtCredential is how often it is looked at whether a watcher may still watch.
const lookAtCredential = 5 * time.Second

// errCredentialEnded is the cause of a stream's end.
var errCredentialEnded = &fault.Error{Type: fault.Unauthorized, Message: "The credential has ended"}

// whileMay calls cut when the sender would not be let in any more. The caller must call stop.
func (s *Server) whileMay(who *access.Identity, of rule, cut func(cause error)) (stop func()) {
	if who == nil {
		return func() {}
	}
	ended, over := make(chan struct{}), make(chan struct{})
	// Goroutine (whileMay): looks whether the sender of a stream that only watches may still watch.
	// Ends: it may not, or the stream is over.
	// Waits: the stream, whose end stops it.
	go func() {
		defer close(over)
		s.watchSender(who, of, ended, cut)
	}()
	return func() { close(ended); <-over }
}

// watchSender is the loop of whileMay.
func (s *Server) watchSender(who *access.Identity, of rule, ended <-chan struct{}, cut func(cause error)) {
	for {
		wait := lookAtCredential
		if !who.Ends.IsZero() {
			left := time.Until(who.Ends)
			if left <= 0 {
				cut(errCredentialEnded)
				return
			}
			wait = min(wait, left)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ended:
			timer.Stop()
			return
		case <-timer.C:
		}
		if now := *who; !s.mayStill(&now, of) { // a copy: identities are shared
			cut(errCredentialEnded)
			return
		}
	}
}

// ticketMark is what the query of a request with a ticket has in it.
const ticketMark = "ticket="

// hasTicket says whether a request shows a ticket.
func hasTicket(r *http.Request) bool {
	return strings.Contains(r.URL.RawQuery, ticketMark) && r.URL.Query().Has("ticket")
}

// isShown says whether a client shows a credential in the head of its request.
func isShown(r *http.Request) bool {
	return len(r.Header["Authorization"]) > 0 || len(r.Header["X-Api-Key"]) > 0
}
