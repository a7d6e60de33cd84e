package door

import (
	"cmp"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"sluice/internal/edge/access"
)

// maxAddresses bounds how many addresses are known.
const maxAddresses = 100_000

// defaultFailures is the rate of failed credentials of an address.
var defaultFailures = access.Quota{N: 60, Unit: 'm'}

// failures counts failed credentials by address, with the generic cell rate algorithm: one
// moment for each address says how far ahead of its rate it is. Addresses that failed long
// ago are forgotten first.
type failures struct {
	rate     access.Quota
	interval time.Duration // between two failures at the rate
	burst    time.Duration // how far ahead of it an address may be

	mu    *sync.Mutex // guards the field below
	ahead *access.Recent[netip.Prefix, time.Time]
}

func newFailures(r access.Quota) failures {
	r = cmp.Or(r, defaultFailures)
	interval := r.Unit.Length() / time.Duration(r.N)
	return failures{r, interval, interval * time.Duration(r.N), new(sync.Mutex), access.NewRecent[netip.Prefix, time.Time](maxAddresses)}
}

// retryAfter returns how long it is until a credential of the address is read again; 0: it is now.
// The zero Prefix never waits.
func (f *failures) retryAfter(addr netip.Prefix) time.Duration {
	if !addr.IsValid() {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ahead, ok := f.ahead.Get(addr)
	if !ok {
		return 0
	}
	return max(0, time.Until(ahead)-f.burst+f.interval)
}

// addFailure counts a failed credential.
func (f *failures) addFailure(addr netip.Prefix) {
	if !addr.IsValid() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	ahead, _ := f.ahead.Get(addr)
	if ahead.Before(now) {
		ahead = now
	}
	// Keys are read beyond the limit too, and their failures must not keep the address out for
	// longer than a whole burst.
	f.ahead.Put(addr, minTime(ahead.Add(f.interval), now.Add(f.burst)))
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// limitedAddress returns the address that failures count for: none for a peer that many stand
// behind.
func (d *Door) limitedAddress(r *http.Request) netip.Prefix {
	if d.proxy != nil && isInRanges(d.proxy.from, d.cfg.Peers.Client(r)) {
		return netip.Prefix{}
	}
	return d.cfg.Peers.Limited(r)
}
