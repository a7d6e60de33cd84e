// This file opens the models.

package gateway

import (
	"context"
	"net/http"

	"sluice/internal/app/providers"
	"sluice/internal/engine/agent"
	"sluice/internal/model"
)

// openModels opens the configured models. gate admits their calls, if the gateway has a
// configuration file.
func openModels(ctx context.Context, c *commonParts, tape *turnTape, gate *modelGate) (*providers.Models, error) {
	cfg := providers.Config{
		Settings: c.cfg.Config, Models: c.cfg.Models, Version: c.cfg.Version, Log: c.log, Metrics: c.metrics, Transport: c.seams.Gemini,
	}
	if c.cfg.HasFile() {
		cfg.Gate = gate.enterLimits
	}
	if tape.tape != nil {
		cfg.Around = func(next http.RoundTripper) http.RoundTripper { return tape.tape.Around(next, "") }
	}
	return providers.Open(ctx, cfg)
}

// modelFor returns the model of a key for an agent, and the origin of its texts. The model is nil
// if the key is unknown. An empty key names the default model.
func modelFor(models *providers.Models, agentID, key string) (model.Link, string) {
	link := models.Link(key)
	if link == nil {
		return nil, ""
	}
	return link, agent.Origin(agentID, link.Key(), link.Name())
}

// defaultModel returns the name of the default model.
func defaultModel(models *providers.Models) string { return models.Link(model.DefaultKey).Name() }
