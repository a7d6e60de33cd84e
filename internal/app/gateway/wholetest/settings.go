package wholetest

import (
	"sluice/internal/base/config"
	"sluice/internal/state/store"
	"sluice/mcpclient/servers"
)

const (
	Key       = "a-key-that-nobody-may-see"
	RequestID = "req_golden"
)

// SetServers gives c other MCP servers. Copies of c keep theirs.
func SetServers(c *config.Config, list servers.List) {
	config.Change(c, func(l *servers.List) { *l = list })
}

// SetStore gives c another store.
func SetStore(c *config.Config, at string) {
	config.Change(c, func(s *store.Config) {
		var err error
		if s.At, err = store.ParseLocation(at); err != nil {
			panic(err)
		}
	})
}
