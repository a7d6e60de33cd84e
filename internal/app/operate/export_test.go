package operate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/engine/router"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/mcpclient/servers"
)

// Export writes private files, with no secret in them, while another process owns the store.
func TestExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "s.db")
	owner, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	tasks := task.New(task.Config{Store: owner})
	defer tasks.Close()
	turn, err := tasks.Begin(t.Context(), task.Request{Chat: &chat.Request{Input: "hi"}})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	cfg := settings.Config{
		File: settings.File{Team: router.Spec{Agents: []router.AgentSpec{{ID: "a", Prompt: "Be kind."}}}},
	}
	setStore(&cfg.Config, "sqlite:"+path)
	setServers(&cfg.Config, servers.List{{
		Name: "x-y", Transport: "stdio", Command: "run", Args: []string{"--key=canary"}, Env: map[string]config.Secret{"TOKEN": "canary"},
		Headers: map[string]config.Secret{"X-Key": "canary"}, URL: "http://h/?k=canary", Expanded: []config.Secret{"canary"},
	}})
	out := filepath.Join(dir, "out")
	for range 2 { // what is there is replaced
		if err := Export(t.Context(), cfg, turn.Task(), out); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	_ = filepath.WalkDir(out, func(name string, e fs.DirEntry, err error) error {
		info, _ := e.Info()
		if e.IsDir() {
			if info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v", name, info.Mode())
			}
			return err
		}
		text, _ := os.ReadFile(name)
		if info.Mode().Perm() != 0o600 || strings.Contains(string(text), "canary") {
			t.Errorf("%s: %v %s", name, info.Mode(), text)
		}
		name, _ = filepath.Rel(out, name)
		names = append(names, filepath.ToSlash(name)+" "+strings.Join(strings.Fields(string(text)), " "))
		return err
	})
	for _, want := range []string{
		`agents/a.json { "name": "a", "role": "", "system_prompt": "Be kind."`,
		`config/mcp_servers.yaml { "servers": [ { "name": "x-y", "transport": "stdio", "config": { "url": "http://h/?k=[redacted]", "headers": { "X-Key": "[redacted]" }, "command": "run", "args": [ "--key=[redacted]" ], "env": { "TOKEN": "[redacted]" } } } ] }`,
		`config/retention_policy.yaml { "default_days": 7, "by_task": { "critical": 30, "debug": 3 }, "by_status": { "completed": 7, "failed": 14 } }`,
		`tasks/` + turn.Task() + `/task.json { "id": "` + turn.Task() + `", "description": "hi", "status": "running", "assigned_agent": "assistant"`,
		`tasks/` + turn.Task() + `/trace.json { "task_id": "` + turn.Task() + `"`,
	} {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, want) }) {
			t.Errorf("there is no %s in\n%s", want, strings.Join(names, "\n"))
		}
	}
	if len(names) != 5 {
		t.Errorf("%d files", len(names))
	}
	setStore(&cfg.Config, "memory")
	if err := Export(t.Context(), cfg, turn.Task(), out); !errors.Is(err, ErrNoExport) {
		t.Error(err)
	}
}

// exportedFile has variables wherever a text may have some, and servers of all kinds.
const exportedFile = `models:
  default: {provider: openai, api: chat, model: "${NAME}", endpoint: "http://${PLACE}/v1", api_key: "${KEY}"}
mcpServers:
  bank: {url: "http://${PLACE}/mcp", headers: {Authorization: "Bearer ${KEY}"}, timeout: 5s, fallback: {pay: [spare/pay]}}
  spare: {command: run, args: ["--at=${PLACE}", plain], env: {TOKEN: "${KEY}", LEVEL: debug}}
  payments: {builtin: fake-payments}
agents:
  helper: {description: "Helps at ${PLACE}", role: "Of ${PLACE}", prompt: "You are at ${PLACE}.", tools: [payments]}
  other: {description: Helps, prompt_file: other.md}
workflows:
  flow:
    description: "At ${PLACE}"
    nodes: {ask: {type: human, prompt: "At ${PLACE}?"}, last: {type: agent, agent: helper}}
    edges: [{from: ask, to: last}]
`

// What came out of a variable stands in all files of an export by the variable's name, and no
// other name is there; the configuration in it is one that a gateway can be started with.
func TestExportNamesVariables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sluice.yaml": exportedFile, "other.md": "Be kind.",
		"mcp.json": `{"mcpServers": {"shared": {"url": "http://${PLACE}/s", "headers": {"X-Key": "${KEY}"}}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := gatewaytest.WithDefaults(t, map[string]string{
		"NAME": "m-x7", "PLACE": "q7.test", "KEY": "k7k7", "MCP_SERVER_URL": "http://z7.test/mcp", "MCP_CONFIG": filepath.Join(dir, "mcp.json"),
		"SLUICE_STORE": "sqlite:" + filepath.Join(dir, "s.db"), "SLUICE_CONFIG": filepath.Join(dir, "sluice.yaml"),
	})
	load := func() settings.Config {
		t.Helper()
		var file settings.File
		cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(env), os.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		return settings.Config{Config: cfg, File: file}
	}
	owner, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "s.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	tasks := task.New(task.Config{Store: owner})
	defer tasks.Close()
	turn, err := tasks.Begin(t.Context(), task.Request{Chat: &chat.Request{Input: "hi"}})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	out := filepath.Join(dir, "out")
	if err := Export(t.Context(), load(), turn.Task(), out); err != nil {
		t.Fatal(err)
	}
	var all string
	for _, text := range filesIn(t, out) {
		all += strings.Join(strings.Fields(text), " ") + "\n"
	}
	for _, value := range []string{"m-x7", "q7.test", "k7k7", "z7.test"} {
		if strings.Contains(all, value) {
			t.Errorf("the value %s is in\n%s", value, all)
		}
	}
	for _, name := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(all, -1) {
		if env[name[1]] == "" {
			t.Errorf("there is no variable %s", name[1])
		}
	}
	for _, want := range []string{
		`"role": "Of ${PLACE}", "system_prompt": "You are at ${PLACE}."`, `"llm_config": { "endpoint": "http://${PLACE}/v1", "model": "${NAME}", "api_key": "${KEY}" }`,
		`"url": "http://${PLACE}/mcp", "headers": { "Authorization": "Bearer ${KEY}" } }, "timeout_seconds": 5, "fallback": { "pay": [ "spare/pay" ] } }`,
		`"args": [ "--at=${PLACE}", "plain" ], "env": { "LEVEL": "debug", "TOKEN": "${KEY}" }`, `"config": { "builtin": "fake-payments" }`,
		`"url": "http://${PLACE}/s", "headers": { "X-Key": "${KEY}" }`, `"url": "${MCP_SERVER_URL}"`, `"prompt": "At ${PLACE}?"`, `"description": "At ${PLACE}"`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no %s in\n%s", want, all)
		}
	}
	before := load()
	env["SLUICE_CONFIG"] = filepath.Join(out, "config", "sluice.yaml")
	after := load()
	if len(after.Workflows) != len(before.Workflows) || after.Team.Agents[1].Prompt != "Be kind." || after.Models[0].APIKey != before.Models[0].APIKey {
		t.Errorf("the configuration is read back as %+v", after.File)
	}
}
