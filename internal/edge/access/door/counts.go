package door

import (
	"time"

	"sluice/internal/edge/access"
)

// Counts reports whether a credential that was good at some time still is, here or at another
// gateway. The credential must still prove the same user. For a key it renews the scopes, the class
// and Revoked in who.
func (d *Door) Counts(who *access.Identity) bool {
	return d.isOpenTo(who.Tenant) && d.stillProves(who)
}

// isOpenTo reports whether a tenant is one of the file's that is not disabled, if it has any.
func (d *Door) isOpenTo(tenant string) bool {
	if d.cfg.Tenants == nil {
		return true
	}
	known, enabled := d.cfg.Tenants(tenant)
	return known && enabled
}

// stillProves reports whether the method of a credential is in use and has not revoked it.
func (d *Door) stillProves(who *access.Identity) bool {
	switch who.Method {
	case access.ByKey:
		return d.cfg.Keys != nil && d.cfg.Keys.Renew(who)
	case access.ByToken:
		return d.tokens != nil && time.Now().Before(who.Ends)
	case access.ByProxy:
		return d.proxy != nil
	}
	return who.Method == access.Anonymous && d.anonymous != nil
}
