package gateway

import (
	"testing"
	"time"
)

// The breaker of the store lets a renewal of the lease through before the lease is over.
func TestStoreRecoversWithinALease(t *testing.T) {
	t.Parallel()
	for lease, want := range map[time.Duration]time.Duration{0: 5 * time.Second, 3 * time.Second: time.Second, 15 * time.Second: 5 * time.Second, time.Minute: 5 * time.Second} {
		if got := recoveryWithin(lease); got != want {
			t.Errorf("lease %s: %s, want %s", lease, got, want)
		}
	}
}
