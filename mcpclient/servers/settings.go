package servers

import (
	"slices"

	"sluice/breaker"
	"sluice/config"
	"sluice/internal/check"
	"sluice/mcpclient"
	"sluice/tool"
)

// urlName is the name of the server at MCP_SERVER_URL.
const urlName = "todo"

// Settings registers what can be set of MCP servers from outside. The servers are c's List.
func Settings(c *config.Config) config.Section {
	return config.Section{Name: "mcp", Settings: []config.Setting{
		config.Func("MCP_SERVER_URL", "", "URL", "a streamable-HTTP MCP server, which is named `"+urlName+"`", func(value string) error {
			add(c, Server{Name: urlName, Transport: mcpclient.HTTP, URL: value})
			return check.BaseURL(value)
		}).As("none"),
		config.File("MCP_CONFIG", "an `mcpServers` JSON file, added to `MCP_SERVER_URL`; with neither, the built-in todo server",
			func(path string, content []byte, from config.Sources) []config.Fault {
				f := newReader(path, from.Lookup, config.Of[List](c))
				add(c, f.read(content)...)
				return f.faults
			}),
		config.Duration("SLUICE_TOOL_TIMEOUT", &c.ToolTimeout, mcpclient.DefaultTimeout,
			"one tool call"),
		breaker.Setting("SLUICE_MCP_BREAKER", &c.MCPBreaker, breaker.Config{},
			"the circuit breaker of each MCP server: consecutive failures, recovery time, half-open calls"),
	}}
}

// add lists servers, and their names for what looks up only these.
func add(c *config.Config, servers ...Server) {
	list, names := config.Bind[List](c), config.Bind[tool.Servers](c)
	*list = append(*list, servers...)
	for _, s := range servers {
		if !slices.Contains(*names, s.Name) {
			*names = append(*names, s.Name)
		}
	}
}
