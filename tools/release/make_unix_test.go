//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A project that can be released. Its tools note how they are called in the file calls, and do as
// files next to them say.
const (
	fakeGit = `case $1 in
log) cat "$FAKES/commit" ;;
status) cat "$FAKES/changed" ;;
esac
`
	fakeGo = `echo "go $GOOS/$GOARCH cgo=$CGO_ENABLED $*" >> "$FAKES/calls"
case $1 in
build)
	while [ "$1" != -o ]; do shift; done
	mkdir -p "${2%/*}"
	printf '#!/bin/sh\necho "$@"\n# for %s\n' "$GOOS/$GOARCH" > "$2"
	chmod +x "$2" ;;
run)
	[ ! -e "$FAKES/unsafe" ] || { echo "it can be crashed" >&2; exit 1; } ;;
esac
`
	fakeBOM = `while [ "$1" != -output ]; do shift; done
cat "$3" > "$2"
`
	fakeDebian = `echo "nfpm $VERSION $ARCH $SOURCE_DATE_EPOCH $(cat "$COMPLETIONS/_sluice")" >> "$FAKES/calls"
while [ "$1" != --target ]; do shift; done
cat "$BINARY" > "$2/sluice_${VERSION}_linux_$ARCH.deb"
`
)

// project is a folder with what a release reads, fakes of the tools, and a folder of its own for
// what is temporary.
type project struct {
	t     *testing.T
	fakes string
}

func newProject(t *testing.T) *project {
	t.Helper()
	recipe, err := os.ReadFile("../../deploy/homebrew/sluice.rb.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t, t.TempDir()}
	t.Chdir(t.TempDir())
	t.Setenv("FAKES", p.fakes)
	t.Setenv("PATH", p.fakes+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("TMPDIR", filepath.Join(p.fakes, "tmp"))
	for name, script := range map[string]string{"git": fakeGit, "go": fakeGo, "cyclonedx-gomod": fakeBOM, "nfpm": fakeDebian} {
		p.write(filepath.Join(p.fakes, name), "#!/bin/sh\n"+script)
	}
	p.write(filepath.Join(p.fakes, "commit"), "1795755999 abc1234\n")
	p.write(filepath.Join(p.fakes, "changed"), "")
	p.write(filepath.Join(p.fakes, "tmp", "kept"), "")
	p.write(filepath.FromSlash("deploy/homebrew/sluice.rb.tmpl"), string(recipe))
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		p.write(name, "text of "+name)
	}
	return p
}

func (p *project) write(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { // #nosec G306 -- scripts
		p.t.Fatal(err)
	}
}

func (p *project) read(path string) []byte {
	p.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return data
}

// release runs the command, and checks that it leaves nothing in the temporary folder.
func (p *project) release(args ...string) error {
	p.t.Helper()
	err := runRelease(p.t.Context(), append([]string{"-tools", p.fakes}, args...))
	if left := names(p.t, os.Getenv("TMPDIR")); !cmp.Equal(left, []string{"kept"}) {
		p.t.Errorf("left in the temporary folder: %v", left)
	}
	return err
}

func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		all = append(all, f.Name())
	}
	return all
}

// A release has all files of its platforms, each with what belongs to it, and the same ones again
// of the same commit.
func TestRelease(t *testing.T) {
	p := newProject(t)
	args := []string{"-version", "v1.2.3", "-url", "https://example.com/o/sluice/releases/download/v1.2.3/", "-platforms", "linux/amd64,linux/arm64,windows/arm64", "-out"}
	if err := p.release(append(args, "dist")...); err != nil {
		t.Fatal(err)
	}
	files := []string{
		checksumFile, "sluice.rb",
		"sluice_1.2.3_linux_amd64.cdx.json", "sluice_1.2.3_linux_amd64.deb", "sluice_1.2.3_linux_amd64.tar.gz",
		"sluice_1.2.3_linux_arm64.cdx.json", "sluice_1.2.3_linux_arm64.deb", "sluice_1.2.3_linux_arm64.tar.gz",
		"sluice_1.2.3_windows_arm64.cdx.json", "sluice_1.2.3_windows_arm64.zip",
	}
	if diff := cmp.Diff(files, names(t, "dist")); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	packed := listZip(t, p.read("dist/sluice_1.2.3_windows_arm64.zip"))
	for i, want := range []string{
		"CHANGELOG.md -rw-r--r-- 2026-11-27T05:06:39Z text of CHANGELOG.md", "LICENSE -rw-r--r-- 2026-11-27T05:06:39Z text of LICENSE", "README.md -rw-r--r-- 2026-11-27T05:06:39Z text of README.md",
		"completions/_sluice -rw-r--r-- 2026-11-27T05:06:39Z completion zsh\n", "completions/sluice.bash -rw-r--r-- 2026-11-27T05:06:39Z completion bash\n",
		"completions/sluice.fish -rw-r--r-- 2026-11-27T05:06:39Z completion fish\n", "sluice.exe -rwxr-xr-x 2026-11-27T05:06:39Z #!/bin/sh\necho \"$@\"\n# for windows/arm64\n",
	} {
		if i >= len(packed) || packed[i] != "sluice_1.2.3_windows_arm64/"+want {
			t.Errorf("entry %d of %q, want %q", i, packed, want)
		}
	}
	calls := string(p.read(filepath.Join(p.fakes, "calls")))
	for _, want := range []string{
		"go linux/arm64 cgo=0 build -trimpath -tags grpcnotrace -ldflags -s -w -X main.version=1.2.3 -o ",
		"nfpm 1.2.3 arm64 1795755999 completion zsh\n",
	} {
		if strings.Count(calls, want) != 1 {
			t.Errorf("not once %q in\n%s", want, calls)
		}
	}
	if built, judged := strings.Count(calls, " build "), strings.Count(calls, " run ./tools/linked "); built != judged || strings.Count(calls, "go linux/amd64 cgo=0 build ") != 1 {
		t.Errorf("%d builds, of which %d were judged:\n%s", built, judged, calls)
	}
	sum, err := fileChecksum("dist/sluice_1.2.3_linux_arm64.tar.gz")
	if err != nil || !strings.Contains(string(p.read("dist/sluice.rb")), "releases/download/v1.2.3/sluice_1.2.3_linux_arm64.tar.gz\"\n      sha256 \""+sum) {
		t.Errorf("the formula lacks the checksum %s, %v", sum, err)
	}
	if err := p.release(append(args, "again")...); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p.read("dist/"+checksumFile), p.read("again/"+checksumFile)) {
		t.Error("the same commit made other files")
	}
}

// What must not be shipped has no checksums, and the error says why.
func TestReleaseThatFails(t *testing.T) {
	p := newProject(t)
	if err := p.release("-version", "1.2.3", "-platforms", "linux/amd64"); err != nil {
		t.Fatal(err)
	}
	p.write(filepath.Join(p.fakes, "unsafe"), "")
	err := p.release("-version", "1.2.3", "-platforms", "linux/amd64")
	if err == nil || !strings.Contains(err.Error(), "it can be crashed") {
		t.Errorf("the error is %v", err)
	}
	if left := names(t, "dist"); len(left) > 0 {
		t.Errorf("there is %v of the release before, or of the one that failed", left)
	}
	p.write(filepath.Join(p.fakes, "nfpm"), "#!/bin/sh\necho no room >&2; exit 1\n")
	if err := os.Remove(filepath.Join(p.fakes, "unsafe")); err != nil {
		t.Fatal(err)
	}
	err = p.release("-version", "1.2.3", "-platforms", "linux/amd64")
	if err == nil || !strings.HasPrefix(err.Error(), "linux/amd64: ") || !strings.Contains(err.Error(), "no room") || slices.Contains(names(t, "dist"), checksumFile) {
		t.Errorf("a platform without its package: %v, and there is %v", err, names(t, "dist"))
	}
	if err := p.release("-platforms", "plan9/amd64"); err == nil || !strings.Contains(err.Error(), "plan9") {
		t.Errorf("a platform that there is none of: %v", err)
	}
}

// A version is only of a commit, and a snapshot of something else says so.
func TestIdentify(t *testing.T) {
	p := newProject(t)
	for _, tt := range []struct{ commit, changed, version, want, fault string }{
		{"1795755999 abc1234\n", "", "v1.2.3", "1.2.3", ""},
		{"1795755999 abc1234\n", "", "", "0.0.0-20261127050639.gabc1234", ""},
		{"1795755999 abc1234\n", " M run/run.go\n", "", "0.0.0-20261127050639.gabc1234.dirty", ""},
		{"1795755999 abc1234\n", " M run/run.go\n", "v1.2.3", "", "v1.2.3 is to be released, and files differ from the commit:\n M run/run.go"},
		{"1795755999 abc1234\n", "", "latest", "", "latest"},
		{"yesterday\n", "", "", "", "git log: "},
	} {
		p.write(filepath.Join(p.fakes, "commit"), tt.commit)
		p.write(filepath.Join(p.fakes, "changed"), tt.changed)
		var r release
		err := r.identifyCommit(t.Context(), tt.version)
		if r.version != tt.want || (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%+v: %q, %v", tt, r.version, err)
		}
	}
	p.write(filepath.Join(p.fakes, "git"), "#!/bin/sh\necho no repository >&2; exit 128\n")
	if err := new(release).identifyCommit(t.Context(), ""); err == nil || !strings.HasPrefix(err.Error(), "the commit is not known: ") || !strings.Contains(err.Error(), "no repository") {
		t.Errorf("without a repository: %v", err)
	}
}

// A command ends with its context.
func TestOutputEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := commandOutput(ctx, nil, "sleep", "60"); err == nil {
		t.Errorf("it said %q", out)
	}
}
