package gateway

import (
	"time"

	"sluice/internal/engine/agent/delegate"
	"sluice/internal/engine/router"
	"sluice/internal/engine/workflow/records"
)

// newDelegates returns the sessions by which agents of a file call other agents, or nil if no agent
// does. With durable the records of sessions stay as long as their task. timeout is the timeout of
// sessions of agents without one.
func newDelegates(s *storedState, team []router.AgentSpec, timeout time.Duration, durable bool) *delegate.Agents {
	cfg := delegate.Config{Timeout: timeout, Prefix: router.DelegatePrefix}
	for _, a := range team {
		cfg.Agents = append(cfg.Agents, delegate.Spec{ID: a.ID, Name: a.Name, Description: a.Description, Timeout: a.Timeout, Delegates: a.Delegates})
	}
	if s != nil {
		cfg.Records = sessionRecords{&records.SessionRecords{Sessions: s.runs.Sessions, Durable: durable}}
	}
	return delegate.New(cfg)
}

// sessionRecords are records of sessions as delegates need them.
type sessionRecords struct{ *records.SessionRecords }

func (r sessionRecords) Record(task string) delegate.Record { return r.SessionRecords.Record(task) }
