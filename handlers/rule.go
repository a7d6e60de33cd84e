package handlers

import (
	"cmp"
	"net/http"

	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// rule has the scopes that a path needs, and says how limits count the path.
type rule struct {
	scopes chat.Scopes // one of them is needed; 0: everybody may
	use    dialect.Use
}

// turnScopes are the scopes of senders that may use the gateway.
const turnScopes = chat.ScopeChat | chat.ScopeReadOnly

// Rules of paths that belong to no protocol.
var (
	open      = rule{0, dialect.Free}
	reading   = rule{turnScopes, dialect.Read}
	inspected = rule{turnScopes | chat.ScopeInspect, dialect.Read}
	reviewed  = rule{turnScopes | chat.ScopeInspect | chat.ScopeApprove, dialect.Read}
	changing  = rule{turnScopes, dialect.Free}
	anySender = rule{^chat.Scopes(0), dialect.Read} // whatever the credential allows
	measured  = rule{chat.ScopeOps, dialect.Read}
	probed    = rule{turnScopes | chat.ScopeOps, dialect.Read}
)

// ruleOf is the rule of a protocol's route.
func ruleOf(rt *dialect.Route) rule {
	if rt.Public {
		return open
	}
	return rule{cmp.Or(rt.Scopes, turnScopes), rt.Use}
}

// allowsSender reports whether a sender has the scopes that a path needs.
func (of rule) allowsSender(who *access.Identity) bool { return of == anySender || who.May(of.scopes) }

// sentBy returns the request with its sender. It is apart from openTurn, whose frame lies on the
// stack while the body is decoded.
func sentBy(r *http.Request, who *access.Identity) *http.Request {
	if who == nil {
		return r
	}
	asked := chat.TurnOf(r.Context())
	asked.Principal = who.Principal
	return r.WithContext(chat.WithTurn(r.Context(), asked))
}

// principalOf returns the principal of a sender; zero for nil.
func principalOf(who *access.Identity) chat.Principal {
	if who == nil {
		return chat.Principal{}
	}
	return who.Principal
}
