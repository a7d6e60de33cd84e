package gateway

import (
	"time"

	"sluice/internal/engine/agent/delegate"
	"sluice/internal/engine/router"
	"sluice/internal/engine/workflow/records"
)

// delegates returns what lets agents of a file call others; nil if none does. durable: what
// their sessions did stays as long as their task. timeout is that of sessions of agents that
// have none of their own.
func (g *Gateway) delegates(team []router.AgentSpec, timeout time.Duration, durable bool) *delegate.Agents {
	cfg := delegate.Config{Timeout: timeout, Prefix: router.DelegatePrefix}
	for _, a := range team {
		cfg.Agents = append(cfg.Agents, delegate.Spec{ID: a.ID, Name: a.Name, Description: a.Description, Timeout: a.Timeout, Delegates: a.Delegates})
	}
	if g.state != nil {
		cfg.Records = sessionRecords{&records.SessionRecords{Sessions: g.state.runs.Sessions, Durable: durable}}
	}
	return delegate.New(cfg)
}

// sessionRecords are records of sessions as delegates need them.
type sessionRecords struct{ *records.SessionRecords }

func (r sessionRecords) Record(task string) delegate.Record { return r.SessionRecords.Record(task) }
