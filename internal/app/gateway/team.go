// This file has the team in use: it makes a new registry whenever the roster or the configuration file
// changes, and swaps it in. Package roster has the members of the team.

package gateway

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/app/roster"
	"sluice/internal/app/settings"
	a2awire "sluice/internal/edge/dialect/a2a"
	"sluice/internal/engine/agent/remote"
)

// liveTeam has the registry in use, and the roster: a change of the roster replaces the registry.
type liveTeam struct {
	maker    *registryMaker
	registry atomic.Pointer[registry] // nil while the gateway starts
	roster   *roster.Roster
	file     settings.Config // of the registry; the lock of roster guards it
	log      zerolog.Logger
}

// openTeam makes the roster and the first registry, of file.
func (t *liveTeam) openTeam(file settings.Config, c *commonParts, tape *turnTape, s *storedState) {
	cfg := roster.Config{
		Transport: c.seams.Agents, Foreign: c.seams.Agents, Breaker: settings.Of[remote.Common](&c.cfg).Breaker, Log: c.log,
		Changed: func(team roster.Team, listed bool) {
			before, now := t.remakeRegistry(team)
			if listed {
				t.logChanges(before, now)
			}
		},
	}
	if c.seams.Agents == nil {
		cfg.Transport, cfg.Foreign = remote.NewTransport(), remote.NewForeignTransport()
	}
	const why = "an agent that is somewhere else"
	cfg.Transport, cfg.Foreign = tape.tapedTransport(cfg.Transport, nil, why), tape.tapedTransport(cfg.Foreign, nil, why)
	if s != nil && (c.cfg.HasFile() || settings.Of[settings.Process](&c.cfg).AdminAddr != "") {
		cfg.Values = s.store
	}
	t.roster = roster.New(cfg)
	t.useFile(file)
	c.health.Add(t.roster.Breakers()...)
}

// useFile makes the registry of a file, which new turns use from now on. It returns the previous
// registry, nil at the start, and the new one.
func (t *liveTeam) useFile(file settings.Config) (before, now *registry) {
	t.roster.Use(file.Team.Agents, func(team roster.Team) {
		t.file = file
		before, now = t.remakeRegistry(team)
	})
	return before, now
}

// remakeRegistry makes the registry of a team and swaps it in. The caller must hold the roster's lock.
func (t *liveTeam) remakeRegistry(team roster.Team) (before, now *registry) {
	now = t.maker.newRegistry(t.file, team)
	return t.registry.Swap(now), now
}

// logChanges logs which agents came and went.
func (t *liveTeam) logChanges(before, now *registry) {
	if added, removed := changedAgents(before, now); len(added)+len(removed) > 0 {
		t.log.Info().Dict("details", zerolog.Dict().Strs("added", added).Strs("removed", removed)).Msg("registry_changed")
	}
}

// registryOf returns the registry of a tenant, or nil while the gateway starts.
func (t *liveTeam) registryOf(tenant string) *registry { return t.registry.Load().forTenant(tenant) }

// namesOf returns the ids of the agents and workflows that a tenant can name.
func (t *liveTeam) namesOf(tenant string) (agents, workflows []string) {
	r := t.registryOf(tenant)
	if r == nil {
		return nil, nil
	}
	for _, w := range r.flows.described {
		workflows = append(workflows, w.Name)
	}
	return r.ids(), workflows
}

// exposedAgents returns the team as other agents see it. Each card asks for it, so that cards follow
// the registry.
func (t *liveTeam) exposedAgents() (list []a2awire.Agent) {
	r := t.registry.Load()
	if r == nil {
		return nil
	}
	for _, a := range r.spec.Agents {
		list = append(list, a2awire.Agent{
			ID: a.ID, Name: cmp.Or(a.Name, a.ID), Description: a.Description, Capabilities: a.Capabilities, Examples: a.Examples,
			Exposed: !a.Closed, Routable: !a.Hidden,
		})
	}
	return list
}

// teamOf returns the reply of GET /agents to a tenant at this moment. It copies the registry's value
// before it changes it.
func (t *liveTeam) teamOf(tenant string) *handlers.Team {
	r := t.registryOf(tenant)
	if len(r.remotes) == 0 {
		return r.described
	}
	shown := *r.described
	shown.Agents = append([]handlers.TeamAgent(nil), shown.Agents...)
	for i := range shown.Agents {
		if a := r.remotes[shown.Agents[i].ID]; a != nil {
			shown.Agents[i].Available = a.Available()
		}
	}
	return &shown
}

// flowsOf returns the reply of GET /workflows to a tenant.
func (t *liveTeam) flowsOf(tenant string) []handlers.Workflow {
	return t.registryOf(tenant).flows.described
}

// PutAgent implements handlers.Agents.
func (t *liveTeam) PutAgent(ctx context.Context, id string, body []byte) (as handlers.TeamAgent, isNew bool, err error) {
	if isNew, err = t.roster.Put(ctx, id, body); err != nil {
		return as, false, err
	}
	for _, a := range t.teamOf("").Agents {
		if a.ID == id {
			as = a
		}
	}
	return as, isNew, nil
}

// DeleteAgent implements handlers.Agents.
func (t *liveTeam) DeleteAgent(ctx context.Context, id string) error { return t.roster.Delete(ctx, id) }

// close closes the roster. It works on nil.
func (t *liveTeam) close() {
	if t != nil {
		t.roster.Close()
	}
}
