package style

import (
	_ "embed"
	"strings"

	"sluice/internal/base/config/file"
)

//go:embed section.json
var sectionSchema string

// Section is the section style of the configuration file. Without it guide stays nil.
func Section(guide **Guide) file.Section {
	return file.Section{Name: "style", Schema: sectionSchema, Read: func(n *file.Node) {
		*guide = readGuide(n)
	}}
}

// readGuide reads a guide. A missing value has the default that is written here.
func readGuide(n *file.Node) *Guide {
	g := &Guide{
		Tone:     Tone{"conversational", "empathetic", "encouraging", n.Has("tone")},
		Emojis:   Emojis{Success: "✅", Warning: "⚠️", Error: "❌", Info: "ℹ️", Max: -1, Named: n.Has("emojis")},
		Greeting: true, UseName: true,
	}
	n.Decode(g)
	for lang := range n.Get("texts").Members() {
		for t := range lang.Members() {
			checkPlaces(t)
		}
	}
	return g
}

// checkPlaces refuses a {place} that nothing is put into: it would be sent as it is.
func checkPlaces(n *file.Node) {
	s, _ := n.Text()
	for {
		_, rest, found := strings.Cut(s, "{")
		if !found {
			return
		}
		end := strings.IndexAny(rest, "{}")
		if end >= 0 && rest[end] == '}' && rest[:end] != "name" && rest[:end] != "brand" {
			n.Fault("has a place that is neither {name} nor {brand}")
			return
		}
		s = rest
	}
}
