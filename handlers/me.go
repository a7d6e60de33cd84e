package handlers

import (
	"net/http"
	"time"

	"sluice/internal/edge/access"
)

// serveIdentity routes the paths about a sender's own credential.
func serveIdentity(ro *router) {
	ro.routeGuarded(http.MethodGet, "/me", anySender, showIdentity)
	ro.routeGuarded(http.MethodHead, "/me", anySender, showIdentity)
}

// identityReply is the reply of GET /me, which web/openapi.yaml documents.
type identityReply struct {
	User      string        `json:"user"`
	Tenant    string        `json:"tenant"`
	Scopes    []string      `json:"scopes"`
	Method    access.Method `json:"method"`
	ExpiresAt string        `json:"expires_at,omitempty"`
}

// showIdentity replies with the sender of the request.
func showIdentity(w http.ResponseWriter, _ *http.Request, who *access.Identity) error {
	me := identityReply{User: who.ID, Tenant: who.Tenant, Scopes: who.Scopes.Names(), Method: who.Method}
	if who.IsAnonymous() {
		me.User = ""
	}
	if !who.Expires.IsZero() {
		me.ExpiresAt = who.Expires.UTC().Format(time.RFC3339)
	}
	return writeJSON(w, http.StatusOK, me)
}
