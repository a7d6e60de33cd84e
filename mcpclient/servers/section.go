package servers

import (
	_ "embed"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/config"
	"sluice/config/file"
)

//go:embed section.json
var sectionSchema string

// Section is the section mcpServers of the configuration file: the keys of a file of
// MCP_CONFIG. Its servers are added to those of c, whose names they must not have.
func Section(c *config.Config) file.Section {
	return file.Section{Name: "mcpServers", Schema: sectionSchema, Read: func(servers *file.Node) {
		if !servers.IsObject() {
			return
		}
		add(c, enclosing{
			Path:    servers.File(),
			Servers: servers.SoundJSON(), // of the others the faults are told already
			Others:  config.Of[List](c),
			Variables: func(at jsontext.Pointer) iter.Seq2[string, config.Secret] {
				return servers.Find(at).Variables()
			},
			Fault: func(at jsontext.Pointer, isKey bool, message string) {
				n := servers.Find(at)
				if isKey {
					n.FaultKey(message)
					return
				}
				n.Fault(message)
			},
		}.read()...)
	}}
}
