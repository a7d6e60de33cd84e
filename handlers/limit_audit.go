package handlers

import (
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Bounds of what the audit says of limits.
const (
	limitLines   = 10    // a minute, of one client at one limit; what is more is counted
	limitClients = 1_000 // and limits that are counted apart; all others are counted together
)

// refusedBy is who was refused, and by which limit.
type refusedBy struct{ client, limit string }

// limitAudit has who floods the gateway not flood its audit.
type limitAudit struct {
	log zerolog.Logger

	mu    sync.Mutex // guards the fields below
	began time.Time  // of the minute
	tally map[refusedBy]int
	timed bool // a timer will flush
}

// newLimitAudit returns one that logs counts to log. flush must be called last.
func newLimitAudit(log zerolog.Logger) *limitAudit {
	return &limitAudit{log: log.With().Str("request_id", "").Logger(), tally: map[refusedBy]int{}}
}

// line counts a refusal, and says whether it gets a line of its own.
func (a *limitAudit) line(of refusedBy) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); !a.timed && now.Sub(a.began) >= time.Minute {
		a.began = now
		clear(a.tally)
	}
	if _, ok := a.tally[of]; !ok && len(a.tally) >= limitClients {
		of = refusedBy{}
	}
	a.tally[of]++
	if a.tally[of] <= limitLines {
		return true
	}
	if !a.timed {
		a.timed = true
		// Timer (count of limits): writes to the audit how many refusals of a minute had no line.
		// Ends: it has fired.
		// Waits: nobody: `Server.Close` flushes first, and a timer that comes later finds nothing.
		time.AfterFunc(time.Minute-time.Since(a.began), a.flush)
	}
	return false
}

// flush writes what was counted, if anything was.
func (a *limitAudit) flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for of, n := range a.tally {
		if n <= limitLines {
			continue
		}
		d := zerolog.Dict().Int("count", n-limitLines)
		if of.client != "" {
			d.Str("client", of.client)
		}
		if of.limit != "" {
			d.Str("limit", of.limit)
		}
		a.log.Info().Bool("audit", true).Dict("details", d).Msg("limit_refused")
	}
	a.began, a.timed = time.Now(), false
	clear(a.tally)
}
