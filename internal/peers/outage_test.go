package peers

import (
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// When PostgreSQL goes away the tool says so, without a word of the database to
// anybody; when it is back, so are the todos. The MCP server is sound meanwhile.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	startCluster(t, c)
	server := startFastMCP(t, todoServer, map[string]string{"DATABASE_URL": c.url("postgres")})
	g := startGateway(t, map[string]string{"MCP_SERVER_URL": server.url})
	g.awaitLog(t, "mcp_connected")
	add := func(title, status string) turn {
		t.Helper()
		tu := g.ask(t, "Add "+title+" to my list")
		if len(tu.calls(status)) != 1 || !tu.done().Success {
			t.Errorf("want one call %s:\n%v", status, tu)
		}
		return tu
	}
	add("apples", "completed")
	c.process.stop(syscall.SIGINT) // PostgreSQL's fast shutdown

	tu := add("bananas", "failed")
	if errs := tu.of("error"); len(errs) != 1 || errs[0].ErrorType != "tool_execution_failed" || errs[0].Fatal {
		t.Errorf("want one error tool_execution_failed, not fatal:\n%v", tu)
	}
	for _, secret := range []string{c.addr, "psycopg", "INSERT", "sqlalche"} {
		if strings.Contains(tu.String(), secret) {
			t.Errorf("the turn holds %q:\n%v", secret, tu)
		}
	}
	if got := g.breaker(t, "mcp:todo"); got != "closed" {
		t.Errorf("the breaker is %s, want closed: the server has answered", got)
	}

	startCluster(t, c)
	add("cherries", "completed")
	if got, want := psql(t, c.url("postgres"), "select title from todo order by created_at"), "apples\ncherries"; !strings.EqualFold(got, want) {
		t.Errorf("todos %q, want %q", got, want)
	}
}

// startCluster starts a cluster of one test.
func startCluster(t *testing.T, c *cluster) {
	t.Helper()
	err := c.start()
	t.Cleanup(c.kill)
	if err != nil {
		t.Fatal(err)
	}
}

// breaker returns the state of a circuit breaker.
func (g *gateway) breaker(t testing.TB, service string) string {
	t.Helper()
	var reply struct {
		Breakers []struct{ Service, State string }
	}
	g.get(t, "/readyz", &reply)
	for _, b := range reply.Breakers {
		if b.Service == service {
			return b.State
		}
	}
	t.Fatalf("no breaker %s in %+v", service, reply)
	return ""
}

// A child sees what programs need of the environment, and nothing of ours.
func TestChildEnvironment(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	env := mcpConfig(t, map[string]any{"quirks": map[string]any{
		"command": python(t, "python"), "args": []string{installed(t, quirksServer)},
		"env": quiet("QUIRKS_JOURNAL", string(j), "NOTES_TOKEN", "${CANARY_TOKEN}"),
	}})
	maps.Copy(env, scripted(t, called(`environment {}`, "NOTES_TOKEN")).env(
		"GOOGLE_API_KEY", "canary-google", "AWS_SECRET_ACCESS_KEY", "canary-aws", "CANARY_TOKEN", "canary-token"))
	g := startGateway(t, env)
	g.awaitLog(t, "mcp_connected")
	tu := g.ask(t, "What do you see?")
	ended := tu.calls("completed")
	if len(ended) != 1 {
		t.Fatalf("want one call completed:\n%v", tu)
	}
	seen := strings.FieldsFunc(ended[0].Result, func(r rune) bool { return strings.ContainsRune(`[]", `+"\n", r) })
	for _, name := range []string{"PATH", "HOME", "QUIRKS_JOURNAL", "NOTES_TOKEN"} {
		if !slices.Contains(seen, name) {
			t.Errorf("the child does not see %s, but %q", name, seen)
		}
	}
	for _, name := range seen {
		for _, ours := range []string{"GEMINI", "GOOGLE", "SLUICE", "MCP_", "AWS", "CANARY"} {
			if strings.HasPrefix(name, ours) {
				t.Errorf("the child sees %s", name)
			}
		}
	}
	if strings.Contains(g.out.String(), "canary-") {
		t.Error("a secret is in the log")
	}
}
