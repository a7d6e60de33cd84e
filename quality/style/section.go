package style

import (
	_ "embed"
	"regexp"

	"sluice/config/file"
)

//go:embed section.json
var sectionSchema string

// Section is the section style of the configuration file. Without it guide stays nil.
func Section(guide **Guide) file.Section {
	return file.Section{Name: "style", Schema: sectionSchema, Read: func(n *file.Node) {
		*guide = read(n)
	}}
}

// read reads a guide. What is not given has the defaults that stand here.
func read(n *file.Node) *Guide {
	tone, emojis, humor, formatting := n.Get("tone"), n.Get("emojis"), n.Get("humor"), n.Get("formatting")
	g := &Guide{
		Version: text(n, "version", ""), Brand: text(n, "brand_name", ""), Personality: text(n, "personality", ""),
		Tone:     Tone{text(tone, "default", "conversational"), text(tone, "error", "empathetic"), text(tone, "success", "encouraging")},
		Emojis:   Emojis{!flag(emojis, "enabled", true), text(emojis, "success", "✅"), text(emojis, "warning", "⚠️"), text(emojis, "error", "❌"), text(emojis, "info", "ℹ️"), -1},
		Humor:    Humor{!flag(humor, "enabled", true), text(humor, "style", ""), text(humor, "frequency", "")},
		Greeting: flag(formatting, "greeting", true), SignOff: flag(formatting, "sign_off", false), UseName: flag(formatting, "use_user_name", true),
	}
	if most, ok := emojis.Get("max").Int(); ok {
		g.Emojis.Max = most
	}
	for lang := range n.Get("texts").Members() {
		for t := range lang.Members() {
			checkPlaces(t)
		}
		g.Texts = append(g.Texts, Texts{lang.Name(), text(lang, "greeting_text", ""), text(lang, "sign_off_text", ""), text(lang, "failure_text", "")})
	}
	return g
}

// text reads a text, or returns otherwise.
func text(n *file.Node, name, otherwise string) string {
	if s, ok := n.Get(name).Text(); ok {
		return s
	}
	return otherwise
}

// flag reads a flag, or returns otherwise.
func flag(n *file.Node, name string, otherwise bool) bool {
	if v := n.Get(name); v != nil && v.Sound() {
		return string(v.JSON()) == "true"
	}
	return otherwise
}

var places = regexp.MustCompile(`\{[^{}]*\}`)

// checkPlaces refuses a {place} that nothing is put into: it would be sent as it is.
func checkPlaces(n *file.Node) {
	s, _ := n.Text()
	for _, place := range places.FindAllString(s, -1) {
		if place != "{name}" && place != "{brand}" {
			n.Fault("has a place that is neither {name} nor {brand}")
			return
		}
	}
}
