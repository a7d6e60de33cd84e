package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/e2e/process"
)

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code = regexp.MustCompile("`[^`]*`")
	// use is how a document begins, behind its title: with what its reader can do after it.
	use = regexp.MustCompile(`\A# [^\n]+\n\n(?:After (?:reading )?this page|With this page) `)
)

// documents returns the texts of the README and of all documents, by their paths.
func documents(t *testing.T) map[string]string {
	t.Helper()
	process.Needed(t) // links are no links on Windows
	all := map[string]string{}
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/adr/*.md", "examples/*/README.md", "examples/README.md", "deploy/README.md", "internal/clients/*/README.md"} {
		files, err := filepath.Glob(filepath.Join(process.Tree, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.Clean(file)] = string(text)
		}
	}
	return all
}

// anchors returns the names of the headings of a text, as GitHub makes them.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if title := strings.TrimLeft(line, "#"); !fenced && title != line {
			names[anchor(strings.TrimSpace(title))] = true
		}
	}
	return names
}

func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 0x7f:
			return r
		}
		return -1
	}, strings.ToLower(title))
}

// Links within the repository lead to a file, and to a heading of it.
func TestLinks(t *testing.T) {
	t.Parallel()
	all := documents(t)
	checked := 0
	for file, text := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			path, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, ":") {
				continue // an address
			}
			checked++
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", file, m[1], err)
			} else if text, ok := all[target]; ok && fragment != "" && !anchors(text)[fragment] {
				t.Errorf("%s: %s: there is no such heading", file, m[1])
			}
		}
	}
	if checked < 400 {
		t.Errorf("checked %d links: are they still read?", checked)
	}
}

// A document begins with what its reader can do after it, and the README is short.
func TestPagesBeginWithTheirUse(t *testing.T) {
	t.Parallel()
	for file, text := range documents(t) {
		if filepath.Base(filepath.Dir(file)) == "docs" && !use.MatchString(text) {
			t.Errorf("%s: does not begin with what its reader can do after it", file)
		}
		if file == filepath.Join(process.Tree, "README.md") && strings.Count(text, "\n") > 150 {
			t.Errorf("%s has more than 150 lines", file)
		}
	}
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	got := anchors("# A `b_c` & d's\n```sh\n# no heading\n```\n## Keys, in three minutes\n")
	if !got["a-b_c--ds"] || !got["keys-in-three-minutes"] || len(got) != 2 {
		t.Errorf("got %v", got)
	}
}
