// This file has the values that all parts share.

package gateway

import (
	"errors"
	"slices"

	"github.com/rs/zerolog"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
	"sluice/mcpclient/servers"
)

// commonParts are the settings in use, the log and the registries, which all parts share.
//
// Only connectTools changes the settings: it corrects the place of the todos.
type commonParts struct {
	cfg     settings.Config
	log     zerolog.Logger
	metrics *metrics.Registry
	health  *health.Registry
	seams   Seams
}

// asksWho reports whether senders must authenticate themselves.
func (c *commonParts) asksWho() bool { return c.seams.Door != nil || c.cfg.Auth.IsOn() }

// countsAll reports whether clients receive all figures of the usage. They do if a model is
// configured by key, and with a memory, because then most of each call repeats the previous one.
func (c *commonParts) countsAll() bool { return len(c.cfg.Models) > 0 || c.cfg.Memory.Enabled }

// canRetract reports whether the fallback of some configured model replaces text that was sent.
func (c *commonParts) canRetract() bool {
	return slices.ContainsFunc(c.cfg.Models, func(m model.Spec) bool { return m.AfterText.IsOn() })
}

// logsPayloads reports whether the log has the texts of users and models.
func (c *commonParts) logsPayloads() bool { return settings.Of[settings.Logging](&c.cfg).Payloads }

// reportsUnknown reports whether a server's calls of unknown outcome go to the model, not to a
// person. It is engine.Config.ReportLost.
func (c *commonParts) reportsUnknown(server string) bool {
	return slices.ContainsFunc(config.Of[servers.List](&c.cfg.Config), func(s servers.Server) bool {
		return s.Name == server && s.OnUnknown == servers.ReportUnknown
	})
}

// faultsOf lists the faults of a refused file for the log, without the values of the file.
func faultsOf(err error) (lines []string) {
	e, ok := errors.AsType[*config.Error](err)
	if !ok {
		return []string{err.Error()}
	}
	for _, f := range e.Faults {
		lines = append(lines, f.Name+": "+f.Message)
	}
	return lines
}
