package task

import (
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// Caller is the sender of a request for tasks. The zero value is any caller.
type Caller struct {
	Principal chat.Principal
	UserID    string
	// Inspects is true if c reads, and may read the records of anybody in the tenant.
	Inspects bool
}

// Owner returns the owner of the records that c may see.
func (c Caller) Owner() string { return c.Principal.Owner(c.UserID) }

// ownsTask reports whether c may see a task.
func (c Caller) ownsTask(t store.Task) bool { return c.mayFind(t.Tenant, t.User) }

// mayFind reports whether records of an owner in a tenant may be shown to c.
func (c Caller) mayFind(tenant, owner string) bool {
	if tenant != c.Principal.Tenant {
		return false
	}
	return c.Inspects && chat.IsProved(owner) || c.Principal.Finds(owner, c.UserID)
}

// sharesTenant reports whether an owner is in c's tenant, and is authenticated if and only if c is.
func (c Caller) sharesTenant(tenant, owner string) bool {
	return tenant == c.Principal.Tenant && chat.IsProved(owner) == (c.Principal.ID != "")
}

// seesAll reports whether c's lists have the tasks of all users of the tenant: c operates the gateway, may
// inspect, and names nobody.
func (c Caller) seesAll() bool {
	return c.Inspects && c.UserID == "" && c.Principal.Scopes.HasAny(chat.ScopeOps)
}
