package gateway

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/chat"
	"sluice/config"
	"sluice/mcpclient/servers"
	"sluice/router"
	"sluice/store/sqlite"
	"sluice/task"
)

// Export writes private files, with no secret in them, beside a process that owns the
// store.
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
	cfg := Config{
		Config: config.Config{
			Store: config.Secret("sqlite:" + path),
		}, File: File{Team: router.Spec{Agents: []router.AgentSpec{{ID: "a", Prompt: "Be kind."}}}},
	}
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
		`config/mcp_servers.yaml { "servers": [ { "name": "x-y", "transport": "stdio", "config": { "url": "http://h/?k=${X_Y_VALUE_1}", "headers": { "X-Key": "${X_Y_X_KEY}" }, "command": "run", "args": [ "--key=${X_Y_VALUE_1}" ], "env": { "TOKEN": "${TOKEN}" } } } ] }`,
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
	cfg.Store = "memory"
	if err := Export(t.Context(), cfg, turn.Task(), out); !errors.Is(err, ErrNoExport) {
		t.Error(err)
	}
}
