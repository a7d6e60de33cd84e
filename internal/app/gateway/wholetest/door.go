package wholetest

import (
	"net/http"
	"strings"

	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
)

// Door authenticates the callers of test gateways by two headers: X-Who has tenant/user, and
// X-Scopes the scopes, or chat if it is missing. X-Key is the id of the key.
type Door struct{}

// Authenticate implements handlers.Door.
func (Door) Authenticate(r *http.Request) (*access.Identity, error) {
	tenant, user, ok := strings.Cut(r.Header.Get("X-Who"), "/")
	if !ok {
		return nil, access.Missing()
	}
	words := r.Header.Values("X-Scopes")
	if len(words) == 0 {
		words = []string{"chat"}
	}
	scopes, _ := chat.ParseScopes(strings.Fields(strings.Join(words, " ")))
	id := &access.Identity{Principal: chat.Principal{Tenant: tenant, ID: user, Scopes: scopes, KeyID: r.Header.Get("X-Key")}, Method: access.ByKey}
	if user == "" {
		id.ID, id.Method = chat.AnonymousID, access.Anonymous
	}
	return id, nil
}

// Knows implements handlers.Door.
func (Door) Knows(r *http.Request) bool { return r.Header.Get("X-Who") != "" }

// Counts implements handlers.Door.
func (Door) Counts(*access.Identity) bool { return true }
