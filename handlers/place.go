package handlers

// Place is the place of a connection among those that fit into the server. Its methods are called
// by the goroutine that serves the connection.
type Place interface {
	// Surplus reports whether the connection did not fit: all others run turns, or may have a
	// request on its way. Only an operator's requests are answered on it, and it is closed then.
	Surplus() bool
	// Waiting says that bytes of a request are waited for. Until Busy, the connection
	// may be closed to make room for another one.
	Waiting()
	// Busy says that there is work on the request, and no more of it is waited for.
	Busy()
}

// anyPlace is that of a connection for which there is room in any case.
type anyPlace struct{}

// Surplus returns false: without a bound the connection may stay.
func (anyPlace) Surplus() bool { return false }

// Waiting does nothing where connections are not bounded.
func (anyPlace) Waiting() {}

// Busy does nothing where connections are not bounded.
func (anyPlace) Busy() {}
