package peers

import (
	"strings"
	"testing"
)

// frameworkTries is what the two servers of our own, on two frameworks, have in
// common. A JSON-RPC error and a result that is an error come to the same.
func frameworkTries(says string) []try {
	return []try{
		{`echo {"message":"Grüße"}`, completed, says + " says Grüße"},
		{`add {"a":2}`, completed, `"sum":3`},
		{`picture`, completed, "One pixel:\n[image/png, "},
		{`long {"length":100000}`, completed, "ää"},
		{`slow {"ms":200}`, completed, "done slowly"},
		{`refuse`, failed, "This is not allowed"},
		{`crash {}`, failed, "a bug in the tool"},
		{`echo {"message":""}`, failed, "message"},
	}
}

// The TypeScript framework fastmcp, over stdio, and over HTTP with and without
// sessions. Its slow tool reports progress and logs, and sends notifications that
// no specification knows.
func TestFastMCPTypeScript(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]nodeServer{
		"stdio": fastmcp(), "HTTP with sessions": fastmcp("http"), "stateless HTTP": fastmcp("stateless"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry, _ := entryOf(t, server)
			tries := append(frameworkTries("fastmcp"), try{`about {}`, completed, "a server for tests"})
			wantFrameworkTurn(t, callAll(t, entry, tries))
		})
	}
}

// wantFrameworkTurn checks what frameworkTries brought besides the texts.
func wantFrameworkTurn(t *testing.T, c conversation) {
	t.Helper()
	const shown, given = 2 << 10, 32 << 10
	if long := c.ends[3]; !long.Truncated || len(long.Result) > shown {
		t.Errorf("the client is shown %d bytes of the long text, truncated: %v", len(long.Result), long.Truncated)
	}
	if n := strings.Count(c.reported[3], "ä"); n < given/2-200 || n > given/2 || strings.Contains(c.reported[3], "\uFFFD") {
		t.Errorf("the model is given %d characters of the long text", n)
	}
	for _, tool := range c.gateway.tools(t) {
		want := tool.Name != "slow" && tool.Name != "refuse" && tool.Name != "crash" && tool.Name != "exit" &&
			tool.Name != "ask" && tool.Name != "grow"
		if tool.Annotations["readOnlyHint"] != want {
			t.Errorf("%s has annotations %v", tool.Name, tool.Annotations)
		}
	}
}

// A tool that ends its own process: nobody knows how far it came.
func TestToolThatEndsItsServer(t *testing.T) {
	t.Parallel()
	c := callAll(t, fastmcp().child(t), []try{{`exit {}`, "unknown", "lost"}})
	c.gateway.awaitTools(t, "peer")
}
