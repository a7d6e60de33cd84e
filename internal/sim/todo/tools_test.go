package todo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// One conversation, word for word, over every transport in both protocol eras.
func TestConversation(t *testing.T) {
	t.Parallel()
	steps := []struct{ tool, arguments, want string }{
		{
			"create_todo",
			`{"title":"  Buy \"eggs\" & <milk> 🥚\nand bread ","description":"free range","due_date":"2026-11-26T15:00","priority":"high","tags":["#Shop"," home","shop",""]}`,
			`{"id":"todo_1","title":"Buy \"eggs\" & <milk> 🥚\nand bread","description":"free range","status":"pending","priority":"high","due_date":"2026-11-26T15:00:00","tags":["shop","home"],"created_at":"2026-11-25T09:00:00Z"}`,
		},
		{
			"create_todo", `{"title":"Robert'); DROP TABLE todos;--","description":null}`,
			`{"id":"todo_2","title":"Robert'); DROP TABLE todos;--","status":"pending","priority":"medium","created_at":"2026-11-25T09:00:00Z"}`,
		},
		{
			"update_todo", `{"todo_id":" todo_1 ","status":"completed","due_date":"","description":"","tags":[]}`,
			`{"id":"todo_1","title":"Buy \"eggs\" & <milk> 🥚\nand bread","status":"completed","priority":"high","created_at":"2026-11-25T09:00:00Z","completed_at":"2026-11-25T09:00:00Z"}`,
		},
		{
			"list_todos", `{"status":"all","limit":1}`,
			`{"todos":[{"id":"todo_2","title":"Robert'); DROP TABLE todos;--","status":"pending","priority":"medium","created_at":"2026-11-25T09:00:00Z"}],"count":2,"more":true}`,
		},
		{
			"delete_todo", `{"todo_id":"todo_2","confirmation":true}`,
			`{"id":"todo_2","title":"Robert'); DROP TABLE todos;--","status":"pending","priority":"medium","created_at":"2026-11-25T09:00:00Z"}`,
		},
		{"list_todos", `{}`, `{"todos":[],"count":0,"more":false}`},
	}
	transports := []struct {
		name          string
		dial          dialer
		version, want string
	}{
		{"in process", dialInProcess, "2025-11-25", "2025-11-25"},
		{"HTTP", dialHTTP, "2025-11-25", "2025-11-25"},
		{"HTTP without sessions", dialHTTP, "", "2026-07-28"},
		{"stdio", dialStdio, "2025-11-25", "2025-11-25"},
		{"stdio without handshake", dialStdio, "", "2026-07-28"},
	}
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, NewServer(open(t, testConfig()), "1.0"), tr.dial, tr.version)
			if got := s.ProtocolVersion(); got != tr.want {
				t.Errorf("protocol version %s, want %s", got, tr.want)
			}
			for _, step := range steps {
				if diff := cmp.Diff(step.want, s.must(step.tool, step.arguments)); diff != "" {
					t.Errorf("%s %s (-want +got):\n%s", step.tool, step.arguments, diff)
				}
			}
		})
	}
}

// What the tools declare is what they take and give, judged by a JSON Schema
// validator.
func TestDeclaredSchemasHold(t *testing.T) {
	t.Parallel()
	s := local(t)
	schemas := s.schemas()
	for _, call := range []struct{ tool, arguments string }{
		{"create_todo", `{"title":"a","description":"b","due_date":"2026-11-26","priority":"low","tags":["x"]}`},
		{"create_todo", `{"title":"bare"}`},
		{"list_todos", `{"status":"pending","priority":"low","due_date_filter":"this_week","tags":["x"],"query":"A","limit":200}`},
		{"list_todos", `{"query":"nothing like it"}`},
		{"update_todo", `{"todo_id":"todo_1","title":"c","description":"","due_date":"","priority":"high","status":"completed","tags":[]}`},
		{"delete_todo", `{"todo_id":"todo_1","confirmation":true}`},
	} {
		result := s.result(call.tool, call.arguments)
		if result.IsError {
			t.Errorf("%s %s: %v", call.tool, call.arguments, result.Content)
			continue
		}
		schema := schemas[call.tool]
		if err := schema.input.Validate(parsed(t, call.arguments)); err != nil {
			t.Errorf("%s %s: the input schema refuses what the tool takes: %v", call.tool, call.arguments, err)
		}
		if err := schema.output.Validate(parsed(t, string(result.RawStructuredContent))); err != nil {
			t.Errorf("%s: structured content: %v", call.tool, err)
		}
		text := result.Content[0].(mcp.TextContent).Text
		if diff := cmp.Diff(parsed(t, text), parsed(t, string(result.RawStructuredContent))); diff != "" {
			t.Errorf("%s: text and structured content differ (-text +structured):\n%s", call.tool, diff)
		}
	}
	if schemas["create_todo"].input.Validate(parsed(t, `{"title":"a","done":true}`)) == nil {
		t.Error("the input schema takes an unknown argument")
	}
}

type toolSchemas struct{ input, output *jsonschema.Schema }

// schemas compiles what the tools declare.
func (s session) schemas() map[string]toolSchemas {
	s.t.Helper()
	list, err := s.ListTools(s.t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	schemas := map[string]toolSchemas{}
	for _, tool := range list.Tools {
		schemas[tool.Name] = toolSchemas{
			input:  compiled(s.t, tool.Name+"/input", tool.InputSchema),
			output: compiled(s.t, tool.Name+"/output", tool.OutputSchema),
		}
	}
	return schemas
}

func compiled(t *testing.T, name string, schema any) *jsonschema.Schema {
	t.Helper()
	data, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, parsed(t, string(data))); err != nil {
		t.Fatal(err)
	}
	result, err := compiler.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return value
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	s := local(t)
	list, err := s.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, tool := range list.Tools {
		a := tool.Annotations
		got[tool.Name] = fmt.Sprintf("readOnly=%t destructive=%t idempotent=%t openWorld=%t",
			*a.ReadOnlyHint, *a.DestructiveHint, *a.IdempotentHint, *a.OpenWorldHint)
	}
	want := map[string]string{
		"create_todo": "readOnly=false destructive=false idempotent=false openWorld=false",
		"list_todos":  "readOnly=true destructive=false idempotent=true openWorld=false",
		"update_todo": "readOnly=false destructive=false idempotent=true openWorld=false",
		"delete_todo": "readOnly=false destructive=true idempotent=true openWorld=false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if s.GetServerCapabilities().Tools.ListChanged {
		t.Error("the server promises to announce changed tools, which never change")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 501)
	tests := []struct{ name, tool, arguments, want string }{
		{"no title", "create_todo", `{}`, `title is required`},
		{"null title", "create_todo", `{"title":null}`, `title is required`},
		{"blank title", "create_todo", `{"title":" \n\t"}`, `title must not be empty`},
		{"long title", "create_todo", `{"title":"` + long + `"}`, `title has 501 characters, at most 500 are allowed`},
		{"long description", "create_todo", `{"title":"a","description":"` + strings.Repeat("ä", 5001) + `"}`, `description has 5001 characters, at most 5000 are allowed`},
		{"number for a title", "create_todo", `{"title":7}`, `title must be a string`},
		{"not an object", "create_todo", `["a"]`, `the arguments must be a JSON object`},
		{"due in words", "create_todo", `{"title":"a","due_date":"tomorrow"}`, `due_date "tomorrow" is not ISO 8601; write 2026-11-22 or 2026-11-22T15:00:00`},
		{"no such day", "create_todo", `{"title":"a","due_date":"2026-02-29"}`, `due_date "2026-02-29" is not ISO 8601; write 2026-11-22 or 2026-11-22T15:00:00`},
		{"long due date", "create_todo", `{"title":"a","due_date":"` + long + `"}`, `due_date "` + strings.Repeat("ä", 60) + `…" is not ISO 8601; write 2026-11-22 or 2026-11-22T15:00:00`},
		{"priority", "create_todo", `{"title":"a","priority":"urgent"}`, `priority must be one of low, medium, high, not "urgent"`},
		{"tags as text", "create_todo", `{"title":"a","tags":"work"}`, `tags must be a list of strings, for example ["work"]`},
		{"number for a tag", "create_todo", `{"title":"a","tags":["b",1]}`, `tags must be a list of strings, for example ["work"]`},
		{"long tag", "create_todo", `{"title":"a","tags":["` + strings.Repeat("b", 51) + `"]}`, `tag "` + strings.Repeat("b", 51) + `" is longer than 50 characters`},
		{"many tags", "create_todo", `{"title":"a","tags":` + numbered(21) + `}`, `there are 21 tags, at most 20 are allowed`},
		{"unknown argument", "create_todo", `{"title":"a","status":"completed"}`, `unknown argument "status", create_todo takes title, description, due_date, priority, tags`},
		{"all at once", "create_todo", `{"title":"","priority":"","due":"x"}`, `unknown argument "due", create_todo takes title, description, due_date, priority, tags; ` +
			`title must not be empty; priority must be one of low, medium, high, not ""`},

		{"filter", "list_todos", `{"due_date_filter":"next_week"}`, `due_date_filter "next_week" is not a filter; write today, tomorrow, this_week, overdue or a day such as 2026-11-22`},
		{"status", "list_todos", `{"status":"done"}`, `status must be one of pending, completed, all, not "done"`},
		{"limit too small", "list_todos", `{"limit":0}`, `limit must be a whole number from 1 to 200`},
		{"limit too great", "list_todos", `{"limit":1e300}`, `limit must be a whole number from 1 to 200`},
		{"limit not whole", "list_todos", `{"limit":1.5}`, `limit must be a whole number from 1 to 200`},
		{"limit as text", "list_todos", `{"limit":"5"}`, `limit must be a whole number`},

		{"no id", "update_todo", `{"title":"a"}`, `todo_id is required`},
		{"nothing to change", "update_todo", `{"todo_id":"todo_1"}`, `nothing to change: give at least one of title, description, due_date, priority, status, tags`},
		{"update unknown", "update_todo", `{"todo_id":"todo_9","title":"a"}`, `no todo has the id "todo_9"; find the right one with list_todos`},
		{"status all", "update_todo", `{"todo_id":"todo_1","status":"all"}`, `status must be one of pending, completed, not "all"`},

		{"delete unknown", "delete_todo", `{"todo_id":"todo_9","confirmation":true}`, `no todo has the id "todo_9"; find the right one with list_todos`},
		{"not confirmed", "delete_todo", `{"todo_id":"todo_1","confirmation":false}`, `nothing was deleted: make sure that the user wants it, then call delete_todo again with confirmation set to true`},
		{"confirmation left out", "delete_todo", `{"todo_id":"todo_1"}`, `confirmation is required; ` +
			`nothing was deleted: make sure that the user wants it, then call delete_todo again with confirmation set to true`},
		{"confirmation as text", "delete_todo", `{"todo_id":"todo_1","confirmation":"true"}`, `confirmation must be true or false; ` +
			`nothing was deleted: make sure that the user wants it, then call delete_todo again with confirmation set to true`},
	}
	s := local(t)
	before := s.must("create_todo", `{"title":"stays as it is"}`)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, isError := s.call(test.tool, test.arguments)
			if diff := cmp.Diff(test.want, got); diff != "" || !isError {
				t.Errorf("isError = %t, text (-want +got):\n%s", isError, diff)
			}
		})
	}
	want := `{"todos":[` + before + `],"count":1,"more":false}`
	if diff := cmp.Diff(want, s.must("list_todos", `{"status":"all"}`)); diff != "" {
		t.Errorf("the list after all refusals (-want +got):\n%s", diff)
	}
}

// numbered returns a JSON list of n different strings.
func numbered(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("tag", i)
	}
	data, _ := json.Marshal(list)
	return string(data)
}

func TestLongestTodoFits(t *testing.T) {
	t.Parallel()
	s := local(t)
	title, description := strings.Repeat("😀", 500), strings.Repeat("\x00", 5000)
	arguments, err := json.Marshal(map[string]any{"title": " " + title + " ", "description": description, "tags": json.RawMessage(numbered(20))})
	if err != nil {
		t.Fatal(err)
	}
	var got item
	if err := json.NewDecoder(bytes.NewBufferString(s.must("create_todo", string(arguments)))).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Title != title || got.Description != description || len(got.Tags) != 20 {
		t.Errorf("got %d, %d bytes and %d tags, want %d, %d and 20", len(got.Title), len(got.Description), len(got.Tags), len(title), len(description))
	}
}

func TestUpdateChangesOnlyWhatIsGiven(t *testing.T) {
	t.Parallel()
	s := local(t)
	s.must("create_todo", `{"title":"a","description":"b","due_date":"2026-11-26T15:00:00+02:00","priority":"low","tags":["c"]}`)
	full := `{"id":"todo_1","title":"%s","description":"%s","status":"%s","priority":"%s","due_date":"%s","tags":["%s"],"created_at":"2026-11-25T09:00:00Z"%s}`
	done := `,"completed_at":"2026-11-25T09:00:00Z"`
	for _, step := range []struct {
		arguments string
		want      []any
	}{
		{`{"todo_id":"todo_1","title":"A"}`, []any{"A", "b", "pending", "low", "2026-11-26T15:00:00+02:00", "c", ""}},
		{`{"todo_id":"todo_1","description":"B","title":null}`, []any{"A", "B", "pending", "low", "2026-11-26T15:00:00+02:00", "c", ""}},
		{`{"todo_id":"todo_1","status":"completed"}`, []any{"A", "B", "completed", "low", "2026-11-26T15:00:00+02:00", "c", done}},
		{`{"todo_id":"todo_1","due_date":"2026-12-01"}`, []any{"A", "B", "completed", "low", "2026-12-01", "c", done}},
		{`{"todo_id":"todo_1","status":"pending","priority":"high"}`, []any{"A", "B", "pending", "high", "2026-12-01", "c", ""}},
		{`{"todo_id":"todo_1","tags":["D"]}`, []any{"A", "B", "pending", "high", "2026-12-01", "d", ""}},
	} {
		want := fmt.Sprintf(full, step.want...)
		for range 2 { // the second time nothing changes
			if diff := cmp.Diff(want, s.must("update_todo", step.arguments)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.arguments, diff)
			}
		}
	}
}
