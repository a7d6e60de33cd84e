package release

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"sluice/e2e/process"
)

// The chart's defaults render the documents of the Kustomize base. Helm makes the namespace itself.
func TestChartRendersTheBase(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	base := documents(t, tool(t, "kustomize"), "build", filepath.Join("deploy", "kubernetes"))
	delete(base, "Namespace sluice")
	chart := documents(t, tool(t, "helm"), "template", "sluice", filepath.Join("deploy", "helm", "sluice"), "--namespace", "sluice", "--kube-version", "1.30.0")
	if diff := cmp.Diff(base, chart); diff != "" || len(base) < 5 {
		t.Errorf("%d documents (-kustomize +helm):\n%s", len(base), diff)
	}
}

// documents runs a command in the project's root, and returns the documents that it prints, by kind and name.
func documents(t *testing.T, program string, args ...string) map[string]any {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = process.Root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	found := map[string]any{}
	for dec := yaml.NewDecoder(bytes.NewReader(out)); ; {
		var document struct {
			Kind     string
			Metadata struct{ Name string }
		}
		var all any
		if err := dec.Decode(&all); err == io.EOF {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &document); err != nil {
			t.Fatal(err)
		}
		if document.Kind != "" {
			found[document.Kind+" "+document.Metadata.Name] = all
		}
	}
}

// Prometheus takes the alert rules, and they fire as their test says.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	promtool := tool(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = filepath.Join(process.Root, "deploy", "monitoring")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "SUCCESS") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

// The rules and the dashboard use metrics that the page on operations lists.
func TestMonitoringNamesMetrics(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(process.Root, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, name := range regexp.MustCompile("`(sluice_[a-z0-9_]+)`").FindAllStringSubmatch(string(page), -1) {
		listed[name[1]] = true
	}
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		data, err := os.ReadFile(filepath.Join(process.Root, "deploy", "monitoring", file))
		if err != nil {
			t.Fatal(err)
		}
		if file == "dashboard.json" && !json.Valid(data) {
			t.Error("the dashboard is not JSON")
		}
		names := regexp.MustCompile(`sluice_[a-z0-9_]+`).FindAllString(string(data), -1)
		for _, name := range names {
			if !listed[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s uses %s, which docs/operations.md does not list", file, name)
			}
		}
		if len(names) < 10 {
			t.Errorf("%s has %d metrics", file, len(names))
		}
	}
}
