// This file gives package quality its parts: models, agents with their tools, channels, style and
// receivers.

package gateway

import (
	"context"
	"net/http"

	"github.com/rs/zerolog"

	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/app/wording"
	"sluice/internal/edge/dialect/channels"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/router"
	"sluice/internal/quality"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/deliver"
	"sluice/internal/turn/chat"
)

// checksOf is what clients receive of the checks of answers of no certain agent.
func checksOf(cfg settings.Config) channels.Checks {
	set := cfg.Quality.Settings("")
	return channels.Checks{Mode: string(set.Mode), Drafts: string(set.Drafts), Channels: set.Channels}
}

// qualityMaker makes the checks and formats of answers.
type qualityMaker struct {
	*commonParts
	models *providers.Models
	tools  *serverTools
	tape   *turnTape
}

// newQuality returns the checker of a registry. agents are all agents of the team; members returns
// the agents that the caller may use.
//
// A checker without criteria costs a request the look at Applies.
func (m *qualityMaker) newQuality(file settings.Config, agents []router.AgentSpec, members func() []router.AgentSpec) *quality.Checker {
	cfg := quality.Config{
		Spec:        file.Quality,
		Asker:       providers.NewCheckAsker(m.models),
		Writer:      providers.NewWriter(m.models, modelsOf(agents)),
		Agents:      m.plannerCatalogue(members),
		Location:    settings.Of[agent.Config](&m.cfg).Location,
		Metrics:     m.metrics,
		LogPayloads: m.logsPayloads(),
	}
	specs := channel.ByName(file.Forms())
	cfg.Formatters = wording.Formatters(specs)
	if file.Style != nil {
		cfg.Style = wording.NewVoice(file.Style, specs)
	}
	cfg.Senders = m.newSenders(file.Webhooks)
	return quality.New(cfg)
}

// modelsOf returns the keys of the agents' models.
func modelsOf(agents []router.AgentSpec) map[string]string {
	keys := map[string]string{}
	for _, a := range agents {
		keys[a.ID] = a.Model
	}
	return keys
}

// plannerCatalogue returns the agents as the planner sees them. A hidden agent is listed only for a request
// that names it.
func (m *qualityMaker) plannerCatalogue(members func() []router.AgentSpec) func(context.Context, *chat.Request) []quality.Agent {
	return func(ctx context.Context, req *chat.Request) (all []quality.Agent) {
		agents := members()
		if len(agents) == 0 {
			return []quality.Agent{{ID: "assistant", Tools: toolNames(ctx, m.tools.toolsOf(toolsOfPlanner, m.tools.client))}}
		}
		for _, a := range agents {
			if req.Agent == a.ID || req.Agent == "" && !a.Hidden {
				all = append(all, quality.Agent{ID: a.ID, Description: a.Description, Tools: toolNames(ctx, m.tools.toolsOf(toolsOfPlanner+a.ID, m.tools.client.Select(a.Tools)))})
			}
		}
		return all
	}
}

// toolNames lists the names of tools as an agent sees them now.
func toolNames(ctx context.Context, from agent.Tools) (names []string) {
	for _, spec := range from.Tools(ctx).Specs {
		names = append(names, spec.Name)
	}
	return names
}

// newSenders returns the senders of channels, by name.
func (m *qualityMaker) newSenders(all []deliver.Config) map[string]quality.Sender {
	senders := map[string]quality.Sender{}
	for _, cfg := range all {
		cfg.Proxy, cfg.Metrics = m.cfg.Proxy.Func(), m.metrics
		cfg.Transport = m.tape.tapedTransport(cfg.Transport, func() http.RoundTripper { return deliver.NewTransport(cfg.Proxy) }, "")
		sender, err := deliver.New(cfg)
		if err != nil { // the file was checked
			m.log.Error().Dict("details", zerolog.Dict().Str("channel", cfg.Channel).AnErr("cause", err)).Msg("delivery_not_configured")
			continue
		}
		senders[cfg.Channel] = wording.Webhook{Sender: sender}
	}
	return senders
}
