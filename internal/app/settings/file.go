// This file has the table of the configuration file: one section for each capability, each
// read by the package that knows it. The order of the table is that in which sections are
// read; a section that needs what another one says stands behind it.

package settings

import (
	"slices"
	"time"

	"sluice/handlers"
	"sluice/internal/app/providers"
	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/base/redact"
	"sluice/internal/edge/access/door"
	"sluice/internal/edge/access/limit"
	"sluice/internal/edge/dialect"
	"sluice/internal/engine/router"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/model"
	"sluice/internal/model/gemini"
	"sluice/internal/quality"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/deliver"
	"sluice/internal/quality/style"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
	"sluice/internal/state/task/conversation"
	"sluice/internal/state/task/record"
	"sluice/mcpclient/servers"
)

// Config is the configuration of a gateway: the settings, the file, and facts about the program.
type Config struct {
	config.Config
	File           // the configuration file; empty without one
	Version string // of the program, as upstreams see it
	Manager string // where a service manager wants to learn that the gateway serves: see process.Manager
}

// HasFile says whether there is a configuration file, so that it can be read again.
func (c *Config) HasFile() bool { return c.Path != "" }

// TurnTimeout is how long a turn may last.
func (c *Config) TurnTimeout() time.Duration { return Of[handlers.Config](c).Timeout }

// Traces returns the settings of traces, with the secrets to hide in them.
func (c *Config) Traces() record.Spec {
	spec := c.Trace
	spec.Secrets = redact.New(c.Secrets())
	return spec
}

// File has the contents of the configuration file, except those in config.Config. Without a file it
// is empty.
//
// A reading fills in a new one. Slices and maps in it are shared with registries and must
// not be changed.
type File struct {
	Path       string // of the file; empty without one
	Models     []model.Spec
	TurnTokens int // of the budget; 0: no limit
	Team       router.Spec
	Channels   []channel.Spec
	Tasks      task.Spec
	Trace      record.Spec
	Retention  task.Retention
	A2A        A2A
	Quality    quality.Spec
	Style      *style.Guide // nil without a style
	Webhooks   []deliver.Config
	Memory     conversation.Spec
	// Conversations has the record of conversations, of which the memory is a view.
	Conversations conversation.JournalSpec
	Dialects      dialect.Rules
	Workflows     []*graph.Workflow
	Auth          door.Spec // completed by SLUICE_API_KEYS
	Tenants       limit.Tenants
	Limits        limit.Spec
}

// Forms returns all channels, the built-in ones too, with the style's emojis and brand. Without a
// style they are Channels.
func (f *File) Forms() []channel.Spec {
	if f.Style == nil {
		return f.Channels
	}
	specs := channel.ByName(f.Channels)
	var styled []channel.Spec
	for _, name := range channel.Names(specs) {
		s := specs[name]
		s.Brand = f.Style.Brand
		s.Words = f.Style.Words()
		switch e := f.Style.Emojis; {
		case e.Off:
			s.SupportsEmojis = false
		case e.Max >= 0 && s.Emojis == channel.EmojisKeep:
			s.Emojis = channel.EmojisMax(e.Max)
		}
		styled = append(styled, s)
	}
	return styled
}

// FileSections returns the table of the configuration file, bound to c and f.
//
// Reading fills in both, and returns faults with places and without values.
func FileSections(c *config.Config, f *File) file.Table { return fileSections(c, f, nil) }

// fileSections is FileSections with what documentSection knows of the key file.
func fileSections(c *config.Config, f *File, readKeys func() bool) file.Table {
	google, kept, edge := config.Bind[gemini.Config](c), config.Bind[store.Config](c), config.Bind[handlers.Config](c)
	stored := func() bool { return kept.On() } // once it is read
	return file.Table{
		model.Section(&f.Models, &google.Timeout, &google.APIKey, providers.Protocols()),
		model.BudgetSection(&f.TurnTokens),
		servers.Section(c),
		quality.Section(&f.Quality, channel.Names(channel.ByName(nil))...),
		quality.OfAgents(&f.Quality, router.AgentsSection(&f.Team, c)),
		router.RouterSection(&f.Team, stored),
		router.DispatchSection(&f.Team),
		router.AggregateSection(&f.Team),
		channel.Section(&f.Channels, func(channel string, n *file.Node) {
			if w, ok := deliver.Read(channel, n); ok {
				f.Webhooks = append(f.Webhooks, w)
			}
		}),
		style.Section(&f.Style),
		task.Section(&f.Tasks, func() bool { return kept.On() && kept.At.Kind != store.Memory }),
		record.Section(&f.Trace),
		task.RetentionSection(&f.Retention),
		a2aSection(&f.A2A),
		conversation.Section(&f.Memory, stored),
		conversation.JournalSection(&f.Conversations, stored, func() bool { return config.Bind[ChatKit](c).keepsApart(stored()) }),
		dialectsFile(&f.Dialects),
		historyFile(&f.Dialects.History, func() bool { return f.Memory.Enabled }),
		graph.Section(&f.Workflows, c, engine.Kinds()),
		door.Section(&f.Auth, door.Around{Stored: stored, AnyOrigin: func() bool { return slices.Contains(edge.Origins, "*") }, ReadKeys: readKeys}),
		limit.TenantsSection(&f.Tenants),
		limit.Section(&f.Limits, func() bool { return f.Auth.Proves() || config.Bind[door.Environment](c).Keys != "" }),
	}
}

// documentSection is the setting of the file itself. readKeys, if there is one, reports whether the key
// file that it names is read.
func documentSection(c *config.Config, f *File, readKeys func() bool) config.Section {
	return config.Section{Name: "file", Settings: []config.Setting{
		config.Document("SLUICE_CONFIG", "[configuration file](docs/configuration.md) with what needs more than a line: `models`, `agents`, `mcpServers` and others",
			func(path string, content []byte, from config.Sources) []config.Fault {
				*f = File{Path: path}
				r := fileSections(c, f, readKeys).Read(path, content, from)
				c.Warnings = append(c.Warnings, r.Warnings...)
				return r.Faults
			}),
	}}
}
