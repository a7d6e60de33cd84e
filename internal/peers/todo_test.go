package peers

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// The example todo server works through the gateway, over each transport, with
// both databases: what is said to be done is in the database.
func TestTodo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		server    func(t *testing.T, database string) map[string]any
		database  func(t *testing.T) todoDatabase
		protocols []string
	}{
		{"http stateful SSE", overHTTP(), postgres, []string{"2025-11-25", "auto"}},
		{"http stateful JSON", overHTTP("FASTMCP_JSON_RESPONSE", "true"), sqlite, []string{"2025-11-25", "auto"}},
		{"http stateless SSE", overHTTP("FASTMCP_STATELESS_HTTP", "true"), sqlite, []string{"2025-11-25", "auto"}},
		{"http stateless JSON", overHTTP("FASTMCP_STATELESS_HTTP", "true", "FASTMCP_JSON_RESPONSE", "true"), postgres, []string{"2025-11-25", "auto"}},
		{"sse", overHTTP("FASTMCP_TRANSPORT", "sse"), postgres, []string{"2025-11-25", "auto"}},
		{"stdio python", overStdio, postgres, []string{"2025-11-25"}},
		{"stdio uvx", overUvx, sqlite, []string{"2025-11-25"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			needPeers(t)
			db := tt.database(t)
			server := tt.server(t, db.url)
			for _, protocol := range tt.protocols {
				server["protocolVersion"] = protocol
				g := startGateway(t, mcpConfig(t, map[string]any{"todo": server}))
				line := g.awaitLog(t, "mcp_connected")
				t.Logf("protocol %s: %s, handshake %s ms", protocol, line.detail("protocol"), line.detail("duration_ms"))
				manageTodos(t, g, db)
			}
		})
	}
}

// manageTodos goes through the life of a todo.
func manageTodos(t *testing.T, g *gateway, db todoDatabase) {
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
		if diff := cmp.Diff(s.rows, strings.ToLower(db.rows(t))); diff != "" {
			t.Errorf("%q: rows in the database (-want +got):\n%s", s.say, diff)
		}
	}
}

// todoDatabase is a database of the todo server.
type todoDatabase struct {
	url  string
	rows func(t *testing.T) string // title|status|priority, a line each
}

const todoRows = "select title || '|' || status || '|' || priority from todo order by created_at"

func postgres(t *testing.T) todoDatabase {
	url := newDatabase(t)
	return todoDatabase{url, func(t *testing.T) string {
		t.Helper()
		return psql(t, url, todoRows)
	}}
}

func sqlite(t *testing.T) todoDatabase {
	path := filepath.Join(t.TempDir(), "todo.db")
	return todoDatabase{"sqlite:///" + path, func(t *testing.T) string {
		t.Helper()
		return querySQLite(t, path, todoRows)
	}}
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

// overHTTP starts the todo server with settings, and returns its entry in an
// mcpServers file.
func overHTTP(settings ...string) func(*testing.T, string) map[string]any {
	return func(t *testing.T, database string) map[string]any {
		t.Helper()
		env := with(map[string]string{"DATABASE_URL": database}, settings...)
		entry := map[string]any{"url": startFastMCP(t, todoServer, env).url}
		if env["FASTMCP_TRANSPORT"] == "sse" {
			entry["type"] = "sse"
		}
		return entry
	}
}

// overStdio lets the gateway start the server.
func overStdio(t *testing.T, database string) map[string]any {
	t.Helper()
	return map[string]any{
		"command": python(t, "python"), "args": []string{installed(t, todoServer)},
		"env": quiet("DATABASE_URL", database), "dir": t.TempDir(),
	}
}

// overUvx lets the gateway start uvx, as the example's own mcpServers file has it,
// but from its cache: nothing is downloaded.
func overUvx(t *testing.T, database string) map[string]any {
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
