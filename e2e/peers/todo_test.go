package peers

import (
	"database/sql"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// The example todo server works over every kind of HTTP, in both generations of
// the protocol: what is said to be done is in PostgreSQL. 100 turns at once make
// 100 todos, no more and no fewer.
func TestTodoOverHTTP(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	folder := filepath.Dir(installed(t, todoServer))
	server := startFastMCP(t, todoHTTP, map[string]string{"DATABASE_URL": url}, folder)
	base := "http://" + server.addr
	for _, kind := range []string{"stateful-sse", "stateful-json", "stateless-sse", "stateless-json", "legacy"} {
		for _, protocol := range []string{"2025-11-25", "auto"} {
			t.Run(kind+" "+protocol, func(t *testing.T) {
				entry := map[string]any{"url": base + "/" + kind + "/mcp", "protocolVersion": protocol}
				if kind == "legacy" {
					entry["url"], entry["type"] = base+"/legacy/sse", "sse"
				}
				manageTodos(t, entry, inPostgres(url))
			})
		}
	}
	t.Run("parallel", func(t *testing.T) { createInParallel(t, base+"/stateful-sse/mcp", url) })
}

// The same as a child of the gateway, and with SQLite.
func TestTodoOverStdio(t *testing.T) {
	t.Parallel()
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		url := newDatabase(t)
		manageTodos(t, todoChild(t, url), inPostgres(url))
	})
	t.Run("uvx", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "todo.db")
		manageTodos(t, todoUvx(t, "sqlite:///"+path), inSQLite(path))
	})
}

// manageTodos goes through the life of a todo. rows returns what is in the
// database: title|status|priority, a line each.
func manageTodos(t *testing.T, server map[string]any, rows func(*testing.T) string) {
	t.Helper()
	env := mcpConfig(t, map[string]any{"todo": server})
	maps.Copy(env, offline(t).env())
	g := startGateway(t, env)
	line := g.awaitLog(t, "mcp_connected")
	t.Logf("protocol %s, handshake %s ms", line.detail("protocol"), line.detail("duration_ms"))
	steps := []struct {
		say   string
		tools []string
		rows  string
	}{
		{"Add buy milk to my list, high priority", []string{"create_todo"}, "buy milk|pending|high"},
		{"What is on my list?", []string{"list_todos"}, "buy milk|pending|high"},
		{"Mark buy milk as done", []string{"list_todos", "update_todo"}, "buy milk|completed|high"},
		{"Delete buy milk from my list", []string{"list_todos", "delete_todo"}, ""},
	}
	for _, s := range steps {
		tu := g.ask(t, s.say)
		if diff := cmp.Diff(s.tools, tu.done().ToolsCalled); diff != "" || !tu.done().Success || len(tu.of("error")) > 0 {
			t.Fatalf("%q: tools called (-want +got):\n%s\n%v", s.say, diff, tu)
		}
		if diff := cmp.Diff(s.rows, strings.ToLower(rows(t))); diff != "" {
			t.Errorf("%q: rows in the database (-want +got):\n%s", s.say, diff)
		}
	}
}

const todoRows = "select title || '|' || status || '|' || priority from todo order by created_at"

func inPostgres(url string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		return psql(t, url, todoRows)
	}
}

func inSQLite(path string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		return querySQLite(t, path, todoRows)
	}
}

// querySQLite returns the first column of all rows, a line each.
func querySQLite(t *testing.T, path, query string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// todoChild describes the server as a child of the gateway.
func todoChild(t *testing.T, database string) map[string]any {
	t.Helper()
	return map[string]any{
		"command": python(t, "python"), "args": []string{installed(t, todoServer)},
		"env": quiet("DATABASE_URL", database), "dir": t.TempDir(),
	}
}

// todoUvx lets the gateway start uvx, as the example's own mcpServers file has it,
// but from its cache: nothing is downloaded.
func todoUvx(t *testing.T, database string) map[string]any {
	t.Helper()
	path := installed(t, todoConfig)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ MCPServers map[string]map[string]any }
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	entry := file.MCPServers["todo"]
	entry["command"] = python(t, "uvx") // it is in no PATH
	entry["dir"] = filepath.Dir(path)   // the file that the gateway reads is elsewhere
	entry["env"] = quiet("DATABASE_URL", database, "UV_CACHE_DIR", installed(t, ".venv/uv"), "UV_OFFLINE", "1", "UV_PYTHON", python(t, "python"))
	return entry
}
