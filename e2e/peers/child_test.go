package peers

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// A child sees what programs need of the environment, and nothing of ours. 100
// calls at once share its one pair of pipes.
func TestChild(t *testing.T) {
	t.Parallel()
	env := mcpConfig(t, map[string]any{"quirks": map[string]any{
		"command": python(t, "python"), "args": []string{installed(t, quirksServer)},
		"env": quiet("QUIRKS_JOURNAL", string(newJournal(t)), "NOTES_TOKEN", "${CANARY_TOKEN}"),
	}})
	scripts := echoes(manyTurns)
	scripts["turn-environment"] = called(`environment {}`, "NOTES_TOKEN")
	maps.Copy(env, byMarker(t, scripts).env(
		"GOOGLE_API_KEY", "canary-google", "AWS_SECRET_ACCESS_KEY", "canary-aws", "CANARY_TOKEN", "canary-token"))
	g := startGateway(t, env)
	g.awaitLog(t, "mcp_connected")
	checkEnvironment(t, g.ask(t, "turn-environment"))
	echoInParallel(t, g)
	if strings.Contains(g.out.String(), "canary-") {
		t.Error("a secret is in the log")
	}
}

// checkEnvironment looks at what the tool environment has answered.
func checkEnvironment(t *testing.T, tu turn) {
	t.Helper()
	ended := tu.calls("completed")
	if len(ended) != 1 {
		t.Fatalf("want one call completed:\n%v", tu)
	}
	seen := strings.FieldsFunc(ended[0].Result, func(r rune) bool { return strings.ContainsRune("[]\", \n", r) })
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
}
