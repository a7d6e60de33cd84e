// This file makes the protocols that are served.

package gateway

import (
	"time"

	"sluice/handlers"
	"sluice/internal/app/records"
	"sluice/internal/app/settings"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/agui"
	"sluice/internal/edge/dialect/aisdk"
	"sluice/internal/edge/dialect/openai"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/engine/approval"
)

// newDialects returns the protocols in the order in which their routes are registered.
func newDialects(c *commonParts, s *storedState, team *liveTeam, approvals *approval.Service) []dialect.Dialect {
	list := []dialect.Dialect{sluice.Dialect{
		GetTools: settings.Of[handlers.Policy](&c.cfg).GetTools, Stored: s != nil, OnDisconnect: c.cfg.Tasks.OnDisconnect, History: c.cfg.Dialects.History,
	}}
	if served := settings.Of[settings.Dialects](&c.cfg); served.Serves("chatkit") {
		list = append(list, newChatKit(settings.Of[settings.ChatKit](&c.cfg).History, s))
	}
	list = append(list, newFrontEnds(c, s, team)...)
	if c.cfg.A2A.Enabled {
		list = append(list, newA2A(c, s, team, approvals))
	}
	return c.seams.wrapDialects(list...)
}

// newFrontEnds returns the protocols of others that SLUICE_DIALECTS names, but for ChatKit.
func newFrontEnds(c *commonParts, s *storedState, team *liveTeam) (list []dialect.Dialect) {
	served, rules := settings.Of[settings.Dialects](&c.cfg), c.cfg.Dialects
	rules.Stored = s != nil
	if served.Serves("ai-sdk") {
		cfg := aisdk.Config{Rules: rules}
		if s != nil {
			cfg.Turns = records.Chats{Service: s.tasks}
		}
		list = append(list, aisdk.New(cfg))
	}
	if served.Serves("openai") {
		cfg := openai.Config{Rules: rules, Models: team.namesOf, Began: time.Now()}
		if s != nil {
			cfg.Turns = records.Responses{Service: s.tasks, Store: s.store}
		}
		list = append(list, openai.New(cfg))
	}
	if served.Serves("ag-ui") {
		list = append(list, agui.New(agui.Config{Rules: rules, Agents: team.namesOf}))
	}
	return list
}
