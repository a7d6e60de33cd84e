package peers

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/config"
	"sluice/handlers"
	"sluice/internal/settings"
	"sluice/mcpclient/servers"
	codec "sluice/model/gemini"
)

// manifest is a document of deploy/kubernetes, as far as it is looked at.
type manifest struct {
	Kind      string
	Metadata  struct{ Name string }
	Resources []string          // of a kustomization
	Data      map[string]string // of a ConfigMap
	Rules     struct {          // of the adapter
		Custom []struct {
			SeriesQuery string
			Name        struct{ As string }
		}
	}
	Spec struct {
		Selector       json.RawMessage
		ScaleTargetRef struct{ Kind, Name string }
		Metrics        []struct {
			Pods struct {
				Metric struct{ Name string }
				Target struct{ AverageValue string }
			}
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
	}
}

type pod struct {
	TerminationGracePeriodSeconds int
	Containers                    []struct {
		Env []struct {
			Name, Value string
			ValueFrom   struct{ SecretKeyRef struct{ Name, Key string } }
		}
		Resources struct {
			Limits struct{ Memory string }
		}
		Lifecycle struct {
			PreStop struct{ Sleep struct{ Seconds int } }
		}
		ReadinessProbe, LivenessProbe struct{ HTTPGet struct{ Path string } }
		VolumeMounts                  []struct{ Name, MountPath string }
	}
	Volumes []struct {
		Name      string
		ConfigMap struct{ Name string }
	}
}

// toJSON lets a YAML parser that is not ours read the manifests.
const toJSON = `import json, sys, yaml
json.dump({p.split("/")[-1]: yaml.safe_load(open(p)) for p in sys.argv[1:]}, sys.stdout)`

func readManifests(t *testing.T) map[string]manifest {
	t.Helper()
	interpreter := python(t, "python")
	files, err := filepath.Glob(filepath.Join(root, "deploy", "kubernetes", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	out, err := exec.Command(interpreter, append([]string{"-c", toJSON}, files...)...).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	var all map[string]manifest
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// The manifests fit together, and to the gateway.
func TestKubernetesManifests(t *testing.T) {
	t.Parallel()
	all := readManifests(t)
	for _, name := range all["kustomization.yaml"].Resources {
		if all[name].Kind == "" {
			t.Errorf("kustomization.yaml names %s, which is no manifest", name)
		}
	}
	deployment := all["deployment.yaml"]
	for file, m := range all {
		const label = `"app":"sluice"`
		if selector := strings.ReplaceAll(string(m.Spec.Selector), " ", ""); selector != "" && !strings.Contains(selector, label) {
			t.Errorf("%s selects %s", file, selector)
		}
	}
	if deployment.Spec.Template.Metadata.Labels["app"] != "sluice" {
		t.Error("the pods do not have the label that the others select")
	}
	if ref := all["autoscaling.yaml"].Spec.ScaleTargetRef; ref.Kind != deployment.Kind || ref.Name != deployment.Metadata.Name {
		t.Errorf("the autoscaler scales %+v", ref)
	}
	cfg := loadFromPod(t, all, deployment.Spec.Template.Spec)
	checkTimes(t, cfg, deployment.Spec.Template.Spec)
	checkMemory(t, deployment.Spec.Template.Spec)
	checkScaling(t, cfg, all)
}

// loadFromPod reads the configuration as the gateway in the pod would.
func loadFromPod(t *testing.T, all map[string]manifest, p pod) config.Config {
	t.Helper()
	known := knownVariables()
	env := map[string]string{}
	for _, e := range p.Containers[0].Env {
		if !slices.Contains(known, e.Name) && e.Name != "GOMEMLIMIT" {
			t.Errorf("%s is no variable of the gateway", e.Name)
		}
		env[e.Name] = e.Value
		if e.ValueFrom.SecretKeyRef.Name != "" {
			env[e.Name] = "test-key-0123456789"
		}
	}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	cfg, err := settings.Loader().Load(nil, lookup, func(name string) ([]byte, error) { return mounted(all["mcp.yaml"], p, name) })
	if err != nil {
		t.Fatal(err)
	}
	list, offline, addr := config.Of[servers.List](&cfg), config.Of[codec.Config](&cfg).Offline(), config.Of[settings.Process](&cfg).Addr
	if len(list) == 0 || offline || addr != ":8080" {
		t.Errorf("%d MCP servers, offline %v, address %s", len(list), offline, addr)
	}
	return cfg
}

func knownVariables() []string {
	var usage strings.Builder
	settings.Loader().Usage(&usage)
	return regexp.MustCompile(`\b(SLUICE|GEMINI|MCP)_[A-Z_]+\b`).FindAllString(usage.String(), -1)
}

// mounted reads a file of the pod, which must come from the ConfigMap.
func mounted(files manifest, p pod, name string) ([]byte, error) {
	mount, volume := p.Containers[0].VolumeMounts[0], p.Volumes[0]
	if content, ok := files.Data[path.Base(name)]; ok && path.Dir(name) == mount.MountPath &&
		mount.Name == volume.Name && volume.ConfigMap.Name == files.Metadata.Name {
		return []byte(content), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
}

// checkTimes sees that nothing is killed that still may end by itself.
func checkTimes(t *testing.T, cfg config.Config, p pod) {
	t.Helper()
	c := p.Containers[0]
	const lastReplies = 6 * time.Second // see docs/operations.md
	need := time.Duration(c.Lifecycle.PreStop.Sleep.Seconds)*time.Second + config.Of[settings.Process](&cfg).DrainTimeout + config.Of[handlers.Config](&cfg).WriteTimeout + lastReplies
	if grace := time.Duration(p.TerminationGracePeriodSeconds) * time.Second; grace < need {
		t.Errorf("the grace period is %v, and stopping may take %v", grace, need)
	}
	if c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("the probes ask %q and %q", c.ReadinessProbe.HTTPGet.Path, c.LivenessProbe.HTTPGet.Path)
	}
}

// checkMemory sees that the garbage collector works hard before the kernel kills.
func checkMemory(t *testing.T, p pod) {
	t.Helper()
	c := p.Containers[0]
	limit, _ := strconv.Atoi(strings.TrimSuffix(c.Resources.Limits.Memory, "Gi"))
	for _, e := range c.Env {
		if e.Name != "GOMEMLIMIT" {
			continue
		}
		soft, err := strconv.Atoi(strings.TrimSuffix(e.Value, "MiB"))
		if err != nil || soft > limit<<10*9/10 || soft < limit<<10*8/10 {
			t.Errorf("GOMEMLIMIT is %s, want 80 to 90 %% of %s", e.Value, c.Resources.Limits.Memory)
		}
		return
	}
	t.Error("GOMEMLIMIT is not set")
}

// checkScaling sees that the autoscaler asks for a metric that there is, and wants
// more pods before the ones that there are refuse.
func checkScaling(t *testing.T, cfg config.Config, all map[string]manifest) {
	t.Helper()
	pods := all["autoscaling.yaml"].Spec.Metrics[0].Pods
	rule := all["prometheus-adapter.yaml"].Rules.Custom[0]
	if rule.Name.As != pods.Metric.Name || !strings.HasPrefix(rule.SeriesQuery, pods.Metric.Name+"{") {
		t.Errorf("the adapter makes %q of %q, the autoscaler wants %q", rule.Name.As, rule.SeriesQuery, pods.Metric.Name)
	}
	streams := config.Of[handlers.Config](&cfg).MaxStreams
	if target, err := strconv.Atoi(pods.Target.AverageValue); err != nil || target > streams*2/3 {
		t.Errorf("scaling begins at %s streams, and at %d they are refused", pods.Target.AverageValue, streams)
	}
	g := startGateway(t, nil)
	resp, err := g.client.Get(g.base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(metrics), "\n"+pods.Metric.Name+" ") {
		t.Errorf("/metrics has no %s (%v)", pods.Metric.Name, err)
	}
}
