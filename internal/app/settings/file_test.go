package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/mcpclient/servers"
)

// All faults come at once: those of variables and those of the file.
func TestFile(t *testing.T) {
	t.Parallel()
	w := configtest.World{
		Env: map[string]string{"SLUICE_CONFIG": "s.yaml", "MCP_CONFIG": "mcp.json", "SLUICE_MODEL_TIMEOUT": "7s", "A": "canary-1234"},
		Files: map[string]string{
			"mcp.json": `{"mcpServers":{"one":{"command":"x"}}}`,
			"s.yaml": `
models: {default: {provider: ollama, model: m}}
budget: {turn_tokens: 500}
mcpServers:
  two: {command: y, args: ["--a=${A}"], dir: sub, timeout: 2.5}
`,
		},
	}
	var f File
	cfg, err := LoaderWith(&f).Load(nil, w.Lookup, w.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Models) != 1 || f.Models[0].First.Seconds() != 7 || f.TurnTokens != 500 || f.Path != "s.yaml" || len(cfg.Warnings) > 0 {
		t.Errorf("got %d models, %d tokens, %q, %q", len(f.Models), f.TurnTokens, f.Path, cfg.Warnings)
	}
	want := servers.List{
		{Name: "one", Transport: "stdio", Command: "x"},
		{Name: "two", Transport: "stdio", Command: "y", Args: []string{"--a=canary-1234"}, Dir: "sub", Timeout: 2_500_000_000, Expanded: []config.Secret{"canary-1234"}},
	}
	if diff := cmp.Diff(want, config.Of[servers.List](&cfg)); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	w.Files["s.yaml"] = "mcpServers: {one: {command: y}}\nmodels: {a: 1}\n"
	w.Env["SLUICE_MAX_STEPS"] = "0"
	_, err = LoaderWith(&f).Load(nil, w.Lookup, w.ReadFile)
	lines := []string{
		"SLUICE_MAX_STEPS: must be a whole number from 1 to 64",
		"s.yaml:1:14: /mcpServers/one: MCP_SERVER_URL or MCP_CONFIG has a server of this name already",
		"s.yaml:2:13: /models/a: must be an object",
	}
	if diff := cmp.Diff(lines, faults(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// The schema of each section compiles: a Read panics at an invalid schema, but only if the file has
// the section.
func TestSchemasCompile(t *testing.T) {
	t.Parallel()
	content := ""
	for _, s := range FileSections(new(config.Config), new(File)) {
		content += s.Name + ": 1\n"
	}
	w := configtest.World{Env: map[string]string{"SLUICE_CONFIG": "s.yaml"}, Files: map[string]string{"s.yaml": content}}
	_, err := LoaderWith(new(File)).Load(nil, w.Lookup, w.ReadFile)
	if got, want := len(faults(t, err)), strings.Count(content, "\n"); got != want {
		t.Errorf("%d faults, want %d: %v", got, want, err)
	}
}

// A name of a model that leads to no agent and no workflow is a warning with its place.
func TestNamesOfModelsThatLeadNowhere(t *testing.T) {
	t.Parallel()
	w := configtest.World{Env: map[string]string{"SLUICE_CONFIG": "s.yaml"}, Files: map[string]string{"s.yaml": `
agents: {light: {description: Switches lamps}}
models: {default: {provider: ollama, model: m}}
dialects: {openai: {models: {gpt-4o: sluice, gpt-5: light, a: nobody}}}
`}}
	cfg, err := LoaderWith(new(File)).Load(nil, w.Lookup, w.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"s.yaml:4:63: /dialects/openai/models/a: names no agent and no workflow of this file; one that is added while the gateway runs may have this id"}
	if diff := cmp.Diff(want, cfg.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
