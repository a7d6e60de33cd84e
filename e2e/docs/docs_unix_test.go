//go:build unix

package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/e2e/process"
)

func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); os.Getenv("DOCS_SOCKET") != "" && (name == "sluice" || name == "go") {
		os.Exit(standIn(name, os.Args[1:]))
	}
	os.Exit(process.Main(m))
}

// pages returns the README and all documents, by their paths in the repository.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(process.Tree, "docs", "*.md"))
	if err != nil || len(found) < 20 {
		t.Fatalf("%d pages, %v", len(found), err)
	}
	names := []string{"README.md"}
	for _, path := range found {
		names = append(names, "docs/"+filepath.Base(path))
	}
	return names
}

func readPage(t *testing.T, name string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(process.Tree, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	found, faults := blocks(string(text))
	for _, fault := range faults {
		t.Error(fault)
	}
	return found
}

// What a reader copies from a page works, and prints what the page shows.
func TestPages(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	for _, name := range pages(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runPage(t, readPage(t, name))
		})
	}
}

// runPage runs the blocks of a page in order, in one terminal.
func runPage(t *testing.T, page []block) {
	t.Helper()
	page = slices.DeleteFunc(page, func(b block) bool {
		return !slices.Contains([]string{"sh", "console", "yaml", "json"}, b.lang) && b.marks["file"] == ""
	})
	if len(page) == 0 {
		return
	}
	findProgram(t, "bash")
	findProgram(t, "curl")
	term := newTerminal(t)
	free := map[string]string{"8080": freePort(t)}
	for _, port := range ports(page) {
		if free[port] == "" {
			free[port] = freePort(t)
		}
	}
	term.env = append(term.env, "SLUICE_ADDR=127.0.0.1:"+free["8080"])
	for _, b := range page {
		b.text = withPorts(b.text, free)
		t.Run(b.name(), func(t *testing.T) { runBlock(t, term, b) })
	}
}

// nowhere is what no machine of a test has, what a test does not wait for, and programs that would
// change the machine or stay in the foreground.
var nowhere = []string{"docker", "key", "network", "minutes", "release", "brew", "cluster", "fastmcp", "llm"}

// installed are the programs that pages may need, each with the script that installs it.
var installed = map[string]string{"nginx": "scripts/balancers-install.sh", "redis-server": "scripts/redis-install.sh", "openssl": "", "bash": "", "curl": ""}

// findProgram ends the test, visibly, if there is no such program.
func findProgram(t *testing.T, name string) {
	t.Helper()
	script, known := installed[name]
	if !known {
		t.Fatalf("needs: %s, of which nobody knows whether it may be run", name)
	}
	for _, path := range []string{name, "/usr/sbin/" + name} {
		if _, err := exec.LookPath(path); err == nil {
			return
		}
	}
	if script != "" {
		process.Missing(t, name, script)
	}
	t.Skipf("needs: %s", name)
}

func runBlock(t *testing.T, term *terminal, b block) {
	t.Helper()
	for need := range strings.FieldsFuncSeq(b.marks["needs"], func(r rune) bool { return r == ',' || r == ' ' }) {
		if slices.Contains(nowhere, need) {
			t.Skipf("needs: %s", need)
		}
		findProgram(t, need)
	}
	if file := b.marks["file"]; file != "" {
		if err := os.WriteFile(filepath.Join(term.dir, file), []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case b.marks["for"] != "":
	case b.lang == "sh", b.lang == "console":
		runCommands(t, term, b)
	case b.lang == "yaml", isConfiguration(b):
		checkConfiguration(t, term.dir, b.text)
	case b.lang == "json":
		if err := areValues(b.text); err != nil {
			t.Error(err)
		}
	}
}

// runCommands runs the commands of a block, until they are as the page says.
func runCommands(t *testing.T, term *terminal, b block) {
	t.Helper()
	want, _ := strconv.Atoi(b.marks["fails"])
	tries, _ := strconv.Atoi(b.marks["tries"])
	all := []command{{text: b.text}}
	if b.lang == "console" {
		all = commands(b.text)
	}
	if len(all) == 0 {
		t.Error("no line begins with a prompt")
	}
	for _, c := range all {
		err := c.run(t.Context(), term, want)
		for n := 1; err != nil && n < tries; n++ {
			t.Logf("try %d: %v", n, err)
			err = c.run(t.Context(), term, want)
		}
		if err != nil {
			t.Fatalf("%s\n%v", c.text, err)
		}
	}
}

// refusedByCurl is the exit code of curl for a status from 400 on.
const refusedByCurl = 22

// run runs a command, and compares its end and its output with what the page says.
func (c command) run(ctx context.Context, term *terminal, want int) error {
	output, code, err := term.run(ctx, c.text)
	if code == refusedByCurl && want == 0 && strings.Contains(c.text, "%{http_code}") && regexp.MustCompile(`^[45]\d\d\s*$`).MatchString(c.output) {
		code = 0 // the page shows the status, which is compared below
	}
	if err != nil || code != want {
		return fmt.Errorf("exit code %d, want %d, %v\n%s", code, want, err, output)
	}
	return hasShape(c.output, output)
}

// isConfiguration says whether JSON is a file of configuration.
func isConfiguration(b block) bool { return strings.HasPrefix(b.text, `{"mcpServers"`) }

// needed is a variable that a file of configuration must find.
var needed = regexp.MustCompile(`\$\{([A-Z0-9_]+)\}`)

// secret is one that every setting takes.
const secret = "whsec_bm90LWEtc2VjcmV0LW9mLWFueWJvZHktYXQtYWxs"

// checkConfiguration checks a file as a reader would, in the folder of the page and with what it
// names of the environment.
func checkConfiguration(t *testing.T, dir, text string) {
	t.Helper()
	file := filepath.Join(dir, "checked.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(process.Program(t), "config", "check", file)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "SLUICE_STORE=memory"}
	for _, m := range needed.FindAllStringSubmatch(text, -1) {
		cmd.Env = append(cmd.Env, m[1]+"="+secret)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, bytes.ReplaceAll(out, []byte(file), []byte("the file")))
	}
}

// areValues checks that a text is JSON, one value or one a line.
func areValues(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) && n > 0 {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// The README's command that runs all tests is the one that the gate runs.
func TestCommandOfAllTests(t *testing.T) {
	t.Parallel()
	const all = "go test ./... && go -C e2e test ./..."
	gate, err := os.ReadFile(filepath.Join(process.Tree, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	inREADME := slices.ContainsFunc(readPage(t, "README.md"), func(b block) bool { return b.lang == "sh" && strings.Contains(b.text, all+"\n") })
	if !inREADME || !strings.Contains(string(gate), all) {
		t.Errorf("the README or the gate does not run %q", all)
	}
}
