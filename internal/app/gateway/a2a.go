// This file puts the dialects together, and gives A2A what it needs of the others: the
// agents as other agents see them, and the turns that the store keeps. The protocol itself
// is in internal/edge/dialect/a2a, and what shows it the turns in package records.

package gateway

import (
	"cmp"

	"sluice/handlers"
	"sluice/internal/app/records"
	"sluice/internal/app/settings"
	"sluice/internal/edge/dialect"
	a2awire "sluice/internal/edge/dialect/a2a"
	"sluice/internal/edge/dialect/sluice"
	"sluice/stream"
)

// newDialects returns the protocols that are served.
//
// The order is that in which routes are registered. It is called once, before the server is
// made.
func (g *Gateway) newDialects() []dialect.Dialect {
	list := []dialect.Dialect{
		sluice.Dialect{GetTools: settings.Of[handlers.Policy](&g.cfg).GetTools, Stored: g.state != nil, OnDisconnect: g.cfg.Tasks.OnDisconnect, History: g.cfg.Dialects.History},
	}
	if served := settings.Of[settings.Dialects](&g.cfg); served.Serves("chatkit") {
		list = append(list, newChatKit(settings.Of[settings.ChatKit](&g.cfg).History, g.state))
	}
	list = append(list, g.frontEnds()...)
	if g.cfg.A2A.Enabled {
		list = append(list, g.newA2A())
	}
	return g.seams.dialects(list...)
}

// newA2A returns the dialect of A2A.
func (g *Gateway) newA2A() *a2awire.Server {
	cfg := a2awire.Config{
		Version: g.cfg.Version, PublicURL: g.cfg.A2A.PublicURL, V03: !g.cfg.A2A.NoV03, Agents: g.exposed,
		Native: func(requestID string) stream.Encoder { return sluice.NewEncoder(requestID, false, 0) },
	}
	if g.asksWho() {
		cfg.PrivateCards = g.cfg.Auth.PrivateCard
		cfg.Credentials = &a2awire.Credentials{Keys: g.cfg.Auth.Keys != ""}
		for _, of := range g.cfg.Auth.Tokens {
			if of.Discovery {
				cfg.Credentials.Issuers = append(cfg.Credentials.Issuers, of.Issuer)
			}
		}
	}
	if g.state != nil {
		cfg.Tasks = records.Tasks{Service: g.state.tasks, Approvals: g.questions.service}
	}
	return a2awire.New(cfg)
}

// exposed returns the team as other agents see it.
//
// It is asked for each card, so that a card follows the registry. nil while the gateway
// starts.
func (g *Gateway) exposed() (list []a2awire.Agent) {
	r := g.registry.Load()
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
