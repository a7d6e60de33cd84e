package toolcache_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/sim/todo"
)

// todosOver returns what configures a todo server that several gateways share, with more
// keys.
func todosOver(t *testing.T, keys map[string]any) string {
	t.Helper()
	store, err := todo.Open(t.Context(), todo.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	keys["url"] = gatewaytest.ServeHandler(t, todo.Handler(todo.NewServer(store, "test")))
	return gatewaytest.MCPConfig(t, map[string]any{"todos": keys})
}

// callsOf runs a turn of a user and returns its completed calls, with a star if the result was
// kept, and what they said. The ids of the calls are those of two, in any case.
func callsOf(t *testing.T, r *gatewaytest.Running, user string) (calls []string, said string) {
	t.Helper()
	body := `{"input":"go"}`
	if user != "" {
		body = fmt.Sprintf(`{"input":"go","user_id":%q}`, user)
	}
	s, err := r.Post(t.Context(), body)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, f := range gatewaytest.Only(s.All(t), "tool_call") {
		switch f.Str("status") {
		case "in_progress":
			if ids[f.Str("call_id")] {
				t.Errorf("call_id %s again", f.Str("call_id"))
			}
			ids[f.Str("call_id")] = true
		case "completed":
			star := ""
			if f.Data["cached"] == true {
				star = "*"
			}
			calls = append(calls, f.Str("tool_name")+star)
			said += f.Str("result")
		}
	}
	return calls, said
}

// What one gateway has read for a user, the other need not read again, until something is
// changed. Each user has a list.
func TestToolCacheOfTwoGateways(t *testing.T) {
	t.Parallel()
	store := "SLUICE_STORE=" + wholetest.StartRedis(t)
	config := todosOver(t, map[string]any{"cache": map[string]any{"list_todos": "5m", "create_todo": "5m"}, "identity": true})
	const end = "finish STOP\n---\ntext Over.\nfinish STOP"
	list, both := "call list_todos {}\n", "call list_todos {}\nfinish STOP\n---\ncall create_todo {\"title\":\"milk\"}\nfinish STOP\n---\ncall list_todos {}\n"
	api := gatewaytest.Scripted(t, strings.Join([]string{
		list + end, list + end, list + end, both + end, list + end, list + list + end, list + end,
	}, "\n---\n"))
	name, value, _ := strings.Cut(store, "=")
	gateway := func() *gatewaytest.Running {
		r := wholetest.Listen(t, api.Env("MCP_CONFIG", config, name, value))
		r.Log.Await(t, "mcp_connected", r.Ended)
		return r
	}
	one, two := gateway(), gateway()
	for i, tt := range []struct {
		at    *gatewaytest.Running
		user  string
		calls []string
		milk  bool
	}{
		{one, "ann", []string{"list_todos"}, false},
		{two, "ann", []string{"list_todos*"}, false},
		{two, "bob", []string{"list_todos"}, false},
		{two, "ann", []string{"list_todos*", "create_todo", "list_todos"}, true},
		{one, "ann", []string{"list_todos*"}, true},
		{one, "", []string{"list_todos", "list_todos"}, false},
		{one, "bob", []string{"list_todos"}, false},
	} {
		calls, said := callsOf(t, tt.at, tt.user)
		if !slices.Equal(calls, tt.calls) || strings.Contains(said, "milk") != tt.milk {
			t.Errorf("turn %d: calls %q, which said %s", i, calls, said)
		}
	}
	if got := wholetest.MetricLines(one, "sluice_tool_cache_total"); !slices.Equal(got, []string{
		`sluice_tool_cache_total{outcome="hit",server="todos"} 1`,
		`sluice_tool_cache_total{outcome="miss",server="todos"} 2`,
	}) {
		t.Errorf("metrics %q", got)
	}
	one.Log.Await(t, "tool_cache_refused", one.Ended, "tool_name", "create_todo")
}

// Without a store a gateway keeps results for itself.
func TestToolCacheWithoutAStore(t *testing.T) {
	t.Parallel()
	config := todosOver(t, map[string]any{"cache": map[string]any{"list_todos": "5m"}, "cache_shared": true})
	api := gatewaytest.Scripted(t, strings.Repeat("call list_todos {}\nfinish STOP\n---\ntext Over.\nfinish STOP\n---\n", 3))
	r := wholetest.Listen(t, api.Env("MCP_CONFIG", config))
	r.Log.Await(t, "mcp_connected", r.Ended)
	first, _ := callsOf(t, r, "")
	second, _ := callsOf(t, r, "ann")
	if !slices.Equal(append(first, second...), []string{"list_todos", "list_todos*"}) {
		t.Errorf("calls %q, then %q", first, second)
	}
}
