package keys

import (
	"sluice/access"
	"sluice/chat"
)

// Renew says whether a key of which somebody was sure earlier, here or at another gateway, still
// counts for the same user, and has id know when it does not any more.
func (r *Ring) Renew(id *access.Identity) bool {
	k, known := (*r.keys.Load())[id.KeyID]
	if !known || k.disabled || k.expired() || k.identity.Tenant != id.Tenant {
		return false
	}
	if k.identity.ID != id.ID && !k.identity.Scopes.HasAny(chat.ScopeActAs) {
		return false
	}
	id.Revoked = func() bool { return r.isRevoked(k) }
	return true
}
