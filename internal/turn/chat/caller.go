package chat

// Caller is whom a turn is run for, as its tools see it.
type Caller struct {
	Tenant string // empty: there is only one
	// User is the request's user; empty: nobody in particular.
	User string
	// Key distinguishes users of one name whom the gateway knows by more than that: it is the
	// Owner. Empty: nobody in particular, where nobody was asked.
	Key string
}

// Caller returns whom the request is for.
func (r *Request) Caller() Caller {
	c := Caller{Tenant: r.Principal.Tenant, User: r.UserID, Key: r.Owner()}
	if r.Principal.IsKnown() {
		c.User = c.Key[1:]
	}
	return c
}
