package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Every log line has the member details: a program that reads the log relies on its form.
func TestLogLinesHaveDetails(t *testing.T) {
	t.Parallel()
	checked := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return errOr(err, d)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || called(call) != "Msg" || len(call.Args) != 1 {
				return true
			}
			checked++
			if details, whole := detailed(call); !details && whole {
				t.Errorf("%s: the line has no details", set.Position(call.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 60 {
		t.Errorf("found %d log lines, want 60 or more: is their form still read?", checked)
	}
}

// errOr returns err, or what leaves a folder out.
func errOr(err error, d fs.DirEntry) error {
	if err == nil && d.IsDir() {
		return fs.SkipDir
	}
	return err
}

// called returns the name of a method that is called.
func called(call *ast.CallExpr) string {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		return sel.Sel.Name
	}
	return ""
}

// detailed says whether a line gets details, and whether the line is made whole where it is
// written: of one that another function began nothing is known.
func detailed(call *ast.CallExpr) (details, whole bool) {
	for next := call; next != nil; {
		switch called(next) {
		case "Dict":
			if name, ok := next.Args[0].(*ast.BasicLit); ok {
				if text, _ := strconv.Unquote(name.Value); text == "details" {
					return true, true
				}
			}
		case "Debug", "Info", "Warn", "Error":
			whole = true
		}
		sel, ok := next.Fun.(*ast.SelectorExpr)
		if !ok {
			break
		}
		next, _ = sel.X.(*ast.CallExpr)
	}
	return false, whole
}
