package record

import (
	_ "embed"

	"sluice/internal/base/config/file"
	"sluice/internal/base/redact"
)

//go:embed section.json
var sectionSchema string

// Spec is the section trace of the configuration file. Zero values are the defaults.
type Spec struct {
	NamesOnly bool `key:"payloads" is:"names"` // no texts, arguments and results
	// Secrets are the secrets of the configuration, which a trace leaves out. nil: without secrets.
	Secrets *redact.Scrubber
}

// Section is the section trace of the configuration file.
func Section(s *Spec) file.Section {
	return file.Section{Name: "trace", Schema: sectionSchema, Into: s}
}
