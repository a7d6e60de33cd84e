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
	TTL, EventTTL, Lease time.Duration
	MaxHistory           int
	// OnDisconnect is chat.OnDisconnectContinue or chat.OnDisconnectCancel: what becomes of
	// a turn whose request does not say it.
	OnDisconnect string
}

// Section is the section tasks of the configuration file.
func Section(s *Spec) file.Section {
	return file.Section{Name: "tasks", Schema: sectionSchema, Read: func(n *file.Node) {
		s.TTL, _ = n.Get("ttl").Duration(time.Minute, 30*day)
		s.EventTTL, _ = n.Get("event_ttl").Duration(time.Minute, day)
		s.Lease, _ = n.Get("lease").Duration(3*time.Second, time.Minute)
		s.MaxHistory, _ = n.Get("max_history").Int()
		s.OnDisconnect, _ = n.Get("on_disconnect").Text()
	}}
}
