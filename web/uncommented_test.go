package web_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/web"
)

// A browser gets a script line by line, without its comments and types, and Node can read it;
// libraries are as their authors wrote them.
func TestScriptsComeWithoutComments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	types := regexp.MustCompile(`/\*\* @type \{[^*]*\} \*/ ?`)
	noText := regexp.MustCompile(`'(?:[^'\\]|\\.)*'|/(?:[^/\\ ]|\\.)(?:[^/\\]|\\.)*/`) // strings, and expressions with a mark in them
	for _, name := range append(scripts(t), "vendor/marked.js", "vendor/katex.js") {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := file(t, name)
		if strings.HasPrefix(name, "vendor/") {
			if got != string(source) {
				t.Errorf("%s is not as its authors wrote it", name)
			}
			continue
		}
		want, have := strings.Split(string(source), "\n"), strings.Split(got, "\n")
		if len(want) != len(have) {
			t.Errorf("%s has %d lines, want %d", name, len(have), len(want))
			continue
		}
		ticks := 0
		for i, line := range want {
			if bare := types.ReplaceAllString(line, ""); strings.TrimSpace(bare) != "" {
				line = bare
			}
			if have[i] == line {
				ticks += strings.Count(noText.ReplaceAllString(line, ""), "`")
				continue
			}
			before := strings.TrimSpace(line)
			if have[i] != "" || !strings.HasPrefix(before, "/") && !strings.HasPrefix(before, "*") && !strings.HasSuffix(before, "*/") {
				t.Errorf("%s:%d: %q in the place of %q", name, i+1, have[i], line)
			}
			if ticks%2 != 0 {
				t.Errorf("%s:%d: %q is text and no comment", name, i+1, line)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(strings.TrimSuffix(name, ".js"), "/", ".")+".mjs"), []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is missing: whether the scripts can be read is not looked at")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.mjs"))
	for _, f := range files { // one at a time: Node checks one file
		if out, err := exec.CommandContext(t.Context(), node, "--check", f).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if _, err := fs.ReadFile(web.Files(), "none.js"); err == nil {
		t.Error("a script is there that is not")
	}
}
