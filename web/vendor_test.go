package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/web"
)

// vendored has the libraries that the page carries, each with the number of its files and with
// how its script says which version it is.
func vendored() map[string]struct {
	files   int
	version string
} {
	return map[string]struct {
		files   int
		version string
	}{
		"dagre":  {2, `="%s"`},
		"marked": {3, "marked v%s "},
	}
}

// A library is the one that its note names, unchanged, and has no document and no network.
func TestVendoredFilesAreUnchanged(t *testing.T) {
	t.Parallel()
	for name, want := range vendored() {
		note := read(t, name+".md")
		rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `[^`]+` \\| `([0-9a-f]{64})` \\|$").FindAllStringSubmatch(note, -1)
		if len(rows) != want.files {
			t.Fatalf("%s.md names %d files, want %d", name, len(rows), want.files)
		}
		for _, row := range rows {
			sum := sha256.Sum256([]byte(read(t, row[1])))
			if got := hex.EncodeToString(sum[:]); got != row[2] {
				t.Errorf("%s has the SHA-256 %s, %s.md says %s", row[1], got, name, row[2])
			}
		}
		script := read(t, name+".js")
		if m := regexp.MustCompile(`\b(document|window|globalThis|fetch|eval|Function)\b|\bimport\s*\(|innerHTML`).FindString(script); m != "" {
			t.Errorf("%s.js uses %s: it only has to compute", name, m)
		}
		version := regexp.MustCompile(`(?m)^\| version \| (\S+) \|$`).FindStringSubmatch(note)
		if version == nil || !strings.Contains(script, fmt.Sprintf(want.version, version[1])) {
			t.Errorf("%s.js is not of the version %q that %s.md names", name, version, name)
		}
	}
}

// Who gets a script gets its licence, from the same place.
func TestLicenceIsServedNextToTheVendoredFile(t *testing.T) {
	t.Parallel()
	for name := range vendored() {
		licence, err := fs.ReadFile(web.Files(), name+".license.txt")
		if err != nil || !strings.Contains(string(licence), "Permission is hereby granted") {
			t.Errorf("%s.license.txt: %q, error %v", name, licence, err)
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
