package conversation

import (
	_ "embed"
	"time"

	"sluice/internal/base/config/file"
)

//go:embed section.json
var sectionSchema string

// Spec is the section memory of the configuration file. Zero values are the defaults.
type Spec struct {
	Enabled     bool          `key:"enabled"`
	TTL         time.Duration `key:"ttl" from:"1m" to:"30d"`
	OmitCalls   bool          `key:"tool_calls" is:"omit"`
	MaxMessages int           `key:"max_messages"`
	MaxTokens   int           `key:"max_tokens"`
}

// Section is the section memory of the configuration file. stored reports whether
// there is a store.
func Section(s *Spec, stored func() bool) file.Section {
	return file.Section{Name: "memory", Schema: sectionSchema, Into: s, Read: func(n *file.Node) {
		if s.Enabled && !stored() {
			n.Get("enabled").Fault("memory needs a store: SLUICE_STORE")
		}
	}}
}
