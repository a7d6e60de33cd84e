package settings

import (
	_ "embed"
	"slices"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// Dialects are the settings of other protocols.
type Dialects struct {
	// Served are the names of those that are served.
	Served []string
}

// dialectNames are the protocols that SLUICE_DIALECTS can name.
var dialectNames = [...]string{"chatkit", "ai-sdk", "ag-ui", "openai"}

// Serves says whether a protocol is served.
func (d *Dialects) Serves(name string) bool { return slices.Contains(d.Served, name) }

// dialectsSection has the variable of the protocols.
func dialectsSection(c *config.Config) config.Section {
	own := config.Bind[Dialects](c)
	return config.Section{Name: "dialects", Settings: []config.Setting{
		config.Words("SLUICE_DIALECTS", &own.Served, dialectNames[:], "[front ends' protocols](docs/dialects.md) that are served"),
	}}
}

//go:embed dialects.json
var dialectsSchema string

//go:embed history.json
var historySchema string

// dialectsFile is the section dialects of the configuration file.
func dialectsFile(r *dialect.Rules) file.Section {
	return file.Section{Name: "dialects", Schema: dialectsSchema, Into: r, Read: func(n *file.Node) {
		clearDefault(&r.MessageChars, chat.DefaultLine)
		clearDefault(&r.Body, dialect.DefaultBody)
		for model := range n.Get("openai").Get("models").Members() {
			id, ok := model.Text()
			if ok && id != dialect.DefaultModel && !n.Section("agents").Has(id) && !n.Section("workflows").Has(id) {
				model.Warn("names no agent and no workflow of this file; one that is added while the gateway runs may have this id")
			}
		}
	}}
}

// historyFile is the section history of the configuration file.
func historyFile(h *chat.HistoryRules, remembers func() bool) file.Section {
	return file.Section{Name: "history", Schema: historySchema, Into: h, Read: func(n *file.Node) {
		if h.Source == chat.HistoryOfStore && !remembers() {
			n.Get("source").Fault("store needs the memory of conversations: the section memory, and SLUICE_STORE")
		}
		clearDefault(&h.Messages, chat.DefaultMessages)
		clearDefault(&h.Chars, chat.DefaultChars)
		if messages, ok := n.Get("messages").Int(); ok && messages == 0 {
			h.Messages = -1
		}
	}}
}

// clearDefault sets a number to 0 if it equals its default.
func clearDefault[T int | int64](p *T, def T) {
	if *p == def {
		*p = 0
	}
}
