package task

import (
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// Caller is who asks for tasks. The zero value is any caller.
type Caller struct {
	Principal chat.Principal
	UserID    string
	// Inspects says that c reads, and may read what belongs to anybody in the tenant.
	Inspects bool
}

// Owner returns whom what c may see belongs to.
func (c Caller) Owner() string { return c.Principal.Owner(c.UserID) }

// ownsTask says whether a task may be shown to c.
func (c Caller) ownsTask(t store.Task) bool { return c.mayFind(t.Tenant, t.User) }

// mayFind says whether what belongs to an owner in a tenant may be shown to c.
func (c Caller) mayFind(tenant, owner string) bool {
	if tenant != c.Principal.Tenant {
		return false
	}
	return c.Inspects && chat.IsProved(owner) || c.Principal.Finds(owner, c.UserID)
}

// sharesTenant says whether something belongs to somebody of c's tenant who was asked like c, or was not.
func (c Caller) sharesTenant(tenant, owner string) bool {
	return tenant == c.Principal.Tenant && chat.IsProved(owner) == (c.Principal.ID != "")
}

// seesAll reports whether c's lists have the tasks of all users of the tenant: c operates the gateway, may
// inspect, and names nobody.
func (c Caller) seesAll() bool {
	return c.Inspects && c.UserID == "" && c.Principal.Scopes.HasAny(chat.ScopeOps)
}
