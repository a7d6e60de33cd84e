// This file gives A2A the agents, as other agents see them, and the stored turns. The protocol is in
// internal/edge/dialect/a2a; package records shows it the turns.

package gateway

import (
	"sluice/internal/app/records"
	a2awire "sluice/internal/edge/dialect/a2a"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/engine/approval"
	"sluice/stream"
)

// newA2A returns the dialect of A2A. s and approvals are nil without a store and without questions.
func newA2A(c *commonParts, s *storedState, team *liveTeam, approvals *approval.Service) *a2awire.Server {
	cfg := a2awire.Config{
		Version: c.cfg.Version, PublicURL: c.cfg.A2A.PublicURL, V03: !c.cfg.A2A.NoV03, Agents: team.exposedAgents,
		Native: func(requestID string) stream.Encoder { return sluice.NewEncoder(requestID, false, 0) },
	}
	if c.asksWho() {
		cfg.PrivateCards = c.cfg.Auth.PrivateCard
		cfg.Credentials = &a2awire.Credentials{Keys: c.cfg.Auth.Keys != ""}
		for _, of := range c.cfg.Auth.Tokens {
			if of.Discovery {
				cfg.Credentials.Issuers = append(cfg.Credentials.Issuers, of.Issuer)
			}
		}
	}
	if s != nil {
		cfg.Tasks = records.Tasks{Service: s.tasks, Approvals: approvals}
	}
	return a2awire.New(cfg)
}
