// This file gives package quality what it needs of the others: models, agents with their
// tools, channels, style and receivers.

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
	"sluice/internal/model"
	"sluice/internal/quality"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/deliver"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// newQuality makes what checks and formats the answers of a registry.
//
// It is made with each registry. A Checker without criteria costs a request the look at
// Applies.
func (g *Gateway) newQuality(file settings.Config, r *registry) *quality.Checker {
	cfg := quality.Config{
		Spec:        file.Quality,
		Asker:       providers.NewCheckAsker(g.models),
		Writer:      providers.NewWriter(g.models, modelsOf(r)),
		Agents:      g.catalogue(r),
		Location:    settings.Of[agent.Config](&g.cfg).Location,
		Metrics:     g.metrics,
		LogPayloads: g.logsPayloads(),
	}
	specs := channel.ByName(file.Forms())
	cfg.Formatters = wording.Formatters(specs)
	if file.Style != nil {
		cfg.Style = wording.NewVoice(file.Style, specs)
	}
	cfg.Senders = g.webhooks(file.Webhooks)
	return quality.New(cfg)
}

// checksOf is what clients receive of the checks of answers of no certain agent.
func checksOf(cfg settings.Config) channels.Checks {
	set := cfg.Quality.Settings("")
	return channels.Checks{Mode: string(set.Mode), Drafts: string(set.Drafts), Channels: set.Channels}
}

// checked returns what answers, and checks and formats its answers. The calls of models
// that this takes count for the turn's budget.
func (r *registry) checked(inner stream.Runner, agent string) stream.Runner {
	return model.Budgeted{Runner: r.quality.Around(inner, agent), Tokens: r.tokens}
}

// catalogue returns who may answer, as the planner sees it.
//
// A hidden agent is listed only for a request that names it.
func (g *Gateway) catalogue(r *registry) func(context.Context, *chat.Request) []quality.Agent {
	return func(ctx context.Context, req *chat.Request) (all []quality.Agent) {
		if len(r.spec.Agents) == 0 {
			return []quality.Agent{{ID: "assistant", Tools: toolNames(ctx, g.tools.toolsOf(toolsOfPlanner, g.tools.client))}}
		}
		for _, a := range r.spec.Agents {
			if req.Agent == a.ID || req.Agent == "" && !a.Hidden {
				all = append(all, quality.Agent{ID: a.ID, Description: a.Description, Tools: toolNames(ctx, g.tools.toolsOf(toolsOfPlanner+a.ID, g.tools.client.Select(a.Tools)))})
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

// modelsOf returns the keys of the agents' models.
func modelsOf(r *registry) map[string]string {
	keys := map[string]string{}
	for _, a := range r.spec.Agents {
		keys[a.ID] = a.Model
	}
	return keys
}

// webhooks returns the senders of channels, by name.
//
// They are made with each registry.
func (g *Gateway) webhooks(all []deliver.Config) map[string]quality.Sender {
	senders := map[string]quality.Sender{}
	for _, cfg := range all {
		cfg.Proxy, cfg.Metrics = g.cfg.Proxy.Func(), g.metrics
		cfg.Transport = g.tape.transport(cfg.Transport, func() http.RoundTripper { return deliver.NewTransport(cfg.Proxy) }, "")
		sender, err := deliver.New(cfg)
		if err != nil { // the file was checked
			g.log.Error().Dict("details", zerolog.Dict().Str("channel", cfg.Channel).AnErr("cause", err)).Msg("delivery_not_configured")
			continue
		}
		senders[cfg.Channel] = wording.Webhook{Sender: sender}
	}
	return senders
}
