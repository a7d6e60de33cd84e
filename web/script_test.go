package web_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The scripts themselves are tested by Node's test runner, over a small document
// of our own. Where Node is missing this is skipped; with SLUICE_REQUIRE_PEERS=1
// it fails.
func TestScripts(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("SLUICE_REQUIRE_PEERS") == "1" {
			t.Fatal("node is missing")
		}
		t.Skip("node is missing: the scripts of the page are not tested")
	}
	files, err := filepath.Glob("testdata/*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, error %v", files, err)
	}
	out, err := exec.CommandContext(t.Context(), node, append([]string{"--test"}, files...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
