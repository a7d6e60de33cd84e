package door

import (
	"time"

	"sluice/access"
)

// Counts says whether a credential that was good at some time still is, here or at another
// gateway, and has who know when it ends. Whom it names must be whom it was good for.
func (d *Door) Counts(who *access.Identity) bool {
	if d.cfg.Tenants != nil {
		if known, enabled := d.cfg.Tenants(who.Tenant); !known || !enabled {
			return false
		}
	}
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
