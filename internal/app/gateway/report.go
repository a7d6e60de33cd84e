// This file has the reports of a gateway to the command that started it.

package gateway

import (
	"slices"

	"sluice/handlers"
	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/health"
	"sluice/mcpclient/servers"
)

// Config returns the settings in use. The place of the todos and the limits may differ from the
// requested ones.
func (g *Gateway) Config() config.Config { return g.cfg.Config }

// Model names the model.
func (g *Gateway) Model() string { return defaultModel(g.models) }

// Offline says whether the offline model is in use, by one model at least.
func (g *Gateway) Offline() bool { return g.models.Offline() }

// HasTodos says whether the built-in todo server is in use.
func (g *Gateway) HasTodos() bool { return g.tools.todos != nil }

// StoreBytes returns how many bytes of the process's memory the store has. It is 0 without a store, and if
// the store is elsewhere.
func (g *Gateway) StoreBytes() uint64 { return g.state.storeBytes() }

// Rules returns the served paths with their rules, for the test that each path has a rule.
func (g *Gateway) Rules() []handlers.Rule { return g.server.Rules() }

// Unwell names the parts that are not well, each once, but for models without a key (MissingKeys)
// and MCP servers: at the start their sessions are being opened.
func (g *Gateway) Unwell() (names []string) {
	for _, part := range g.health.Check() {
		switch part.(type) {
		case health.Session, health.Model:
			continue
		}
		if !part.OK() && !slices.Contains(names, part.Name()) {
			names = append(names, part.Name())
		}
	}
	return names
}

// MissingKeys returns the configured models that lack the key that they need.
func (g *Gateway) MissingKeys() (models []health.Model) {
	for _, part := range g.health.Check() {
		if m, ok := part.(health.Model); ok && !m.OK() {
			models = append(models, m)
		}
	}
	return models
}

// Disconnected returns the configured MCP servers without a session, in their order.
func (g *Gateway) Disconnected() (list []servers.Server) {
	for _, part := range g.health.Check() {
		session, ok := part.(health.Session)
		if !ok || session.OK() {
			continue
		}
		for _, s := range config.Of[servers.List](&g.cfg.Config) {
			if s.Name == session.Server {
				list = append(list, s)
			}
		}
	}
	return list
}
