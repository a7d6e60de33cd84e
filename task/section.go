package task

import (
	_ "embed"
	"time"

	"sluice/config/file"
)

//go:embed section.json
var sectionSchema string

const day = 24 * time.Hour

// Spec is what the configuration file says of tasks. Zero values are the defaults.
type Spec struct {
	TTL        time.Duration `key:"ttl" from:"1m" to:"30d"`
	EventTTL   time.Duration `key:"event_ttl" from:"1m" to:"24h"`
	Lease      time.Duration `key:"lease" from:"3s" to:"1m"`
	MaxHistory int           `key:"max_history"`
	// OnDisconnect is chat.OnDisconnectContinue or chat.OnDisconnectCancel: what becomes of
	// a turn whose request does not say it.
	OnDisconnect string `key:"on_disconnect"`
}

// Section is the section tasks of the configuration file.
func Section(s *Spec) file.Section {
	return file.Section{Name: "tasks", Schema: sectionSchema, Into: s}
}
