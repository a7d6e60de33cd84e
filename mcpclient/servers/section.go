package servers

import (
	_ "embed"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
)

//go:embed section.json
var sectionSchema string

// Section is the section mcpServers of the configuration file: the keys of a file of
// MCP_CONFIG. Its servers are added to those of c, whose names they must not have.
func Section(c *config.Config) file.Section {
	return file.Section{Name: "mcpServers", Schema: sectionSchema, Read: func(servers *file.Node) {
		if servers.Kind() == '{' {
			addServers(c, newReader(servers.File(), nil, config.Of[List](c)).readServers(servers)...)
		}
	}}
}
