package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sluice/e2e/process"
)

const (
	// patience bounds every wait for something that must come. A browser takes its
	// time on a busy machine.
	patience = 3 * time.Minute
	// root is the repository, seen from this folder.
	root = "../.."
	// modules is where the packages from npm are.
	modules = "npm/node_modules"
)

// programs builds what the tests start, each when the first test asks for it.
type programs struct{ gateway, goclient func() (string, error) }

// built is set by TestMain, before the first test.
var built *programs

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sluice-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = &programs{
		gateway:  build(dir, "cmd/sluice"),
		goclient: build(dir, "examples/goclient"),
	}
	return m.Run()
}

// build returns a function that builds a program of the repository and returns its
// path.
func build(dir, pkg string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		if err := process.LookAtSources(); err != nil {
			return "", err
		}
		path := filepath.Join(dir, filepath.Base(pkg))
		cmd := exec.Command("go", "build", "-o", path, "./"+pkg)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
		}
		return path, nil
	})
}

func program(t testing.TB, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// missing ends a test for want of a program: it is skipped, or with
// SLUICE_REQUIRE_PEERS=1 it fails.
func missing(t testing.TB, what string) {
	t.Helper()
	text := what + " is missing: scripts/browser-install.sh installs it"
	if os.Getenv("SLUICE_REQUIRE_PEERS") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// installed returns the path of a program.
func installed(t testing.TB, names ...string) string {
	t.Helper()
	process.Needed(t)
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, names[0])
	return ""
}

// chromium returns the browser. A test begins with it that drives one, so that it is
// skipped before anything is built.
func chromium(t testing.TB) string {
	t.Helper()
	node(t)
	return installed(t, "chromium", "chromium-browser", "google-chrome")
}

// node returns Node with the packages from npm next to it.
func node(t testing.TB) string {
	t.Helper()
	path := installed(t, "node")
	if _, err := os.Stat(modules); err != nil {
		missing(t, modules)
	}
	return path
}

// drive runs a program of npm/ and gives it a job as JSON. The program reports as
// lines of JSON, each an R.
func drive[R any](t testing.TB, program string, job any) (reports []R) {
	t.Helper()
	in, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(t, bytes.NewReader(in), nil, node(t), filepath.Join("npm", program))
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out.stderr)
	}
	for line := range bytes.Lines([]byte(out.stdout)) {
		var r R
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v: %s", program, err, line)
		}
		reports = append(reports, r)
	}
	return reports
}

// output is what a program has written.
type output struct{ stdout, stderr string }

// run runs a program to its end.
func run(t testing.TB, stdin *bytes.Reader, env []string, name string, args ...string) (output, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = diesWithUs()
	cmd.WaitDelay = time.Second // a browser that is left over may hold the pipes
	err := cmd.Run()
	return output{stdout.String(), stderr.String()}, err
}
