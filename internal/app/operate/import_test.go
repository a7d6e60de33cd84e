package operate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
)

// world is an environment in which configurations are loaded.
type world struct {
	t   *testing.T
	env map[string]string
}

// load reads a configuration as the command does; an empty path is none.
func (w world) load(path string) (settings.Config, error) {
	env := gatewaytest.With(w.env, "SLUICE_CONFIG", path)
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(env), os.ReadFile)
	return settings.Config{Config: cfg, File: file}, err
}

// write writes files under a new folder.
func (w world) write(files map[string]string) (dir string) {
	w.t.Helper()
	dir = w.t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			w.t.Fatal(err)
		}
	}
	return dir
}

// imported returns the file that Import makes of a folder, which a check accepts without a warning.
func (w world) imported(dir string) (text string, cfg settings.Config, warnings []string) {
	w.t.Helper()
	made, err := Import(dir, w.load)
	if err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(w.write(map[string]string{"sluice.yaml": string(made.Text)}), "sluice.yaml")
	cfg, err = w.load(path)
	if err != nil || len(cfg.Warnings) > 0 {
		w.t.Fatalf("%v %q in\n%s", err, cfg.Warnings, made.Text)
	}
	return string(made.Text), cfg, made.Warnings
}

// storedTask returns the id of a task in a new file of SQLite, which env then names.
func (w world) storedTask() string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "s.db")
	owner, err := sqlite.Open(w.t.Context(), sqlite.Config{Path: path})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = owner.Close() })
	tasks := task.New(task.Config{Store: owner})
	w.t.Cleanup(tasks.Close)
	turn, err := tasks.Begin(w.t.Context(), task.Request{Chat: &chat.Request{Input: "hi"}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(turn.End)
	w.env["SLUICE_STORE"] = "sqlite:" + path
	return turn.Task()
}

// export returns the files of an export.
func (w world) export(cfg settings.Config, id, dir string) map[string]string {
	w.t.Helper()
	if err := Export(w.t.Context(), cfg, id, dir); err != nil {
		w.t.Fatal(err)
	}
	return filesIn(w.t, dir)
}

// importedFile has whatever the layout has a name for, and keys that it has none for.
const importedFile = `# A comment that stays.
models:
  default: {provider: openai, api: chat, model: "${NAME}", endpoint: "http://${PLACE}/v1", api_key: "${KEY}"}
  local: {provider: ollama, model: "phi3:mini"}
mcpServers:
  bank: {url: "http://${PLACE}/mcp", headers: {Authorization: "Bearer ${KEY}"}, timeout: 5s, fallback: {pay: [spare/pay]}, deny: [burn]}
  spare: {command: run, args: ["--at=${PLACE}", plain, "--cost=$$$$5"], env: {TOKEN: "${KEY}", LEVEL: debug}}
  old: {url: "https://old.example/sse", type: sse}
  payments: {builtin: fake-payments}
agents:
  helper: {description: "Helps at ${PLACE}", role: "Of ${PLACE}", prompt: "You are at ${PLACE}.\nIt costs $$5: {\"a\": 1}\n", tools: [payments, bank/pay], delegates: [other]}
  other: {description: "Helps: others", prompt: "Be kind.", model: local, temperature: 0.2, max_steps: 3}
workflows:
  flow:
    description: "At ${PLACE}"
    kind: debug
    retention_days: 3
    timeout: 90s
    nodes:
      first: {type: agent, agent: helper, input: "Begin at ${PLACE}", output: {routing_key: result.text, metadata.n: "1"}}
      route: {type: condition, expression: routing_key}
      pay: {type: tool, tool: payments/pay, arguments: {amount: "1 + 1", deep: {a: [1, true]}, flag: true}, timeout: 5s}
      ask: {type: human, prompt: "At ${PLACE}?", timeout: 72h, approvers: [ann], schema: {type: object, properties: {note: {type: string}}}}
      last: {type: agent, agent: helper, pattern: reflection, repeat: {critic: other, until: "critic.json.score >= 8", max: 2}}
    edges:
      - {from: first, to: route}
      - {from: route, to: {pay: pay, ask: ask, default: last}}
      - {from: pay, to: last, condition: "true"}
      - {from: ask, to: last}
    answer: last
router: {confidence_threshold: 0.6}
retention: {default_days: 9, by_task: {debug: 1}}
`

// newWorld has the variables of importedFile.
func newWorld(t *testing.T) world {
	return world{t, gatewaytest.WithDefaults(t, map[string]string{
		"NAME": "m-x7", "PLACE": "q7.test", "KEY": "k7k7", "SLUICE_STORE": "memory",
	})}
}

// An export that is imported and exported again has the same files: with its configuration file,
// which then is the result byte for byte, and from the files of the layout alone.
func TestExportImportExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.storedTask()
	cfg, err := w.load(filepath.Join(w.write(map[string]string{"sluice.yaml": importedFile}), "sluice.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	first := t.TempDir()
	want := w.export(cfg, id, first)
	text, cfg, warnings := w.imported(first)
	if text != importedFile || len(warnings) > 0 {
		t.Errorf("the configuration file is another one: %q\n%s", warnings, text)
	}
	if diff := cmp.Diff(want, w.export(cfg, id, t.TempDir())); diff != "" {
		t.Errorf("with its configuration file (-first +again):\n%s", diff)
	}
	if err := os.Remove(filepath.Join(first, "config", "sluice.yaml")); err != nil {
		t.Fatal(err)
	}
	text, cfg, warnings = w.imported(first)
	got := w.export(cfg, id, t.TempDir())
	delete(want, "config/sluice.yaml")
	delete(got, "config/sluice.yaml")
	if diff := cmp.Diff(want, got); diff != "" || len(warnings) > 0 {
		t.Errorf("without a configuration file, %q (-first +again):\n%s\n%s", warnings, diff, text)
	}
}

// An export of a configuration without a file, whose policy is the built-in one, stays equal too.
func TestImportOfAPlainExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.storedTask()
	cfg, err := w.load("")
	if err != nil {
		t.Fatal(err)
	}
	first := t.TempDir()
	want := w.export(cfg, id, first)
	text, cfg, _ := w.imported(first)
	got := w.export(cfg, id, t.TempDir())
	delete(got, "config/sluice.yaml") // of the import
	if diff := cmp.Diff(want, got); diff != "" || strings.Contains(text, "retention") {
		t.Errorf("(-first +again):\n%s\n%s", diff, text)
	}
}

// A change of a file of the layout arrives, and what only the configuration file says stays.
func TestImportOfAChangedExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.storedTask()
	cfg, err := w.load(filepath.Join(w.write(map[string]string{"sluice.yaml": importedFile, "other.md": "Be kind."}), "sluice.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w.export(cfg, id, dir)
	path := filepath.Join(dir, "agents", "helper.json")
	text, _ := os.ReadFile(path)
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "You are at", "You live at", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, cfg, _ = w.imported(dir)
	helper := cfg.Team.Agents[0]
	if helper.Prompt != "You live at q7.test.\nIt costs $5: {\"a\": 1}\n" || len(helper.Delegates) != 1 || helper.Description != "Helps at q7.test" || cfg.Team.Config.Threshold != 0.6 {
		t.Errorf("%+v, %+v", helper, cfg.Team.Config)
	}
}

// Documents that were written by hand, as their data model has them, become a file that a check
// accepts. Neither a key nor a tool of an unknown server is copied.
func TestImportOfDocuments(t *testing.T) {
	t.Parallel()
	w := world{t, gatewaytest.WithDefaults(t, map[string]string{
		"SLUICE_STORE": "memory", "OPENAI_API_KEY": "k1", "SMALL_API_KEY": "k2", "SEARCH_API_TOKEN": "k3", "MISTRAL_KEY": "k4",
	})}
	big := `"llm_config": {"endpoint": "https://api.openai.com/v1", "model": "gpt-4o", "api_key": "${OPENAI_API_KEY}"}`
	dir := w.write(map[string]string{
		"agents/researcher.json": `{"name": "researcher", "role": "Finds sources", "system_prompt": "You search.\n\n- cite\n", "tools": ["web_search", "files/read", "gone/x"], "max_iterations": 12, "temperature": 0.2, ` + big + `}`,
		"agents/writer.json":     `{"name": "writer", "role": "Writes", "system_prompt": "Cost: $${5}", "tools": [], "max_iterations": 10, "temperature": 0.7, ` + big + `, "color": "red"}`,
		"agents/critic.json":     `{"name": "critic", "role": "Judges", "system_prompt": "Judge.", "tools": ["search"], "llm_config": {"endpoint": "http://localhost:9999/v1", "model": "small", "api_key": "sk-canary-0123456789"}}`,
		"agents/other.json":      `{"name": "other", "role": "Helps", "system_prompt": "Help.", "tools": [], "llm_config": {"endpoint": "https://api.mistral.ai/v1", "model": "small", "api_key": "MISTRAL_KEY"}}`,
		"workflows/report.json": `{"name": "report", "examples": ["Report on tides"], "patterns": ["react", "reflection"], "entry_point": "find", "max_iterations": 50, "checkpoints": ["write"],
			"nodes": {"find": {"type": "agent", "agent": "researcher"}, "ok": {"type": "human"}, "look": {"type": "tool", "tool": "files/read"}, "write": {"type": "agent", "agent": "writer"}},
			"edges": [{"from": "find", "to": "look"}, {"from": "look", "to": "ok", "condition": "!result.is_error"}, {"from": "ok", "to": "write", "condition": null}]}`,
		"config/mcp_servers.yaml": `
- name: search
  transport: sse
  config: {url: "https://search.example/sse", headers: {Authorization: Bearer canary-0123456789abcdef}}
- name: files
  transport: stdio
  config:
    command: uvx
    args: [files-server, "--root", /data]
    env: {API_TOKEN: canary, LEVEL: debug}
`,
		"config/retention_policy.yaml": "default_days: 7\nby_task:\n  critical: 30\n  debug: 3\nby_status:\n  completed: 7\n  failed: 14\n",
	})
	w.env["SEARCH_AUTHORIZATION"], w.env["FILES_API_TOKEN"] = "Bearer k", "k5"
	text, cfg, warnings := w.imported(dir)
	if strings.Contains(text, "canary") || strings.Contains(strings.Join(warnings, "\n"), "canary") {
		t.Errorf("a secret is copied: %q\n%s", warnings, text)
	}
	for _, want := range []string{"web_search is left out", "gone/x is left out", "color is left out", "no node has the pattern reflection", "SMALL_API_KEY", "SEARCH_AUTHORIZATION", "FILES_API_TOKEN"} {
		if !strings.Contains(strings.Join(warnings, "\n"), want) {
			t.Errorf("no warning has %q: %q", want, warnings)
		}
	}
	if len(warnings) != 7 {
		t.Errorf("%d warnings: %q", len(warnings), warnings)
	}
	wantFile, err := os.ReadFile(filepath.Join("testdata", "imported.yaml"))
	if err != nil || string(wantFile) != text {
		t.Errorf("%v (-want +got):\n%s\n%s", err, cmp.Diff(string(wantFile), text), text)
	}
	if cfg.Team.Agents[3].Prompt != "Cost: $${5}" {
		t.Errorf("a dollar is read as %q", cfg.Team.Agents[3].Prompt)
	}
}

// A folder without documents, and documents that cannot be read, are errors that name them.
func TestImportRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := Import(t.TempDir(), w.load); !errors.Is(err, errNoImport) {
		t.Error(err)
	}
	dir := w.write(map[string]string{"agents/a.json": `{"name": `})
	_, err := Import(dir, w.load)
	if faults, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(faults.Error(), "a.json:1:") {
		t.Error(err)
	}
	dir = w.write(map[string]string{"agents/a.json": `{"name": "a", "role": "Helps"}`, "config/sluice.yaml": "nothing: {}\n"})
	text, _, warnings := w.imported(dir)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "config/sluice.yaml: is not read") || !strings.Contains(text, "description: Helps") {
		t.Errorf("%q %s", warnings, text)
	}
}

// A text is printed so that it is read back as it is.
func TestPrintedYAML(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "a", "a: b", "- a", "yes", "null", "12", "1e3", "0x1f", "~", "a #b", "#a", "a\nb", "a\nb\n", "a\nb\n\n", "\na\nb", " a\nb", "a\n  b", "a \nb", "a\tb\nc", "é\u00a0", "\u2028", "😀",
		"'", `"`, `\`, "{a}", "[a]", "a, b", "*a", "&a", "!a", "|", ">", "%a", "@a", "`a", "---", "a\n---\nb", "a:", ":a", "\u0085", "${X}", "2026-01-01", strings.Repeat("long ", 60),
	} {
		tree := map[string]any{"k": text, "list": []any{text, []any{text}}, "o": map[string]any{"in": text}, "z": nil}
		w := world{t: t}
		dir := w.write(map[string]string{"x.yaml": string(printYAML(tree))})
		got, err := readDocument(filepath.Join(dir, "x.yaml"))
		if diff := cmp.Diff(tree, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got)\n%s\n%s", text, err, diff, printYAML(tree))
		}
	}
}

// A secret in the file itself leaves an export that is a file again, whatever its quotes.
func TestExportHidesLiteralKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.storedTask()
	text := "models:\n  default: {provider: openai, api_key: sk-canary0123456789, model: m}\n" +
		"  other:\n    provider: openai\n    model: m\n    api_key: sk-canary0123456789 # mine\n" +
		"  third: {provider: openai, model: m, api_key: 'sk-canary0123456789'}\n" +
		"mcpServers:\n  a: {url: 'http://a.test/mcp', headers: {Authorization: Bearer canary-token-7}}\n"
	cfg, err := w.load(filepath.Join(w.write(map[string]string{"sluice.yaml": text}), "sluice.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range w.export(cfg, id, dir) {
		if strings.Contains(text, "canary") {
			t.Errorf("%s has a secret: %s", name, text)
		}
	}
	if cfg, err = w.load(filepath.Join(dir, "config", "sluice.yaml")); err != nil {
		t.Error(err)
	}
	if got := cfg.Models[1].APIKey.Reveal(); got != "[redacted]" {
		t.Errorf("the key is %q", got)
	}
}
