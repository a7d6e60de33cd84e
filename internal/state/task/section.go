package task

import (
	_ "embed"
	"time"

	"sluice/internal/base/config/file"
)

//go:embed section.json
var sectionSchema string

const day = 24 * time.Hour

// Spec is the section tasks of the configuration file. Zero values are the defaults.
type Spec struct {
	TTL        time.Duration `key:"ttl" from:"1m" to:"30d"`
	EventTTL   time.Duration `key:"event_ttl" from:"1m" to:"24h"`
	Lease      time.Duration `key:"lease" from:"3s" to:"1m"`
	MaxHistory int           `key:"max_history"`
	// OnDisconnect is chat.OnDisconnectContinue or chat.OnDisconnectCancel: the default for
	// requests that leave it open.
	OnDisconnect string `key:"on_disconnect"`
	// TakeOver lets other processes continue the turns of a dead one; nil: yes, if the store
	// outlives the process.
	TakeOver *bool `key:"take_over"`
}

// Section is the section tasks of the configuration file. lasting reports whether there is a store
// that outlives the process.
func Section(s *Spec, lasting func() bool) file.Section {
	return file.Section{Name: "tasks", Schema: sectionSchema, Into: s, Read: func(n *file.Node) {
		if s.TakeOver != nil && *s.TakeOver && !lasting() {
			n.Get("take_over").Fault("turns are taken over from a store that outlives the process: SLUICE_STORE (sqlite or redis)")
		}
	}}
}
