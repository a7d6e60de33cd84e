// Command ratio prints, for each package of more than 300 lines of code, the lines of its own tests
// for one line of code, the least first. Tests in other packages that run the code do not count: a
// package is to be changed by what lies in its folder.
//
// A line counts if something other than a comment stands on it. A package that imports testing, or
// is named after its parent (x/xtest), supports tests. Its lines count as tests in the sum, and it
// is not judged. With -all it also prints the packages that it does not judge.
//
//	go run ./tools/ratio
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	least      = 300 // lines of code; a larger package is judged
	leastRatio = 0.8 // lines of tests for one of code
)

func main() {
	all := slices.Contains(os.Args[1:], "-all")
	if err := printReport(os.DirFS("."), os.Stdout, all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pkg is a folder with Go files.
type pkg struct {
	name       string
	code, test int
	support    bool // it is there for tests
}

// isJudged reports whether the package is to have tests of its own.
func (p *pkg) isJudged() bool { return p.code > least && !p.support }

// lineRatio is the lines of tests for one of code.
func (p *pkg) lineRatio() float64 { return float64(p.test) / float64(max(1, p.code)) }

// printReport prints the packages of a module, and how many are below the ratio.
func printReport(module fs.FS, out io.Writer, all bool) error {
	packages, err := countLines(module)
	if err != nil {
		return err
	}
	slices.SortFunc(packages, func(a, b *pkg) int {
		return cmp.Or(cmp.Compare(a.lineRatio(), b.lineRatio()), strings.Compare(a.name, b.name))
	})
	code, test, judged, below := 0, 0, 0, 0
	for _, p := range packages {
		if p.support {
			test += p.code + p.test
		} else {
			code, test = code+p.code, test+p.test
		}
		if !p.isJudged() && !all {
			continue
		}
		mark := ""
		if p.isJudged() {
			judged++
			if p.lineRatio() < leastRatio {
				below++
				mark = "  below"
			}
		}
		fmt.Fprintf(out, "%5.2f %7d tests %7d code  %s%s\n", p.lineRatio(), p.test, p.code, p.name, mark)
	}
	fmt.Fprintf(out, "%5.2f %7d tests %7d code  all; %d of %d packages above %d lines are below %.1f\n",
		float64(test)/float64(max(1, code)), test, code, below, judged, least, leastRatio)
	return nil
}

// countLines reads all Go files of a module but those of commands' test data and of modules in it.
func countLines(module fs.FS) (packages []*pkg, err error) {
	byName := map[string]*pkg{}
	err = fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipFolder(module, name, d.Name())
		case filepath.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(name))
		p := byName[folder]
		if p == nil {
			p = &pkg{name: folder, support: path.Base(folder) == path.Base(path.Dir(folder))+"test"}
			byName[folder], packages = p, append(packages, p)
		}
		p.addFile(name, src)
		return nil
	})
	return packages, err
}

// addFile counts the lines of a file.
func (p *pkg) addFile(name string, src []byte) {
	if strings.HasSuffix(name, "_test.go") {
		p.test += codeLines(src)
		return
	}
	p.code += codeLines(src)
	p.support = p.support || bytes.Contains(src, []byte("\n\t\"testing\"\n"))
}

// skipFolder leaves out the folders that go build ./... leaves out.
func skipFolder(module fs.FS, name, base string) error {
	if name == "." {
		return nil
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(module, name+"/go.mod"); err == nil {
		return fs.SkipDir
	}
	return nil
}

// codeLines counts those on which something other than a comment stands.
func codeLines(src []byte) (n int) {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0) // it passes comments over
	for last := 0; ; {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && text == "\n" { // the scanner has put it there
			continue
		}
		first := file.Line(pos)
		end := first + strings.Count(text, "\n") // a raw text has several
		n += end - max(first, last+1) + 1
		last = max(last, end)
	}
}
