package handlers

import (
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/telemetry/tally"
)

// Bounds of the audit lines about limits.
const (
	limitLines   = 10    // per minute, client and limit; further lines are counted
	limitClients = 1_000 // and limits that are counted apart; all others are counted together
)

// refusedBy is a refused client, with the limit that refused it.
type refusedBy struct{ client, limit string }

// newLimitAudit returns a tally that keeps a flood of requests from flooding the audit. It logs
// counts to log.
func newLimitAudit(log zerolog.Logger) *tally.Tally[refusedBy] {
	log = log.With().Str("request_id", "").Logger()
	return tally.New(tally.Config[refusedBy]{
		Lines: limitLines, Period: time.Minute, Apart: limitClients, Others: func(refusedBy) refusedBy { return refusedBy{} },
		Write: func(counts map[refusedBy]int) {
			for of, n := range counts {
				d := zerolog.Dict().Int("count", n)
				if of.client != "" {
					d.Str("client", of.client)
				}
				if of.limit != "" {
					d.Str("limit", of.limit)
				}
				log.Info().Bool("audit", true).Dict("details", d).Msg("limit_refused")
			}
		},
	})
}
