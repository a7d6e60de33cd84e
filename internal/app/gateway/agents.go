// This file makes the agents that run in this process: the built-in one, and the local agents of
// a file.

package gateway

import (
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/router"
	"sluice/internal/model"
)

// agentMaker gives agents their models, tools and questions.
type agentMaker struct {
	*commonParts
	models    *providers.Models
	tools     *serverTools
	questions *questionMaker
	state     *storedState
}

// newAssistant returns the built-in agent. It answers if no agents are configured.
func (m *agentMaker) newAssistant() *agent.Agent {
	cfg := m.withDefaults(settings.Of[agent.Config](&m.cfg))
	cfg.Model, cfg.Origin = modelFor(m.models, "", model.DefaultKey)
	cfg.Tools = m.tools.toolsOf("", m.tools.client)
	return agent.New(cfg)
}

// memberConfig returns the agent of a file. It has its own prompt: SLUICE_SYSTEM_PROMPT and similar
// settings are for the built-in agent alone.
func (m *agentMaker) memberConfig(a router.AgentSpec) agent.Config {
	cfg := m.withDefaults(agent.Config{})
	cfg.Model, cfg.Origin = modelFor(m.models, a.ID, a.Model)
	cfg.Tools = m.tools.toolsOf(a.ID, m.tools.client.Select(a.Tools))
	cfg.Prompt, cfg.Role = a.Prompt, a.Role
	cfg.Temperature, cfg.MaxTokens = a.Temperature, a.MaxTokens
	cfg.MaxSteps = a.MaxSteps
	return cfg
}

// withDefaults returns cfg with the settings of the gateway that all agents share.
func (m *agentMaker) withDefaults(cfg agent.Config) agent.Config {
	cfg.Location = settings.Of[agent.Config](&m.cfg).Location
	cfg.LogPayloads = m.logsPayloads()
	cfg.Keyed = m.countsAll()
	cfg.Hold = m.questions.hold
	if m.state.hasTakeover() {
		cfg.AskLost = func(server string) bool { return !m.reportsUnknown(server) }
	}
	return cfg
}
