package handlers

import (
	"context"
	"net/http"
	"strings"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// Door authenticates the senders of requests.
type Door interface {
	// Authenticate returns the sender of r, by its head. Its error refuses the request: a fault, or
	// an error that wraps one. It is called before the body is read.
	Authenticate(r *http.Request) (*access.Identity, error)
	// Knows reports whether the head of r has a credential, of any method. Else Authenticate can
	// only ask for a credential.
	Knows(r *http.Request) bool
	// Counts reports whether a credential that was valid at some time still is, here or at another
	// gateway. It fills in the facts that this gateway knows of it.
	Counts(who *access.Identity) bool
}

// senders authenticates the senders of requests, and checks their scopes.
type senders struct {
	door  Door // nil: nobody is asked, and everybody may do everything
	audit auditor
}

// authorize returns the sender of a request, if they have one of the scopes.
func (s *senders) authorize(r *http.Request, wanted chat.Scopes) (*access.Identity, error) {
	return s.authenticate(r, rule{wanted, dialect.Read})
}

// authenticate returns the sender of a request, if its rule allows them; nil without
// authentication.
func (s *senders) authenticate(r *http.Request, of rule) (*access.Identity, error) {
	if s.door == nil || of.scopes == 0 {
		return nil, nil
	}
	if hasTicket(r) { // where it is of no use, or next to another credential
		return nil, access.Invalid("ticket")
	}
	who, err := s.door.Authenticate(r)
	if err != nil {
		return nil, err
	}
	logIdentity(r.Context(), who)
	if !of.allowsSender(who) {
		return nil, s.refuseScopes(r, who, of.scopes)
	}
	return who, nil
}

// maySee reports whether the sender of a request has one of the scopes. It refuses nobody.
func (s *senders) maySee(r *http.Request, wanted chat.Scopes) bool {
	if s.door == nil {
		return true
	}
	if !s.door.Knows(r) {
		return false
	}
	who, err := s.door.Authenticate(r)
	return err == nil && who.May(wanted)
}

// mayStill reports whether a sender that was admitted before would be admitted now. It is the rule
// of tickets and of streams that only watch. It sets the present rights of the credential in who.
func (s *senders) mayStill(who *access.Identity, of rule) bool {
	return (who.Revoked == nil || !who.Revoked()) && s.door.Counts(who) && of.allowsSender(who)
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

// refuseScopes refuses a credential without the scopes of a path.
func (s *senders) refuseScopes(r *http.Request, who *access.Identity, wanted chat.Scopes) error {
	s.audit.recordEvent(r, "auth_denied", func(d *zerolog.Event) {
		d.Str("method", string(who.Method)).Str("scope", wanted.String()).Str("reason", "scope")
	})
	return &access.Challenged{
		Fault:     &fault.Error{Type: fault.Forbidden, Message: "The credential does not allow this: it needs one of the scopes " + wanted.String()},
		Challenge: `Bearer realm="sluice", error="insufficient_scope", scope="` + wanted.String() + `"`,
	}
}

// refuseUser refuses a request that names a user whom its credential must not name.
func (s *senders) refuseUser(r *http.Request, who *access.Identity) error {
	s.audit.recordEvent(r, "auth_denied", func(d *zerolog.Event) { d.Str("method", string(who.Method)).Str("reason", "user_id") })
	return dialect.ForeignUser()
}

// auditAction logs the action of an operator with their name, as a token does not lead to it by
// a key.
func (s *senders) auditAction(r *http.Request, who *access.Identity, action, target string) {
	s.audit.recordEvent(r, "admin_action", func(d *zerolog.Event) {
		d.Str("action", action).Str("target", chat.Clip(target, maxLoggedName)).Str("method", string(who.Method))
		if !who.IsAnonymous() {
			d.Str("user", who.ID)
		}
	})
}

// ticketMark is a part of the query of each request with a ticket.
const ticketMark = "ticket="

// hasTicket reports whether a request shows a ticket.
func hasTicket(r *http.Request) bool {
	return strings.Contains(r.URL.RawQuery, ticketMark) && r.URL.Query().Has("ticket")
}

// isShown reports whether a client shows a credential in the head of its request.
func isShown(r *http.Request) bool {
	return len(r.Header["Authorization"]) > 0 || len(r.Header["X-Api-Key"]) > 0
}
