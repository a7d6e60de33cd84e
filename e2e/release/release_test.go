package release

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/process"
)

// A person who downloads the archive can check it, run the program, and see what it is made of.
func TestArchiveRuns(t *testing.T) {
	t.Parallel()
	folder := built(t)
	archive := only(t, folder, "*.tar.gz")
	name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
	version := strings.TrimSuffix(strings.TrimPrefix(name, "sluice_"), "_"+runtime.GOOS+"_"+runtime.GOARCH)

	check := exec.Command("sha256sum", "--check", "--strict", "checksums.txt")
	check.Dir = folder
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") < 3 {
		t.Errorf("%v: %s", err, out)
	}
	to := t.TempDir()
	said(t, "tar", "-xzf", archive, "-C", to)
	program := filepath.Join(to, name, "sluice")
	if got := strings.TrimSpace(said(t, program, "--version")); got != version {
		t.Errorf("the program says %q, its archive %q", got, version)
	}
	for _, file := range []string{"LICENSE", "README.md", "CHANGELOG.md", "completions/sluice.bash", "completions/_sluice", "completions/sluice.fish"} {
		if info, err := os.Stat(filepath.Join(to, name, file)); err != nil || info.Size() < 100 {
			t.Errorf("%s: %v", file, err)
		}
	}
	if out := said(t, "go", "version", "-m", program); !strings.Contains(out, "CGO_ENABLED=0") || strings.Contains(out, "\tpath\t/") {
		t.Errorf("built otherwise than was meant:\n%s", out)
	}
	checkSBOM(t, only(t, folder, "*.cdx.json"), version)
	if formula, err := os.ReadFile(filepath.Join(folder, "sluice.rb")); err != nil || !strings.Contains(string(formula), filepath.Base(archive)) {
		t.Errorf("the formula does not name the archive: %v", err)
	}
	for _, info := range sizes(t, folder) {
		t.Log("figures: " + info)
	}
}

// The same commit gives the same bytes, so that a release can be checked by making it again.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	first, again := built(t), t.TempDir()
	if err := release(again); err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(only(t, first, "*.tar.gz")); name != filepath.Base(only(t, again, "*.tar.gz")) {
		t.Skipf("somebody committed or changed a file since %s was made", name)
	}
	var sums [2]string
	for i, folder := range []string{first, again} {
		data, err := os.ReadFile(filepath.Join(folder, "checksums.txt"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(data)
	}
	if diff := cmp.Diff(sums[0], sums[1]); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}
}

// checkSBOM sees that the list of parts is one, and names what the program serves HTTP/2 with.
func checkSBOM(t *testing.T, path, version string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BOMFormat string
		Metadata  struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Name, PURL string }
	}
	if err := json.Unmarshal(data, &bom); err != nil {
		t.Fatal(err)
	}
	if bom.BOMFormat != "CycloneDX" || bom.Metadata.Component.Name != "sluice" || bom.Metadata.Component.Version != "v"+version || len(bom.Components) < 20 {
		t.Errorf("format %q, of %+v, %d parts", bom.BOMFormat, bom.Metadata.Component, len(bom.Components))
	}
	named := func(c struct{ Name, PURL string }) bool {
		return strings.HasPrefix(c.PURL, "pkg:golang/golang.org/x/net@")
	}
	if !slices.ContainsFunc(bom.Components, named) {
		t.Error("golang.org/x/net is missing in the list of parts")
	}
}

// sizes says how big the files of a release are.
func sizes(t *testing.T, folder string) (all []string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.Size() > 1<<20 {
			all = append(all, fmt.Sprintf("%s has %.1f MB", f.Name(), float64(info.Size())/1e6))
		}
	}
	return all
}

// Kubernetes takes the manifests and the chart.
func TestManifests(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	tool(t, "kustomize")
	tool(t, "helm")
	tool(t, "kubeconform")
	cmd := exec.CommandContext(t.Context(), filepath.Join("scripts", "manifests.sh"))
	cmd.Dir = process.Root
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "Invalid: 0, Errors: 0, Skipped: 0") != 8 {
		t.Errorf("%v\n%s", err, out)
	}
}

// The workflows are what GitHub takes.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	cmd := exec.CommandContext(t.Context(), tool(t, "actionlint"), "-no-color", "-shellcheck=", "-pyflakes=")
	cmd.Dir = process.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if found, _ := filepath.Glob(filepath.Join(process.Root, ".github", "workflows", "*.yml")); len(found) < 2 {
		t.Errorf("there are the workflows %v", found)
	}
}
