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

	"sluice/handlers"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	codec "sluice/internal/model/gemini"
	"sluice/mcpclient/servers"
)

// manifest is a document below deploy/kubernetes, as far as it is looked at.
type manifest struct {
	Kind      string
	Metadata  struct{ Name string }
	Resources []string // of a kustomization
	Patches   []struct{ Path string }
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
		Name      string
		Env       []struct{ Name, Value string }
		Resources struct {
			Limits struct{ Memory string }
		}
		Lifecycle struct {
			PreStop struct{ Sleep struct{ Seconds int } }
		}
		ReadinessProbe, LivenessProbe struct{ HTTPGet struct{ Path string } }
		VolumeMounts                  []struct{ Name, MountPath, SubPath string }
	}
	Volumes []struct {
		Name      string
		ConfigMap struct{ Name string }
		Secret    struct {
			SecretName  string
			DefaultMode int
			Items       []struct{ Key string }
		}
	}
}

// toJSON lets a YAML parser that is not ours read the manifests.
const toJSON = `import json, sys, yaml
json.dump({p.split("/")[-1]: yaml.safe_load(open(p)) for p in sys.argv[1:]}, sys.stdout)`

func readManifests(t *testing.T) map[string]manifest {
	t.Helper()
	return readManifestsOf(t, "kubernetes/base")
}

func readManifestsOf(t *testing.T, folder string) map[string]manifest {
	t.Helper()
	interpreter := python(t, "python")
	files, err := filepath.Glob(filepath.Join(root, "deploy", folder, "*.yaml"))
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
		if !slices.Contains(known, strings.TrimSuffix(e.Name, "_FILE")) && e.Name != "GOMEMLIMIT" {
			t.Errorf("%s is no variable of the gateway", e.Name)
		}
		env[e.Name] = e.Value
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
	settings.Loader().Variables(&usage, 80)
	return regexp.MustCompile(`\b(SLUICE|GEMINI|MCP)_[A-Z_]+\b`).FindAllString(usage.String(), -1)
}

// mounted reads a file of the pod, which must come from the ConfigMap or from a secret that
// the pod's group alone can read.
func mounted(files manifest, p pod, name string) ([]byte, error) {
	for _, mount := range p.Containers[0].VolumeMounts {
		for _, volume := range p.Volumes {
			if mount.Name != volume.Name || mount.MountPath != path.Dir(name) || mount.SubPath != "" {
				continue
			}
			if content, ok := files.Data[path.Base(name)]; ok && volume.ConfigMap.Name == files.Metadata.Name {
				return []byte(content), nil
			}
			if volume.Secret.SecretName != "" && volume.Secret.DefaultMode == 0o440 {
				return []byte("test-key-0123456789\n"), nil
			}
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
}

// The component that closes the gateway changes the deployment of that name, and mounts the
// key file where the gateway looks for it.
func TestKubernetesComponentOfKeys(t *testing.T) {
	t.Parallel()
	deployment := readManifests(t)["deployment.yaml"]
	all := readManifestsOf(t, "kubernetes/access")
	patch := all["keys.yaml"]
	if len(all["kustomization.yaml"].Patches) != 1 || all["kustomization.yaml"].Patches[0].Path != "keys.yaml" {
		t.Errorf("the component has the patches %+v", all["kustomization.yaml"].Patches)
	}
	p := patch.Spec.Template.Spec
	if patch.Kind != deployment.Kind || patch.Metadata.Name != deployment.Metadata.Name || p.Containers[0].Name != deployment.Spec.Template.Spec.Containers[0].Name {
		t.Errorf("the patch is for %s %s", patch.Kind, patch.Metadata.Name)
	}
	env, known := map[string]string{}, knownVariables()
	for _, e := range p.Containers[0].Env {
		env[e.Name] = e.Value
		if !slices.Contains(known, e.Name) {
			t.Errorf("%s is no variable of the gateway", e.Name)
		}
	}
	if _, err := mounted(manifest{}, p, env["SLUICE_API_KEYS"]); err != nil || env["SLUICE_AUTH"] != "required" {
		t.Errorf("variables %v, %v", env, err)
	}
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
