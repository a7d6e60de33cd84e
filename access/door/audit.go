package door

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/access"
)

// Bounds of the audit.
const (
	linesPerAddress = 10    // a minute; what is more is counted
	countedApart    = 1_000 // addresses; what others do is counted together
	firstUseAgain   = 24 * time.Hour
	rememberedUses  = 100_000
)

// audit writes the lines of the audit that the door has to write. nil writes none.
type audit struct {
	write func(r *http.Request, event string, details func(*zerolog.Event))
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu    sync.Mutex         // guards the fields below
	tally map[netip.Addr]int // failures of this minute; the zero Addr is all that are not apart
	uses  *access.Recent[use, time.Time]
}

// use is whose use of a credential is the first one.
type use struct{ tenant, user, key string }

func newAudit(write func(*http.Request, string, func(*zerolog.Event))) *audit {
	if write == nil {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	a := &audit{write: write, stop: stop, tally: map[netip.Addr]int{}, uses: access.NewRecent[use, time.Time](rememberedUses)}
	// Goroutine (audit): each minute writes down how many failed credentials had no line.
	// Ends: `Close`.
	// Waits: `Close`.
	a.done.Go(func() { a.count(ctx) })
	return a
}

func (a *audit) close() {
	if a != nil {
		a.stop()
		a.done.Wait()
	}
}

// failed reports a request whose credential does not count.
func (a *audit) failed(r *http.Request, peers *Peers, method access.Method, reason string) {
	if a == nil || !a.hasLine(peers.Client(r)) {
		return
	}
	a.write(r, "auth_failed", func(e *zerolog.Event) { e.Str("method", string(method)).Str("reason", reason) })
}

// denied reports a credential that is good, of a tenant that is not served.
func (a *audit) denied(r *http.Request, id *access.Identity) {
	if a != nil {
		a.write(r, "auth_denied", func(e *zerolog.Event) { e.Str("method", string(id.Method)).Str("reason", "tenant") })
	}
}

// hasLine counts a failure, and says whether it gets a line of its own.
func (a *audit) hasLine(client netip.Addr) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, ok := a.tally[client]
	if !ok && len(a.tally) >= countedApart {
		client = netip.Addr{}
		n = a.tally[client]
	}
	a.tally[client] = n + 1
	return n < linesPerAddress
}

// count writes the counts, each minute and at the end.
func (a *audit) count(ctx context.Context) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			a.writeCounts()
			return
		case <-ticker.C:
			a.writeCounts()
		}
	}
}

func (a *audit) writeCounts() {
	a.mu.Lock()
	tally := a.tally
	a.tally = map[netip.Addr]int{}
	a.mu.Unlock()
	for client, n := range tally {
		if n <= linesPerAddress {
			continue
		}
		a.write(nil, "auth_failed", func(e *zerolog.Event) {
			if client.IsValid() {
				e.Str("client", client.String())
			}
			e.Int("count", n-linesPerAddress)
		})
	}
}

// used reports the first use of a key, or of a user without one, in a day.
func (a *audit) used(r *http.Request, id *access.Identity) {
	if a == nil || id.IsAnonymous() || !a.isFirst(use{id.Tenant, id.ID, id.KeyID}) {
		return
	}
	a.write(r, "auth_first_use", func(e *zerolog.Event) {
		e.Str("method", string(id.Method)).Str("user", id.ID)
		if id.Tenant != "" {
			e.Str("tenant", id.Tenant)
		}
		if id.KeyID != "" {
			e.Str("key_id", id.KeyID)
		}
	})
}

// isFirst says whether there was no use in the last day, and remembers this one.
func (a *audit) isFirst(u use) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if last, ok := a.uses.Get(u); ok && now.Sub(last) < firstUseAgain {
		return false
	}
	a.uses.Put(u, now)
	return true
}
