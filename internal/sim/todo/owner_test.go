package todo

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// as calls a tool for a user, whom only _meta can name.
func (s session) as(tenant, user, tool, arguments string) (text string, isError bool) {
	s.t.Helper()
	r := request(tool, arguments)
	r.Params.Meta = &mcp.Meta{AdditionalFields: map[string]any{"sluice/tenant": tenant, "sluice/user": user, "other": 1}}
	result, err := s.CallTool(s.t.Context(), r)
	if err != nil {
		s.t.Fatalf("%s: %v", tool, err)
	}
	return result.Content[0].(mcp.TextContent).Text, result.IsError
}

func TestEachUserHasAList(t *testing.T) {
	t.Parallel()
	for name, dial := range map[string]dialer{"in process": dialInProcess, "HTTP": dialHTTP, "stdio": dialStdio} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, NewServer(open(t, testConfig()), "1.0"), dial, "2025-11-25")
			s.must("create_todo", `{"title":"everybody's"}`)
			for _, who := range [][2]string{{"", "ann"}, {"", "bob"}, {"acme", "ann"}, {"ac", "me,ann"}} {
				if _, isError := s.as(who[0], who[1], "create_todo", `{"title":"of `+who[0]+"/"+who[1]+`"}`); isError {
					t.Fatal("nothing was made")
				}
			}
			list, _ := s.as("acme", "ann", "list_todos", `{}`)
			if !strings.Contains(list, `"title":"of acme/ann"`) || !strings.Contains(list, `"count":1,`) {
				t.Errorf("ann of acme sees %s", list)
			}
			if list := s.must("list_todos", `{}`); !strings.Contains(list, "everybody") || !strings.Contains(list, `"count":1,`) {
				t.Errorf("nobody in particular sees %s", list)
			}
			const annsOwn = `"todo_id":"todo_2"`
			for _, foreign := range []string{`update_todo {` + annsOwn + `,"title":"x"}`, `delete_todo {` + annsOwn + `,"confirmation":true}`} {
				tool, arguments, _ := strings.Cut(foreign, " ")
				if text, isError := s.as("", "bob", tool, arguments); !isError || !strings.Contains(text, "no todo has the id") {
					t.Errorf("bob's %s: %s", foreign, text)
				}
				if text, isError := s.as("", "ann", tool, arguments); isError {
					t.Errorf("ann's %s: %s", foreign, text)
				}
			}
		})
	}
}

// What was kept before there were lists of users is everybody's.
func TestListsOfBeforeStay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "todos.db")
	execute(t, path, migrationSteps()[0])
	execute(t, path, `INSERT INTO todos (id, title, title_folded, created_at) VALUES ('todo_old', 'old', 'old', '2026-01-01T00:00:00Z')`)
	execute(t, path, "PRAGMA user_version = 1")
	s := connect(t, NewServer(open(t, Config{Path: path}), "1.0"), dialInProcess, "2025-11-25")
	if list := s.must("list_todos", `{}`); !strings.Contains(list, "todo_old") {
		t.Errorf("nobody in particular sees %s", list)
	}
	if list, _ := s.as("", "ann", "list_todos", `{}`); strings.Contains(list, "todo_old") {
		t.Errorf("ann sees %s", list)
	}
}
