package peers

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// folder makes a folder with something in it to be read.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	pixel, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"a.txt": []byte("one\ntwo\n"), "long.txt": []byte(strings.Repeat("x", 100_000)), "pixel.png": pixel} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// server-filesystem reads, writes, and refuses what lies outside its folder; the
// path of the machine is no business of the model's.
func TestFilesystem(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	c := callAll(t, filesystem(dir).child(t), []try{
		{`list_allowed_directories {}`, completed, dir},
		{`list_directory {"path":"` + dir + `"}`, completed, "[FILE] a.txt"},
		{`read_text_file {"path":"` + in("a.txt") + `","head":1}`, completed, "one"},
		{`read_text_file {"path":"` + in("long.txt") + `"}`, completed, "xxx"},
		{`read_media_file {"path":"` + in("pixel.png") + `"}`, completed, "[image/png, "},
		{`read_text_file {"path":"/etc/passwd"}`, failed, "denied"},
		{`read_text_file {"path":"` + in("none.txt") + `"}`, failed, "ENOENT"},
		{`read_multiple_files {"paths":"a.txt"}`, failed, "paths"},
		{`write_file {"path":"` + in("b.txt") + `","content":"Grüße"}`, completed, "Successfully wrote"},
		{`create_directory {"path":"` + in("sub") + `"}`, completed, "Successfully created"},
		{`edit_file {"path":"` + in("a.txt") + `","edits":[{"oldText":"two","newText":"three"}]}`, completed, "+three"},
		{`directory_tree {"path":"` + dir + `"}`, completed, `"name": "a.txt"`},
	})
	for _, i := range []int{5, 6} {
		if got := c.reported[i] + c.ends[i].raw; strings.Contains(c.reported[i], dir) || strings.Contains(c.ends[i].Error, "/") {
			t.Errorf("the error names a path: %s", got)
		}
	}
	written, err := os.ReadFile(in("b.txt"))
	if err != nil || string(written) != "Grüße" {
		t.Errorf("b.txt holds %q, %v", written, err)
	}
}

// Which of its tools only read is what a client's policy stands on. A deny list
// makes a server of those alone.
func TestFilesystemReadOnly(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	entry := filesystem(dir).child(t)
	entry["deny"] = []string{"move_file", "read_file"}
	c := callAll(t, entry, []try{
		{`move_file {"source":"` + dir + `/a.txt","destination":"` + dir + `/c.txt"}`, failed, "no tool"},
		{`get_file_info {"path":"` + dir + `/a.txt"}`, completed, "isFile: true"},
	})
	type hints struct{ ReadOnly, Destructive, Idempotent any }
	reads, got := hints{true, true, false}, map[string]hints{} // destructive counts only if it is not read-only
	for _, tool := range c.gateway.tools(t) {
		got[tool.Name] = hints{tool.Annotations["readOnlyHint"], tool.Annotations["destructiveHint"], tool.Annotations["idempotentHint"]}
	}
	if diff := cmp.Diff(map[string]hints{
		"create_directory": {false, false, true}, "edit_file": {false, true, false}, "write_file": {false, true, true},
		"directory_tree": reads, "get_file_info": reads, "list_allowed_directories": reads, "list_directory": reads,
		"list_directory_with_sizes": reads, "read_media_file": reads, "read_multiple_files": reads, "read_text_file": reads,
		"search_files": reads,
	}, got); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// server-memory keeps a graph in a file. Its tools take and return structures.
func TestMemory(t *testing.T) {
	t.Parallel()
	c := callAll(t, memory(filepath.Join(t.TempDir(), "graph.jsonl")).child(t), []try{
		{`create_entities {"entities":[{"name":"Ada","entityType":"person","observations":["writes <programs>"]}]}`, completed, "Ada"},
		{`create_entities {"entities":[{"name":"Bob"}]}`, failed, "entityType"},
		{`delete_relations {}`, failed, "relations"},
		{`add_observations {"observations":[{"entityName":"Nobody","contents":["x"]}]}`, failed, "Nobody"},
		{`list_everything {}`, failed, "no tool"},
	})
	if got := len(c.gateway.names(t, "peer")); got != 9 {
		t.Errorf("%d tools, want 9", got)
	}
}
