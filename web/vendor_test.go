package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/web"
)

// The library that the page carries is the one that marked.md names, unchanged.
func TestVendoredFilesAreUnchanged(t *testing.T) {
	t.Parallel()
	note := read(t, "marked.md")
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `[^`]+` \\| `([0-9a-f]{64})` \\|$").FindAllStringSubmatch(note, -1)
	if len(rows) != 3 {
		t.Fatalf("marked.md names %d files, want 3", len(rows))
	}
	for _, row := range rows {
		sum := sha256.Sum256([]byte(read(t, row[1])))
		if got := hex.EncodeToString(sum[:]); got != row[2] {
			t.Errorf("%s has the SHA-256 %s, marked.md says %s", row[1], got, row[2])
		}
	}
	if m := regexp.MustCompile(`\b(document|window|globalThis|fetch|eval|Function)\b|\bimport\s*\(|innerHTML`).FindString(read(t, "marked.js")); m != "" {
		t.Errorf("marked.js uses %s: it only has to return tokens", m)
	}
	version := regexp.MustCompile(`(?m)^\| version \| (\S+) \|$`).FindStringSubmatch(note)
	if version == nil || !strings.Contains(read(t, "marked.js"), "marked v"+version[1]+" ") {
		t.Errorf("marked.js is not of the version %q that marked.md names", version)
	}
}

// Who gets the script gets its licence, from the same place.
func TestLicenceIsServedNextToTheVendoredFile(t *testing.T) {
	t.Parallel()
	licence, err := fs.ReadFile(web.Files(), "marked.license.txt")
	if err != nil || !strings.Contains(string(licence), "Permission is hereby granted") {
		t.Errorf("marked.license.txt: %q, error %v", licence, err)
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
