package servers

import (
	"slices"
	"time"

	"sluice/breaker"
	"sluice/internal/base/check"
	"sluice/internal/base/config"
	"sluice/internal/turn/tool"
	"sluice/mcpclient"
)

// URLName is the name of the server at MCP_SERVER_URL.
const URLName = "todo"

// Common holds the settings for all servers.
type Common struct {
	Timeout time.Duration // of one call
	// Breaker guards each server, under its own name.
	Breaker breaker.Config
}

// Settings registers the settings of MCP servers. The servers are c's List, and the common settings
// its Common.
func Settings(c *config.Config) config.Section {
	common := config.Bind[Common](c)
	return config.Section{Name: "mcp", Settings: []config.Setting{
		config.Func("MCP_SERVER_URL", "", "URL", "a streamable-HTTP MCP server, which is named `"+URLName+"`", func(value string) error {
			addServers(c, Server{Name: URLName, Transport: mcpclient.HTTP, URL: value})
			return check.BaseURL(value)
		}).As("none"),
		config.File("MCP_CONFIG", "an `mcpServers` JSON file, added to `MCP_SERVER_URL`; with neither, the built-in todo server",
			func(path string, content []byte, from config.Sources) []config.Fault {
				f := newReader(path, from.Lookup, config.Of[List](c))
				addServers(c, f.readContent(content)...)
				*config.Bind[Path](c) = Path(path)
				return f.faults
			}),
		config.Duration("SLUICE_TOOL_TIMEOUT", &common.Timeout, mcpclient.DefaultTimeout,
			"one tool call; a longer one needs a longer `SLUICE_REQUEST_TIMEOUT` too, as a call never outlasts its turn"),
		breaker.Setting("SLUICE_MCP_BREAKER", &common.Breaker, breaker.Config{},
			"the circuit breaker of each MCP server: consecutive failures, recovery time, half-open calls"),
	}}
}

// addServers lists servers, and their names for what looks up only these.
func addServers(c *config.Config, servers ...Server) {
	list, names, reporting := config.Bind[List](c), config.Bind[tool.Servers](c), config.Bind[tool.Reporting](c)
	*list = append(*list, servers...)
	for _, s := range servers {
		s.hideSecrets(c)
		if s.OnUnknown == ReportUnknown {
			*reporting = append(*reporting, s.Name)
		}
		if !slices.Contains(*names, s.Name) {
			*names = append(*names, s.Name)
		}
	}
}
