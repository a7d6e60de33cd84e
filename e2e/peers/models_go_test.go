package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// openai-go and anthropic-sdk-go read what we read, at a multiple of the cost: the tests
// of e2e/judges, which is a module of its own.
func TestModelReadersFromGo(t *testing.T) {
	needPeers(t)
	dir := filepath.Dir(installed(t, "e2e/judges/go.mod"))
	run := func(name string, env []string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("go", []string{"GOPROXY=off"}, "list", "-deps", "-test", "./..."); err != nil {
		t.Logf("%s", out)
		missing(t, "what e2e/judges needs (or its go.mod is not tidy)")
	}
	lookAtRecordings(t)
	out, err := run("go", nil, "test", "-count=1", "-v", "./...")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "times as long") || strings.Contains(line, "--- SKIP") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// lookAtRecordings makes go test see that its result depends on them.
func lookAtRecordings(t *testing.T) {
	t.Helper()
	_ = filepath.WalkDir(recordings, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			_, err = os.Stat(path)
		}
		return err
	})
}
