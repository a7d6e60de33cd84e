package gateway

import (
	"sluice/config"
	"sluice/mcpclient/servers"
	"sluice/store"
)

// setServers gives c other MCP servers. Copies of c keep theirs.
func setServers(c *config.Config, list servers.List) {
	config.Change(c, func(l *servers.List) { *l = list })
}

// setStore gives c another store.
func setStore(c *config.Config, at string) {
	config.Change(c, func(s *store.Config) {
		var err error
		if s.At, err = store.ParseLocation(at); err != nil {
			panic(err)
		}
	})
}
