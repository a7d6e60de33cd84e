package settings

import (
	"sluice/channel"
	"sluice/config"
	"sluice/config/file"
	"sluice/mcpclient"
	"sluice/model"
	"sluice/router"
	"sluice/workflow"
)

// File is what the configuration file says, beside what is in config.Config. Without a
// file it is empty.
type File struct {
	Path       string // of the file; empty: there is none
	Models     []model.Spec
	TurnTokens int // of the budget; 0: no limit
	Team       router.Spec
	Channels   []channel.Spec
	Workflows  []*workflow.Workflow
	// Warnings are lines, each with its place, that hold no value.
	Warnings []string
}

// FileSections returns the table of what may stand in the configuration file, bound to
// c and f.
func FileSections(c *config.Config, f *File) file.Table {
	return file.Table{
		model.Section(&f.Models, c),
		model.BudgetSection(&f.TurnTokens),
		mcpclient.Section(c),
		router.AgentsSection(&f.Team, c),
		router.RouterSection(&f.Team),
		router.DispatchSection(&f.Team),
		router.AggregateSection(&f.Team),
		channel.Section(&f.Channels),
		workflow.Section(&f.Workflows, c),
	}
}

// document is the setting of the file itself.
func document(c *config.Config, f *File) config.Section {
	return config.Section{Name: "file", Settings: []config.Setting{
		config.Document("SLUICE_CONFIG", "[configuration file](docs/configuration.md) with `models`, `budget`, `mcpServers`, `channels`, and a team of `agents` with its `router`, `dispatch` and `aggregate`, and `workflows`",
			func(path string, content []byte, from config.Sources) []config.Fault {
				*f = File{Path: path}
				r := FileSections(c, f).ReadFrom(path, content, from)
				f.Warnings = r.Warnings
				return r.Faults
			}),
	}}
}
