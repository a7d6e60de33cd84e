package a2aclient

import (
	"sluice/breaker"
	"sluice/config"
)

// Settings registers what can be set of all Agents from outside.
func Settings(c *config.Config) config.Section {
	return config.Section{Name: "remote", Settings: []config.Setting{
		breaker.Setting("SLUICE_A2A_BREAKER", &c.A2ABreaker, breaker.Config{},
			"the circuit breaker of each [remote agent](docs/a2a.md): consecutive failures, recovery time, half-open calls"),
	}}
}
