package conversation

import (
	_ "embed"
	"time"

	"sluice/config"
	"sluice/config/file"
)

//go:embed section.json
var sectionSchema string

// Spec is what the configuration file says of memory. Zero values are the defaults.
type Spec struct {
	Enabled     bool
	TTL         time.Duration
	OmitCalls   bool
	MaxMessages int
	MaxTokens   int
}

const day = 24 * time.Hour

// Section is the section memory of the configuration file. It asks settings, which are
// whole by then, whether there is a store.
func Section(s *Spec, settings *config.Config) file.Section {
	return file.Section{Name: "memory", Schema: sectionSchema, Read: func(n *file.Node) {
		s.Enabled, _ = n.Get("enabled").Bool()
		if s.Enabled && !settings.HasStore() {
			n.Get("enabled").Fault("memory needs a store: SLUICE_STORE")
		}
		s.TTL, _ = n.Get("ttl").Duration(time.Minute, 30*day)
		s.MaxMessages, _ = n.Get("max_messages").Int()
		s.MaxTokens, _ = n.Get("max_tokens").Int()
		calls, _ := n.Get("tool_calls").Text()
		s.OmitCalls = calls == "omit"
	}}
}
