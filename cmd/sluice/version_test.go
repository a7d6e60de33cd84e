package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// A build without the linker's flag, the image and the chart have the newest version of the CHANGELOG.
func TestVersionIsTheNewest(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	newest := match(t, filepath.Join(root, "CHANGELOG.md"), `(?m)^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$`)
	if newest != version {
		t.Errorf("the program says %q, the CHANGELOG %q", version, newest)
	}
	for file, pattern := range map[string]string{
		"Dockerfile":                    `(?m)^ARG VERSION=(\S+)$`,
		"deploy/helm/sluice/Chart.yaml": `(?m)^appVersion: (\S+)$`,
	} {
		if got := match(t, filepath.Join(root, filepath.FromSlash(file)), pattern); got != newest {
			t.Errorf("%s has the version %q, the CHANGELOG %q", file, got, newest)
		}
	}
}

// match returns the first group of a pattern's first match in a file.
func match(t *testing.T, path, pattern string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindSubmatch(data)
	if found == nil {
		t.Fatalf("%s does not match %s", path, pattern)
	}
	return string(found[1])
}
