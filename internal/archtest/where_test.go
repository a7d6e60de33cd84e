package archtest

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// These pages name files with what is declared in them. What they name must exist.
func TestDocsNameWhatExists(t *testing.T) {
	t.Parallel()
	for name, least := range map[string]int{"docs/design.md": 50, "docs/concurrency.md": 50, "docs/reliability.md": 30, "docs/a2a.md": 30, "docs/security.md": 60} {
		text, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		d := &docCheck{declared: map[string][]string{}}
		d.text(string(text))
		for _, fault := range d.faults {
			t.Errorf("%s: %s", name, fault)
		}
		if d.checked < least {
			t.Errorf("%s: found %d references, want %d or more: is its form still read?", name, d.checked, least)
		}
	}
}

func TestDocsThatNameWhatIsNotThere(t *testing.T) {
	t.Parallel()
	tests := []struct{ row, want string }{
		{"| `internal/archtest/where_test.go`: TestDocsNameWhatExists, in Chromium |", ""},
		{"| `handlers/gate.go`: gone |", "handlers/gate.go does not declare gone"},
		{"| `gone_test.go`: TestDocsNameWhatExists |", "there is no gone_test.go"},
		{"| `internal/archtest/where_test.go`: TestGone |", "internal/archtest/where_test.go does not declare TestGone"},
		{"| a; `internal/archtest/where_test.go`: TestDocsNameWhatExists, TestGone; `go.mod` |", "internal/archtest/where_test.go does not declare TestGone"},
		{"| `internal/archtest/floors_test.go`, `internal/archtest/where_test.go`: TestDocsNameWhatExists |", "internal/archtest/floors_test.go does not declare TestDocsNameWhatExists"},
		{"| `testdata/gone.txtar` |", "there is no testdata/gone.txtar"},
		{"not in a table: `gone.go`", ""},
		{"| `max_steps`, `/healthz`, `POST /chat` |", ""},
	}
	for _, tt := range tests {
		d := &docCheck{declared: map[string][]string{}}
		d.text(tt.row)
		if got := strings.Join(d.faults, "\n"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.row, got, tt.want)
		}
	}
}

// docReference matches files in backquotes, and the names that follow them:
//
//	`a/a_test.go`, `b/b_test.go`: TestOne, TestTwo
var docReference = regexp.MustCompile("((?:`[\\w./-]+\\.(?:go|txtar|md|mod)`(?:, )?)+)(: \\w+(?:, \\w+)*)?")

var testNames = regexp.MustCompile(`^(Test|Benchmark|Fuzz)[A-Z]`)

// docCheck checks the references in the tables of a page.
type docCheck struct {
	declared map[string][]string // by file
	checked  int
	faults   []string
}

func (d *docCheck) text(page string) {
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for _, m := range docReference.FindAllStringSubmatch(line, -1) {
			var names []string
			if m[2] != "" {
				names = strings.Split(strings.TrimPrefix(m[2], ": "), ", ")
			}
			for file := range strings.SplitSeq(strings.TrimSuffix(m[1], ", "), ", ") {
				d.reference(strings.Trim(file, "`"), names)
			}
		}
	}
}

func (d *docCheck) reference(file string, names []string) {
	d.checked++
	if _, err := os.Stat(filepath.FromSlash(file)); errors.Is(err, fs.ErrNotExist) {
		d.faults = append(d.faults, "there is no "+file)
		return
	}
	if len(names) > 0 && d.declared[file] == nil {
		d.declared[file] = declarations(file)
	}
	for _, name := range names {
		if strings.HasSuffix(file, "_test.go") && !testNames.MatchString(name) {
			continue // "TestPage, in Chromium"
		}
		d.checked++
		if !slices.Contains(d.declared[file], name) {
			d.faults = append(d.faults, file+" does not declare "+name)
		}
	}
}

// declarations returns the names of what a file declares outside of functions, methods
// among them.
func declarations(file string) (names []string) {
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	for _, decl := range parsed.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			names = append(names, decl.Name.Name)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// TestOperationsPageNamesTheMetrics reads the names where they are registered.
func TestOperationsPageNamesTheMetrics(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	registers := regexp.MustCompile(`\.(?:Counter|CounterFunc|GaugeFunc|GaugesFunc|Histogram|Fractions)\("([a-z_]+)"`)
	found := 0
	for _, file := range goFiles(t, regexp.MustCompile(`_test\.go$|^e2e/`)) {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range registers.FindAllSubmatch(text, -1) {
			found++
			if !strings.Contains(string(page), "sluice_"+string(m[1])) {
				t.Errorf("docs/operations.md does not name sluice_%s (%s)", m[1], file)
			}
		}
	}
	if found < 40 {
		t.Errorf("found %d metrics: are they still recognized?", found)
	}
}

// goFiles returns the Go files of the module, with slashes, that do not match without.
func goFiles(t *testing.T, without *regexp.Regexp) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "node_modules" || name == ".venv" || name == ".git" || name == ".artifacts") {
			return filepath.SkipDir
		}
		if slashed := filepath.ToSlash(path); strings.HasSuffix(path, ".go") && !without.MatchString(slashed) {
			files = append(files, slashed)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The index of the documents names each page once.
func TestIndexNamesEveryPage(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile(filepath.FromSlash("docs/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if n := strings.Count(string(index), "]("+name+")"); n != 1 && name != "README.md" {
			t.Errorf("docs/README.md names %s %d times", name, n)
		}
	}
}
