package chat

// Caller is the user for whom a turn runs, as its tools see it.
type Caller struct {
	Tenant string // empty: there is only one
	// User is the request's user; empty: nobody in particular.
	User string
	// Key distinguishes users of one name: it is the Owner. It is empty for a request without a
	// user and without authentication.
	Key string
}

// Caller returns the user for whom the request runs.
func (r *Request) Caller() Caller {
	c := Caller{Tenant: r.Principal.Tenant, User: r.UserID, Key: r.Owner()}
	if r.Principal.IsKnown() {
		c.User = c.Key[1:]
	}
	return c
}
