package agent

import "sluice/internal/base/config"

// Settings registers the settings of an Agent. It is bound to c's part of type Config.
func Settings(c *config.Config) config.Section {
	own := config.Bind[Config](c)
	return config.Section{Name: "agent", Settings: []config.Setting{
		config.TextFile("SLUICE_SYSTEM_PROMPT", &own.Prompt,
			"file of the system prompt; date, weekday and time zone stand with each message").As("built in"),
		config.Zone("SLUICE_TIMEZONE", &own.Location, "UTC",
			"time zone; a request may name its own"),
		config.Int("SLUICE_MAX_STEPS", &own.MaxSteps, defaultMaxSteps, 1, 64,
			"model calls in one turn; on the last one the model must answer without tools"),
	}}
}
