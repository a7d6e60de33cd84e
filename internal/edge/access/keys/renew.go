package keys

import (
	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
)

// Renew reports whether a key that was good earlier, here or at another gateway, still counts for the
// same user. It sets the scopes and the class that the key has now, and the way to ask again.
func (r *Ring) Renew(id *access.Identity) bool {
	k, known := (*r.keys.Load())[id.KeyID]
	if !known || k.disabled || k.hasExpired() || k.identity.Tenant != id.Tenant {
		return false
	}
	if k.identity.ID != id.Sender() || id.IsNamed() && !k.identity.Scopes.HasAny(chat.ScopeActAs) {
		return false
	}
	id.Scopes, id.Class = k.identity.Scopes, k.identity.Class
	id.Revoked = func() bool { return r.isRevoked(k) }
	return true
}
