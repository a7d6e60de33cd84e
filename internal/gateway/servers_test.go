package gateway

import (
	"maps"
	"reflect"

	"sluice/config"
	"sluice/mcpclient/servers"
)

// setServers gives c other MCP servers. Copies of c keep theirs.
func setServers(c *config.Config, list servers.List) {
	c.Parts = maps.Clone(c.Parts)
	delete(c.Parts, reflect.TypeFor[servers.List]())
	*config.Bind[servers.List](c) = list
}
