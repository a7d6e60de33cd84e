package chat

// Caller is whom a turn is run for, as its tools see it.
type Caller struct {
	Tenant string // empty: there is only one
	// User is the request's user; empty: nobody in particular.
	User string
	// Key distinguishes users whom the gateway knows by more than their name; empty iff the
	// user is nobody in particular.
	Key string
}

// Caller returns whom the request is for.
func (r *Request) Caller() Caller {
	c := Caller{Tenant: r.Principal.Tenant, User: r.UserID, Key: r.UserID}
	if id := r.Principal.ID; id != "" {
		c.Key = id + "\x00" + r.UserID
		if c.User == "" {
			c.User = id
		}
	}
	return c
}
