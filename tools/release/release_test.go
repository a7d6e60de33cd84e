package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// date is when everything in these tests was committed.
var date = time.Date(2026, 11, 27, 5, 6, 51, 0, time.UTC)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "0.0.0-20261127050651.gabc1234", "v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v0.10.0-rc.1": "0.10.0-rc.1",
		"v1.2": "", "1.2.3+build": "", "vv1.2.3": "", "1.02.3": "", "main": "", "v1.2.3-": "", "1.2.3\n": "", "1.2.3-a..b": "",
	} {
		got, err := parseVersion(text, "abc1234", date)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestParsePlatforms(t *testing.T) {
	t.Parallel()
	got, err := parsePlatforms("linux/arm64,windows/amd64")
	if want := []platform{{"linux", "arm64"}, {"windows", "amd64"}}; err != nil || !cmp.Equal(got, want, cmp.AllowUnexported(platform{})) {
		t.Errorf("%v, %v", got, err)
	}
	if all, err := parsePlatforms(allPlatforms); err != nil || len(all) != 6 {
		t.Errorf("%v, %v", all, err)
	}
	for _, list := range []string{"", "linux", "linux/amd64,", "plan9/amd64", "linux/amd64, linux/arm64"} {
		if got, err := parsePlatforms(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
}

// Equal files make equal archives, in whichever order and whenever they were made.
func TestArchive(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	for name, text := range map[string]string{"a": "program", "b": "words"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for suffix, list := range map[string]func(*testing.T, []byte) []string{".tar.gz": listTar, ".zip": listZip} {
		t.Run(suffix, func(t *testing.T) {
			t.Parallel()
			files := []entry{{"x/sluice", filepath.Join(from, "a"), 0o755}, {"x/README.md", filepath.Join(from, "b"), 0o644}}
			first := packed(t, "1"+suffix, files)
			want := []string{"x/README.md -rw-r--r-- 2026-11-27T05:06:51Z words", "x/sluice -rwxr-xr-x 2026-11-27T05:06:51Z program"}
			if diff := cmp.Diff(want, list(t, first)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := packed(t, "2"+suffix, []entry{files[1], files[0]}); !bytes.Equal(again, first) {
				t.Error("the same files made another archive")
			}
		})
	}
	if err := writeArchive(filepath.Join(t.TempDir(), "c.zip"), []entry{{"x", filepath.Join(from, "none"), 0o644}}, date); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is missing: %v", err)
	}
}

func packed(t *testing.T, name string, files []entry) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := writeArchive(path, files, date); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func listTar(t *testing.T, data []byte) (all []string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		all = append(all, fmt.Sprintf("%s %s %s %s", h.Name, h.FileInfo().Mode(), h.ModTime.UTC().Format(time.RFC3339), text))
	}
}

func listZip(t *testing.T, data []byte) (all []string) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(in)
		_ = in.Close()
		all = append(all, fmt.Sprintf("%s %s %s %s", f.Name, f.Mode(), f.Modified.UTC().Format(time.RFC3339), text))
	}
	return all
}

// Files of a former release go, and anything else keeps the folder as it is.
func TestClearFolder(t *testing.T) {
	t.Parallel()
	ours := []string{"sluice_1.0.0_linux_amd64.tar.gz", "sluice.rb", checksumFile}
	for _, tt := range []struct {
		foreign string
		want    int // files that stay
	}{{"", 0}, {"thesis.txt", 4}, {"sluice-sources/", 4}} {
		folder := filepath.Join(t.TempDir(), "new", "dist")
		if err := clearFolder(folder); err != nil {
			t.Fatal(err)
		}
		for _, name := range ours {
			if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if name, isFolder := strings.CutSuffix(tt.foreign, "/"); isFolder {
			if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
				t.Fatal(err)
			}
		} else if name != "" {
			if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := clearFolder(folder)
		left, _ := os.ReadDir(folder)
		if (err != nil) != (tt.foreign != "") || len(left) != tt.want {
			t.Errorf("with %q: %v, %d files left, want %d", tt.foreign, err, len(left), tt.want)
		}
	}
}

// The checksums are in the form that sha256sum -c reads.
func TestChecksums(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("abc"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeChecksums(folder); err != nil {
		t.Fatal(err)
	}
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-2, B.1
	got, err := os.ReadFile(filepath.Join(folder, checksumFile))
	if want := sum + "  a\n" + sum + "  b\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// The formula has a download with its checksum for each system that Homebrew runs on.
func TestFormula(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	out := t.TempDir()
	r := &release{version: "1.2.3", base: "https://example.com/o/sluice/releases/download/v1.2.3", out: out}
	all, err := parsePlatforms(allPlatforms)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[platform]string{}
	for _, p := range all {
		sums[p] = "sum-" + p.String()
	}
	if err := r.writeFormula(sums); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(out, "sluice.rb"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, want := range []string{
		"  homepage \"https://example.com/o/sluice\"\n", "  version \"1.2.3\"\n",
		download("on_macos", "on_arm", r.base, "darwin/arm64"), download("", "on_intel", r.base, "darwin/amd64"),
		download("on_linux", "on_intel", r.base, "linux/amd64"), download("", "on_arm", r.base, "linux/arm64"),
	} {
		for line := range strings.Lines(want) {
			if !strings.Contains(text, line) {
				t.Errorf("the formula lacks %q:\n%s", line, text)
			}
		}
	}
	if strings.Contains(text, "windows") {
		t.Error("the formula names Windows")
	}
}

// download is what the formula says of a platform.
func download(system, arch, base, name string) string {
	p, _ := parsePlatforms(name)
	lines := fmt.Sprintf("    %s do\n      url \"%s/%s\"\n      sha256 \"sum-%s\"\n", arch, base, p[0].archiveName("1.2.3"), name)
	if system != "" {
		lines = "  " + system + " do\n" + lines
	}
	return lines
}
