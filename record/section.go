package record

import (
	_ "embed"

	"sluice/config/file"
)

//go:embed section.json
var sectionSchema string

// Spec is what the configuration file says of traces. Zero values are the defaults.
type Spec struct {
	NamesOnly bool // no texts, arguments and results
}

// Section is the section trace of the configuration file.
func Section(s *Spec) file.Section {
	return file.Section{Name: "trace", Schema: sectionSchema, Read: func(n *file.Node) {
		payloads, _ := n.Get("payloads").Text()
		s.NamesOnly = payloads == "names"
	}}
}
