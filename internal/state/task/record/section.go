package record

import (
	_ "embed"

	"sluice/internal/base/config/file"
	"sluice/internal/base/redact"
)

//go:embed section.json
var sectionSchema string

// Spec is what the configuration file says of traces. Zero values are the defaults.
type Spec struct {
	NamesOnly bool `key:"payloads" is:"names"` // no texts, arguments and results
	// Secrets are those of the configuration, which no trace has; nil: there are none.
	Secrets *redact.Scrubber
}

// Section is the section trace of the configuration file.
func Section(s *Spec) file.Section {
	return file.Section{Name: "trace", Schema: sectionSchema, Into: s}
}
