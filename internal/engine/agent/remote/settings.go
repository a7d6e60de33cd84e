package remote

import (
	"sluice/breaker"
	"sluice/internal/base/config"
)

// Common are the settings of all Agents.
type Common struct {
	// Breaker guards each of them, under its own name.
	Breaker breaker.Config
}

// Settings registers the settings of all Agents. It is bound to c's part of type Common.
func Settings(c *config.Config) config.Section {
	return config.Section{Name: "remote", Settings: []config.Setting{
		breaker.Setting("SLUICE_A2A_BREAKER", &config.Bind[Common](c).Breaker, breaker.Config{},
			"the circuit breaker of each [remote agent](docs/a2a.md): consecutive failures, recovery time, half-open calls"),
	}}
}
