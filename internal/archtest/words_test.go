package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unwanted returns the words that no tracked file holds, each with what is written
// instead. They are ones that a reader of English as a second language trips over.
func unwanted() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"so that … not":                         regexp.MustCompile(`(?i)\blest\b`),
		"without success, or for nothing":       regexp.MustCompile(`(?i)\bin vain\b`),
		"again, or a word that begins with re-": regexp.MustCompile(`(?i)\banew\b`),
		"anyone who, or what it is":             regexp.MustCompile(`(?i)\bwhoever\b`),
		"unavailable":                           regexp.MustCompile(`(?i)\b(is|are|was|were|be|been) away\b`),
	}
}

// unclear returns what no comment in Go holds, each with what is written instead: words
// that stood for many things, and turns of phrase that must be read twice.
func unclear() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"emitted, reported, informed, encoded or distinguished": regexp.MustCompile(`(?i)\b(tell|tells|told|untold)\b`),
		"observes, receives or learns":                          regexp.MustCompile(`(?i)\b(hears?|heard)\b`),
		"alongside, next to or besides":                         regexp.MustCompile(`(?i)\bbeside\b`),
		"that does not exist":                                   regexp.MustCompile(`(?i)\b(which|that) there (is|are|was|were) not\b`),
		"what is not a":                                         regexp.MustCompile(`(?i)\bwhat is no [a-z]`),
	}
}

// vague returns the words that no name in Go is made of, each with what is used instead.
func vague() map[string]string {
	say, use := "emitted, reported, encoded, sent", "accept, use, claim, read, decode, elapsed"
	return map[string]string{
		"tell": say, "tells": say, "told": say, "untold": say, "telling": say, "tellings": say, "retell": say, "retelling": say,
		"take": use, "takes": use, "took": use, "taking": use,
		"hear": "observe", "hears": "observe", "heard": "observed", "away": "unavailable", "beside": "alongside", "whose": "owner",
	}
}

var (
	nameParts = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	// A takeover and HTTP/2's GOAWAY are words of the field.
	fieldWords = regexp.MustCompile(`(?i)take_?over|goaway`)
	quotation  = regexp.MustCompile("\"[^\"]*\"|`[^`]*`")
)

// foreignText says whether a file is not ours to word, or states the rule.
func foreignText(path string) bool {
	return path == "internal/archtest/words_test.go" || path == "go.sum" || strings.Contains(path, "/vendor/") || strings.HasSuffix(path, "package-lock.json")
}

// ourTexts calls each with the tracked files that are texts of ours.
func ourTexts(t *testing.T, each func(path string, data []byte)) {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("needs git and its folder: %v", err)
	}
	for path := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(path)
		if err != nil || foreignText(path) || bytes.IndexByte(data, 0) >= 0 { // deleted, or no text
			continue
		}
		each(path, data)
	}
}

// Names, comments, docs and texts keep to plain English; the worst words are refused.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	ourTexts(t, func(path string, data []byte) {
		for instead, word := range unwanted() {
			for _, at := range word.FindAllIndex(data, -1) {
				t.Errorf("%s:%d: %q: write %s", path, 1+bytes.Count(data[:at[0]], []byte("\n")), data[at[0]:at[1]], instead)
			}
		}
	})
}

// Names and comments in Go use a word for one thing each.
func TestPlainGo(t *testing.T) {
	t.Parallel()
	ourTexts(t, func(path string, data []byte) {
		if !strings.HasSuffix(path, ".go") {
			return
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, g := range f.Comments {
			text := quotation.ReplaceAllString(g.Text(), "…")
			for instead, word := range unclear() {
				if found := word.FindString(text); found != "" {
					t.Errorf("%s: %q: write %s", fset.Position(g.Pos()), found, instead)
				}
			}
		}
		for _, id := range declared(f) {
			for _, part := range nameParts.FindAllString(fieldWords.ReplaceAllString(id.Name, ""), -1) {
				if instead := vague()[strings.ToLower(part)]; instead != "" {
					t.Errorf("%s: the name %s: use %s", fset.Position(id.Pos()), id.Name, instead)
				}
			}
		}
	})
}

func TestVagueNamesAreFound(t *testing.T) {
	t.Parallel()
	const text = `package p
type told struct{ Heard, fine int }
func (t told) takeAll(whose int) (beside error) {
	retell, ok := 1, 2
	for away := range fine {}
	switch took := x.(type) {}
	TakeOver, goAway, taken := 1, 2, 3
}`
	f, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, id := range declared(f) {
		parts := nameParts.FindAllString(fieldWords.ReplaceAllString(id.Name, ""), -1)
		if slices.ContainsFunc(parts, func(p string) bool { return vague()[strings.ToLower(p)] != "" }) {
			got = append(got, id.Name)
		}
	}
	slices.Sort(got)
	if want := "Heard away beside retell takeAll told took whose"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// declared returns the names that a file declares.
func declared(f *ast.File) (names []*ast.Ident) {
	local := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				names = append(names, id)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name)
		case *ast.TypeSpec:
			names = append(names, n.Name)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				local(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				local(n.Key, n.Value)
			}
		}
		return true
	})
	return names
}
