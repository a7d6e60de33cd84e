// This file takes over another reading of the configuration file while the gateway runs. All of a
// file is taken over or nothing. Sections for connections and stores need a restart. A file that
// changes them is refused as a whole.

package gateway

import (
	"reflect"

	"github.com/rs/zerolog"

	"sluice/internal/app/process"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/turn/chat"
	"sluice/mcpclient/servers"
)

// Reload takes over another reading of the configuration file for new turns: team, quality,
// channels, style, tenants, limits, retention and traces. err is the error of the reading. It changes
// nothing if the file is faulty, or if a section that needs a restart differs from the running one. The
// error, also in the log, says why. It may be called concurrently.
//
// When it returns, the next turn sees the new team. Cards of new remote agents are waited
// for settleTime at most.
func (g *Gateway) Reload(cfg settings.Config, err error) error {
	if err == nil {
		err = g.needsRestart(cfg)
	}
	if err != nil {
		g.log.Error().Dict("details", zerolog.Dict().Strs("faults", faultsOf(err))).Msg("config_rejected")
		return err
	}
	before, now := g.team.useFile(cfg)
	g.channels.Set(cfg.Forms(), cfg.Style, checksOf(cfg))
	g.state.useFile(cfg)
	g.limiter.Use(cfg.Limits, cfg.Tenants)
	g.entrance.useTenants(cfg.Tenants)
	process.WarnOfConfig(g.log, cfg.Warnings)
	g.log.Info().Dict("details", zerolog.Dict().Str("version", now.described.Version).Int("agents", len(now.described.Agents))).Msg("config_reloaded")
	g.team.logChanges(before, now)
	return nil
}

// needsRestart returns the faults of changed sections that need a restart, or nil.
//
// It compares with the settings of the start, since the running ones may have been corrected.
func (g *Gateway) needsRestart(cfg settings.Config) error {
	var faults []config.Fault
	check := func(section string, runs, asked any) {
		if !reflect.DeepEqual(runs, asked) {
			faults = append(faults, config.Fault{Name: section, Message: "differs from what runs: this needs a restart"})
		}
	}
	check("models", g.started.Models, cfg.Models)
	check("budget", g.started.TurnTokens, cfg.TurnTokens)
	check("memory", g.started.Memory, cfg.Memory)
	check("conversations", g.started.Conversations, cfg.Conversations)
	check("tasks", g.started.Tasks, cfg.Tasks)
	check("a2a", g.started.A2A, cfg.A2A)
	runs, asked := g.started.Dialects, cfg.Dialects
	check("history", runs.History, asked.History)
	runs.History, asked.History = chat.HistoryRules{}, chat.HistoryRules{}
	check("dialects", runs, asked)
	check("auth", g.started.Auth, cfg.Auth)
	check("mcpServers", config.Of[servers.List](&g.started.Config), config.Of[servers.List](&cfg.Config))
	if len(faults) == 0 {
		return nil
	}
	return &config.Error{Faults: faults}
}
