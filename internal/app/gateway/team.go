// This file makes a new registry whenever the team or the configuration file changes, and
// swaps it in. Who is in the team is package roster's.

package gateway

import (
	"context"

	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/app/roster"
	"sluice/internal/app/settings"
	"sluice/internal/engine/agent/remote"
)

// openRoster makes the first registry.
func (g *Gateway) openRoster(file settings.Config) {
	cfg := roster.Config{
		Transport: g.seams.Agents, Foreign: g.seams.Agents, Breaker: settings.Of[remote.Common](&g.cfg).Breaker, Log: g.log,
		Changed: func(t roster.Team, listed bool) {
			before, now := g.remake(t)
			if listed {
				g.logChanges(before, now)
			}
		},
	}
	if g.seams.Agents == nil {
		cfg.Transport, cfg.Foreign = remote.NewTransport(), remote.NewForeignTransport()
	}
	const tape = "an agent that is somewhere else"
	cfg.Transport, cfg.Foreign = g.tape.transport(cfg.Transport, nil, tape), g.tape.transport(cfg.Foreign, nil, tape)
	if g.state != nil && (g.cfg.HasFile() || settings.Of[settings.Process](&g.cfg).AdminAddr != "") {
		cfg.Values = g.state.store
	}
	g.roster = roster.New(cfg)
	g.use(file)
	g.health.Add(g.roster.Breakers()...)
}

// use makes the registry of a file, which new turns use from now on. It returns the registry
// before it, nil at the start, and the new one.
func (g *Gateway) use(file settings.Config) (before, now *registry) {
	g.roster.Use(file.Team.Agents, func(t roster.Team) {
		g.file = file
		before, now = g.remake(t)
	})
	return before, now
}

// remake makes the registry of a team and swaps it in. The roster's lock is held.
func (g *Gateway) remake(t roster.Team) (before, now *registry) {
	now = g.newRegistry(g.file, t)
	return g.registry.Swap(now), now
}

// logChanges logs which agents came and went.
func (g *Gateway) logChanges(before, now *registry) {
	if added, removed := changed(before, now); len(added)+len(removed) > 0 {
		g.log.Info().Dict("details", zerolog.Dict().Strs("added", added).Strs("removed", removed)).Msg("registry_changed")
	}
}

// team returns what GET /agents answers to somebody of a tenant at this moment.
//
// The registry's own value is copied before it is changed.
func (g *Gateway) team(tenant string) *handlers.Team {
	r := g.registry.Load().of(tenant)
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

// operated is the team as operators change it.
type operated struct{ *Gateway }

// PutAgent implements handlers.Agents.
func (o operated) PutAgent(ctx context.Context, id string, body []byte) (as handlers.TeamAgent, isNew bool, err error) {
	if isNew, err = o.roster.Put(ctx, id, body); err != nil {
		return as, false, err
	}
	for _, a := range o.team("").Agents {
		if a.ID == id {
			as = a
		}
	}
	return as, isNew, nil
}

// DeleteAgent implements handlers.Agents.
func (o operated) DeleteAgent(ctx context.Context, id string) error { return o.roster.Delete(ctx, id) }
