package settings

import (
	_ "embed"
	"slices"

	"sluice/chat"
	"sluice/config"
	"sluice/config/file"
	"sluice/dialect"
)

// Dialects is what is set of the protocols of others.
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
	return file.Section{Name: "dialects", Schema: dialectsSchema, Read: func(n *file.Node) {
		word := func(key string, p *dialect.Handling) {
			if text, ok := n.Get(key).Text(); ok && text != "append" && text != "on" {
				*p = dialect.Handling(text)
			}
		}
		word("instructions", &r.Instructions)
		word("client_tools", &r.ClientTools)
		if chars, ok := n.Get("message_chars").Int(); ok {
			r.MessageChars = chars
		}
		if size, ok := n.Get("body").Int(); ok {
			r.Body = int64(size)
		}
		for m := range n.Get("openai").Get("models").Members() {
			if id, ok := m.Text(); ok {
				if r.Models == nil {
					r.Models = map[string]string{}
				}
				r.Models[m.Name()] = id
			}
		}
	}}
}

// historyFile is the section history of the configuration file.
func historyFile(h *chat.HistoryRules, remembers func() bool) file.Section {
	return file.Section{Name: "history", Schema: historySchema, Read: func(n *file.Node) {
		if source, ok := n.Get("source").Text(); ok && source != "request" {
			h.Source = chat.HistorySource(source)
		}
		if h.Source == chat.HistoryOfStore && !remembers() {
			n.Get("source").Fault("store needs the memory of conversations: the section memory, and SLUICE_STORE")
		}
		if tools, ok := n.Get("tools").Text(); ok {
			h.NoCalls = tools == "none"
		}
		if messages, ok := n.Get("messages").Int(); ok {
			if h.Messages = messages; messages == 0 {
				h.Messages = -1
			}
		}
		if chars, ok := n.Get("chars").Int(); ok {
			h.Chars = chars
		}
	}}
}
