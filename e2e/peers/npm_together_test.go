package peers

import (
	"path/filepath"
	"testing"
)

// Five servers at once. The simulator judges all declarations as the real API does,
// which the other tests leave out; tools of one name get their server's in front.
func TestServersTogether(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	servers := map[string]any{
		"everything": everything("stdio").child(t),
		"fast":       fastmcp().child(t),
		"v2":         protocol(server2026().child(t), "auto"),
		"files":      filesystem(dir).child(t),
		"memory":     memory(filepath.Join(dir, "graph.jsonl")).child(t),
	}
	c := callStrictly(t, servers, []try{
		{`everything_echo {"message":"a"}`, completed, "Echo: a"},
		{`fast_echo {"message":"b"}`, completed, "fastmcp says b"},
		{`v2_echo {"message":"c"}`, completed, "server2026 says c"},
		{`v2_add {"a":1}`, completed, `"sum":2`},
		{`list_directory {"path":"` + dir + `"}`, completed, "a.txt"},
		{`read_graph {}`, completed, "entities"},
		{`echo {"message":"d"}`, failed, "no tool"},
	})
	seen := map[string]int{}
	for _, tool := range c.gateway.tools(t) {
		seen[tool.Name]++
		if seen[tool.Name] > 1 {
			t.Errorf("there are %d tools %s", seen[tool.Name], tool.Name)
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d tools: %v", len(seen), seen)
	}
}
