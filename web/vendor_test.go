package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/web"
)

// library is a package of npm that the page carries.
type library struct{ Version, Licence string }

// vendored is web/vendor/table.json, which scripts/vendor copies by.
type vendored struct {
	Packages map[string]library
	Imports  map[string]string // names of packages in imports, and their files
	Icons    []string
	Files    []struct{ File, Package, Path, SHA256 string }
}

func readTable(t *testing.T) (table vendored) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, "vendor/table.json")), &table); err != nil {
		t.Fatal(err)
	}
	return table
}

// A vendored file is its package's own: with the names of packages back in its imports, it has the
// SHA-256 of the table.
func TestVendoredFilesAreUnchanged(t *testing.T) {
	t.Parallel()
	table := readTable(t)
	for _, f := range table.Files {
		content := read(t, "vendor/"+f.File)
		if strings.HasSuffix(f.File, ".js") {
			for name, local := range table.Imports {
				content = strings.ReplaceAll(content, `from"`+local+`"`, `from"`+name+`"`)
			}
		}
		sum := sha256.Sum256([]byte(content))
		if got := hex.EncodeToString(sum[:]); got != f.SHA256 {
			t.Errorf("%s has the SHA-256 %s, the table has %s", f.File, got, f.SHA256)
		}
		if _, ok := table.Packages[f.Package]; !ok {
			t.Errorf("%s is of the package %q, which has no version", f.File, f.Package)
		}
	}
}

// The table names each file of the folder, except for types of ours.
func TestTableNamesAllVendoredFiles(t *testing.T) {
	t.Parallel()
	table := readTable(t)
	err := filepath.WalkDir("vendor", func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "vendor/")
		known := slices.ContainsFunc(table.Files, func(f struct{ File, Package, Path, SHA256 string }) bool { return f.File == name })
		if err == nil && !entry.IsDir() && !known && name != "table.json" && !strings.HasSuffix(name, ".d.ts") {
			t.Errorf("the table does not name vendor/%s", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(table.Icons); n > 60 {
		t.Errorf("%d icons, want 60 at most", n)
	}
}

// A library has no network. Only four of them know a document, and the content policy holds those.
func TestLibrariesOnlyComputeOrMakeNodes(t *testing.T) {
	t.Parallel()
	for _, f := range readTable(t).Files {
		if !strings.HasSuffix(f.File, ".js") {
			continue
		}
		unsafe := `[\s;,=(!&|](fetch|eval)\(|\bnew (Function|XMLHttpRequest|WebSocket)\b|[^.\w]import\s*\(`
		if !slices.Contains([]string{"preact.js", "hooks.js", "signals.js", "katex.js", "highlight.js"}, f.File) {
			unsafe += `|\b(document|window|globalThis)\b|innerHTML`
		}
		if m := regexp.MustCompile(unsafe).FindString(read(t, "vendor/"+f.File)); m != "" {
			t.Errorf("vendor/%s uses %s", f.File, m)
		}
	}
}

// The licence of a package is served from the same folder as its files.
func TestLicencesAreServed(t *testing.T) {
	t.Parallel()
	table := readTable(t)
	words := map[string]string{"MIT": "Permission is hereby granted", "ISC": "Permission to use, copy, modify", "BSD-3-Clause": "Redistribution and use", "OFL-1.1": "SIL Open Font License|SIL OPEN FONT LICENSE"}
	for name, lib := range table.Packages {
		var found bool
		for _, f := range table.Files {
			if f.Package != name && !(name == "@preact/signals-core" && f.Package == "@preact/signals") || !strings.HasSuffix(f.File, ".license.txt") {
				continue
			}
			text, err := fs.ReadFile(web.Files(), "vendor/"+f.File)
			found = err == nil && regexp.MustCompile(words[lib.Licence]).Match(text)
		}
		if !found {
			t.Errorf("no %s licence of %s is served", lib.Licence, name)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
