package archtest

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/concurrency.md")

// The tables of the page are what the comments say above each statement that starts a
// goroutine or a timer, as in
//
//	// Goroutine (keep): renews the lease.
//	// Ends: `Close`.
//	// Waits: `Close`.
//	go s.keep()
//
// so that each has an owner who is known. A marker on the page says whose statements its
// table has: those of a folder with the folders below it, or of a file. The nearest one
// counts. Programs that judge or simulate are left out, and commands, of which the page says
// one sentence. -update rewrites the tables.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	name := filepath.FromSlash("docs/concurrency.md")
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := regexp.MustCompile(`^(cmd|e2e|examples|tools)/|^internal/(clients|sim|base/testnet)/|/(gatewaytest|wholetest|storetest|modeltest)/|_test\.go$`)
	var starts []start
	for _, file := range goFiles(t, elsewhere) {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		found, faults := startsIn(file, text)
		starts = append(starts, found...)
		for _, fault := range faults {
			t.Error(fault)
		}
	}
	if len(starts) < 50 {
		t.Errorf("found %d statements that start something: are they still recognized?", len(starts))
	}
	want, faults := withTables(string(page), starts)
	for _, fault := range faults {
		t.Error(fault)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("docs/concurrency.md (-want +got), which go test ./internal/archtest -run TestConcurrency -update rewrites:\n%s", diff)
	}
}

func TestConcurrencyFindsWhatStarts(t *testing.T) {
	t.Parallel()
	const said = "\n\t// Goroutine (a): works.\n\t// Ends: soon,\n\t// or later.\n\t// Waits: `Close`.\n"
	a := start{"a.go", "f", "a", "works", "soon, or later", "`Close`", false}
	timer := a
	timer.timer = true
	tests := []struct {
		name, body string
		want       []start
		faults     []string
	}{
		{"go", said + "\tgo g()", []start{a}, nil},
		{"a method Go", "\n\t// Why." + said + "\twg.Go(g)", []start{a}, nil},
		{"a group's Run", said + "\tif !u.group.Run(g) {}", []start{a}, nil},
		{"a timer", strings.Replace(said, "Goroutine", "Timer", 1) + "\tdefer time.AfterFunc(d, g).Stop()", []start{timer}, nil},
		{"in a function of the function", "\tx(func() {" + said + "go g() })", []start{a}, nil},
		{"what starts nothing", "\tr.Run(g); context.AfterFunc(ctx, g); d.Goes()", nil, nil},
		{"no comment", "\tgo g()", nil, []string{"a.go:2: starts what no comment above it describes"}},
		{"a line between", said + "\n\tgo g()", nil, []string{"a.go:8: starts what no comment above it describes"}},
		{"nobody who waits", "\n\t// Goroutine (a): works.\n\t// Ends: soon.\n\tgo g()", nil, []string{"a.go:5: starts what no comment above it describes"}},
		{"the other word", said + "\ttime.AfterFunc(d, g)", nil, []string{"a.go:7: starts what no comment above it describes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, faults := startsIn("a.go", []byte("package a\nfunc f() {"+tt.body+"\n}\n"))
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(start{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.faults, faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConcurrencyTables(t *testing.T) {
	t.Parallel()
	marker := func(trees string) string {
		return "<!-- goroutines of " + trees + ": go test ./internal/archtest -run TestConcurrency -update -->\n"
	}
	const end, head = "<!-- end of goroutines -->\n", "| goroutine | started by | work | ends when | waited for by |\n| --- | --- | --- | --- | --- |\n"
	starts := []start{
		{"a/b/b.go", "f", "one", "w1", "e1", "o1", false}, {"a/a.go", "g", "two", "w2", "e2", "o2", true}, {"a/z.go", "h", "three", "w3", "e3", "o3", false},
	}
	page := "x\n" + marker("a/z.go c") + "old\n" + end + "y\n" + marker("a") + end
	got, faults := withTables(page, starts)
	want := "x\n" + marker("a/z.go c") + head + "| three | `a/z.go`: h | w3 | e3 | o3 |\n" + end + "y\n" +
		marker("a") + head + "| two (a timer) | `a/a.go`: g | w2 | e2 | o2 |\n| one | `a/b/b.go`: f | w1 | e1 | o1 |\n" + end
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"docs/concurrency.md: nothing starts in c"}, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if _, faults := withTables(page, append(starts, start{file: "ab/a.go"})); !slices.Contains(faults, "docs/concurrency.md: no table is for ab/a.go") {
		t.Errorf("faults %q do not name ab/a.go", faults)
	}
}

// start is a statement that starts a goroutine or a timer, and what its comment says.
type start struct {
	file, function          string
	name, work, ends, waits string
	timer                   bool
}

// row returns the line of the table.
func (s start) row() string {
	name := s.name
	if s.timer {
		name += " (a timer)"
	}
	return fmt.Sprintf("| %s | `%s`: %s | %s | %s | %s |\n", name, s.file, s.function, s.work, s.ends, s.waits)
}

var startComment = regexp.MustCompile(`(?s)(?:^|\n)(Goroutine|Timer) \(([^)]+)\): (.+)\.\nEnds: (.+)\.\nWaits: (.+)\.\n$`)

// startsIn returns what a file starts, and where it does so without a comment. The comment
// ends on the line before the statement.
func startsIn(file string, text []byte) (starts []start, faults []string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, []string{err.Error()}
	}
	above := map[int]string{}
	for _, g := range f.Comments {
		above[fset.Position(g.End()).Line+1] = g.Text()
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			word := startWord(n)
			if word == "" {
				return true
			}
			line := fset.Position(n.Pos()).Line
			m := startComment.FindStringSubmatch(above[line])
			if m == nil || m[1] != word {
				faults = append(faults, fmt.Sprintf("%s:%d: starts what no comment above it describes", file, line))
				return true
			}
			for i := range m {
				m[i] = strings.ReplaceAll(m[i], "\n", " ")
			}
			starts = append(starts, start{file, fn.Name.Name, m[2], m[3], m[4], m[5], word == "Timer"})
			return true
		})
	}
	return starts, faults
}

// startWord says what a node starts: a go statement, a call of a method Go, as
// sync.WaitGroup has one, or of a group's Run starts a Goroutine, time.AfterFunc a Timer.
func startWord(n ast.Node) string {
	if _, ok := n.(*ast.GoStmt); ok {
		return "Goroutine"
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	on := ""
	switch x := fn.X.(type) {
	case *ast.Ident:
		on = x.Name
	case *ast.SelectorExpr:
		on = x.Sel.Name
	}
	switch {
	case fn.Sel.Name == "Go", fn.Sel.Name == "Run" && (strings.EqualFold(on, "group") || on == "g"):
		return "Goroutine"
	case fn.Sel.Name == "AfterFunc" && on == "time":
		return "Timer"
	}
	return ""
}

var startTable = regexp.MustCompile(`(?s)(<!-- goroutines of ([^:]+): go test \./internal/archtest -run TestConcurrency -update -->\n)(.*?)(<!-- end of goroutines -->\n)`)

// withTables returns the page with its tables made of starts. Rows are in the order of the
// files; in a file they are in its order.
func withTables(page string, starts []start) (made string, faults []string) {
	var trees []string
	for _, m := range startTable.FindAllStringSubmatch(page, -1) {
		trees = append(trees, strings.Fields(m[2])...)
	}
	rows := map[string][]start{}
	for _, s := range starts {
		nearest := ""
		for _, tree := range trees {
			if (s.file == tree || strings.HasPrefix(s.file, tree+"/")) && len(tree) > len(nearest) {
				nearest = tree
			}
		}
		if nearest == "" {
			faults = append(faults, "docs/concurrency.md: no table is for "+s.file)
		}
		rows[nearest] = append(rows[nearest], s)
	}
	made = startTable.ReplaceAllStringFunc(page, func(old string) string {
		m := startTable.FindStringSubmatch(old)
		var b strings.Builder
		b.WriteString(m[1] + "| goroutine | started by | work | ends when | waited for by |\n| --- | --- | --- | --- | --- |\n")
		for _, tree := range strings.Fields(m[2]) {
			if len(rows[tree]) == 0 {
				faults = append(faults, "docs/concurrency.md: nothing starts in "+tree)
			}
			slices.SortStableFunc(rows[tree], func(a, b start) int { return strings.Compare(a.file, b.file) })
			for _, s := range rows[tree] {
				b.WriteString(s.row())
			}
		}
		return b.String() + m[4]
	})
	return made, faults
}
