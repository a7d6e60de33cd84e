package door

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/telemetry/tally"
	"sluice/internal/edge/access"
)

// Bounds of the audit.
const (
	linesPerAddress = 10    // a minute; further events are only counted
	countedApart    = 1_000 // addresses; events of further ones are counted together
	firstUseAgain   = 24 * time.Hour
	rememberedUses  = 100_000
)

// audit writes the lines of the audit that the door has to write. nil writes none.
type audit struct {
	write func(r *http.Request, event string, details func(*zerolog.Event))
	tally *tally.Tally[tallied]

	mu   sync.Mutex // guards the field below
	uses *access.Recent[use, time.Time]
}

// tallied is the key of a count: the events of an address. The zero Addr stands for all addresses
// beyond countedApart.
type tallied struct {
	event  string
	client netip.Addr
}

// use is whose use of a credential is the first one.
type use struct{ tenant, user, key string }

func newAudit(write func(*http.Request, string, func(*zerolog.Event))) *audit {
	if write == nil {
		return nil
	}
	a := &audit{write: write, uses: access.NewRecent[use, time.Time](rememberedUses)}
	a.tally = tally.New(tally.Config[tallied]{
		Lines: linesPerAddress, Period: time.Minute, Apart: countedApart,
		Others: func(of tallied) tallied { return tallied{event: of.event} }, Write: a.writeCounts,
	})
	return a
}

// close writes the pending counts.
func (a *audit) close() {
	if a != nil {
		a.tally.Flush()
	}
}

// logFailed reports a request whose credential does not count.
func (a *audit) logFailed(r *http.Request, peers *Peers, method access.Method, reason string) {
	const event = "auth_failed"
	if a == nil || !a.tally.Line(tallied{event, peers.Client(r)}) {
		return
	}
	a.write(r, event, func(e *zerolog.Event) { e.Str("method", string(method)).Str("reason", reason) })
}

// logLimited reports a token that was not read.
func (a *audit) logLimited(r *http.Request, peers *Peers) {
	const event = "limit_refused"
	if a != nil && a.tally.Line(tallied{event, peers.Client(r)}) {
		a.write(r, event, func(e *zerolog.Event) { e.Str("limit", limitName) })
	}
}

// logDenied reports a credential that is good, of a tenant that is not served.
func (a *audit) logDenied(r *http.Request, id *access.Identity) {
	if a != nil {
		a.write(r, "auth_denied", func(e *zerolog.Event) { e.Str("method", string(id.Method)).Str("reason", "tenant") })
	}
}

// writeCounts writes the numbers of events without a line.
func (a *audit) writeCounts(counts map[tallied]int) {
	for of, n := range counts {
		a.write(nil, of.event, func(e *zerolog.Event) {
			if of.client.IsValid() {
				e.Str("client", of.client.String())
			}
			e.Int("count", n)
		})
	}
}

// logFirstUse reports the first use of a key, or of a user without one, in a day.
func (a *audit) logFirstUse(r *http.Request, id *access.Identity) {
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

// isFirst reports whether this use is the first in a day, and records it.
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
