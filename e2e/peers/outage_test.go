package peers

import (
	"strings"
	"syscall"
	"testing"
)

// When PostgreSQL becomes unavailable the tool says so, without a word of the database to
// anybody; when it is back, so are the todos. The MCP server is sound meanwhile.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	startCluster(t, c)
	server := startFastMCP(t, todoServer, map[string]string{"DATABASE_URL": c.url("postgres")})
	g := startGateway(t, offline(t).env("MCP_SERVER_URL", server.url, "SLUICE_TOOL_TIMEOUT", "1m", "SLUICE_REQUEST_TIMEOUT", "2m"))
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
