package conversation

import (
	_ "embed"
	"time"

	"sluice/internal/base/config/file"
)

//go:embed section.json
var sectionSchema string

//go:embed journal.json
var journalSchema string

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

// JournalSpec is the section conversations of the configuration file. Zero values are the defaults.
type JournalSpec struct {
	Enabled  bool          `key:"enabled"`
	TTL      time.Duration `key:"ttl" from:"1h" to:"3650d"`
	MaxTurns int           `key:"max_turns"`
}

// JournalSection is the section conversations of the configuration file. stored reports whether
// there is a store, and apart whether ChatKit's threads are to be kept elsewhere.
func JournalSection(s *JournalSpec, stored, apart func() bool) file.Section {
	return file.Section{Name: "conversations", Schema: journalSchema, Into: s, Read: func(n *file.Node) {
		switch {
		case s.Enabled && !stored():
			n.Get("enabled").Fault("conversations need a store: SLUICE_STORE")
		case s.Enabled && apart():
			n.Get("enabled").Fault("ChatKit's threads are conversations: leave SLUICE_CHATKIT_HISTORY out, or set it to store")
		}
	}}
}
