package gateway

import (
	"time"

	"sluice/internal/app/records"
	"sluice/internal/app/settings"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/agui"
	"sluice/internal/edge/dialect/aisdk"
	"sluice/internal/edge/dialect/openai"
)

// frontEnds returns the protocols of others that SLUICE_DIALECTS names, but for ChatKit.
func (g *Gateway) frontEnds() (list []dialect.Dialect) {
	served, rules := settings.Of[settings.Dialects](&g.cfg), g.cfg.Dialects
	rules.Stored = g.state != nil
	if served.Serves("ai-sdk") {
		cfg := aisdk.Config{Rules: rules}
		if g.state != nil {
			cfg.Turns = records.Chats{Service: g.state.tasks}
		}
		list = append(list, aisdk.New(cfg))
	}
	if served.Serves("openai") {
		cfg := openai.Config{Rules: rules, Models: g.askable, Began: time.Now()}
		if g.state != nil {
			cfg.Turns = records.Responses{Service: g.state.tasks, Store: g.state.store}
		}
		list = append(list, openai.New(cfg))
	}
	if served.Serves("ag-ui") {
		list = append(list, agui.New(agui.Config{Rules: rules, Agents: g.askable}))
	}
	return list
}

// askable returns the ids of what somebody of a tenant can name: agents, and workflows.
func (g *Gateway) askable(tenant string) (agents, workflows []string) {
	r := g.registry.Load().of(tenant)
	if r == nil { // while the gateway starts
		return nil, nil
	}
	for _, w := range r.flows.described {
		workflows = append(workflows, w.Name)
	}
	return r.ids(), workflows
}
