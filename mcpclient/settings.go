package mcpclient

import (
	"time"

	"sluice/breaker"
	"sluice/config"
)

// DefaultTimeout bounds one tool call unless Config says otherwise.
const DefaultTimeout = 10 * time.Second

// Settings registers what can be set of a Client from outside.
func Settings(c *config.Config) config.Section {
	return config.Section{Name: "mcp", Settings: append(config.MCPServers(&c.MCPServers),
		config.Duration("SLUICE_TOOL_TIMEOUT", &c.ToolTimeout, DefaultTimeout,
			"one tool call"),
		breaker.Setting("SLUICE_MCP_BREAKER", &c.MCPBreaker, breaker.Config{},
			"the circuit breaker of each MCP server: consecutive failures, recovery time, half-open calls"),
	)}
}
