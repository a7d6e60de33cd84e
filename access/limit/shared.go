package limit

// shared is what an entry has where a store counts for several gateways.
type shared struct{}

// unsaid says whether the store does not know all of it.
func (*shared) unsaid() bool { return false }
