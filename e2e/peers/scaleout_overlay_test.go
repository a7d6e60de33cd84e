package peers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/state/store"
)

// rendered is a document that kustomize makes of an overlay.
type rendered struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string // of a ConfigMap
	Spec     struct {
		ServiceName string
		ClusterIP   string
		Selector    json.RawMessage
		MinReplicas int
		PodSelector struct{ MatchLabels map[string]string }
		Ingress     []struct {
			From []struct {
				PodSelector struct{ MatchLabels map[string]string }
			}
		}
		Ports    []struct{ Port int }
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
	}
}

// render has kustomize render a folder of deploy/kubernetes. A YAML parser that is not ours reads
// what comes out.
func render(t *testing.T, folder string) []rendered {
	t.Helper()
	interpreter, kustomize := python(t, "python"), installed(t, filepath.Join(".artifacts", "bin", "kustomize"))
	text, err := exec.Command(kustomize, "build", filepath.Join(root, "deploy", "kubernetes", folder)).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	cmd := exec.Command(interpreter, "-c", "import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)")
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	var all []rendered
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// named returns the one document of a kind whose name begins so.
func named(t *testing.T, all []rendered, kind, prefix string) rendered {
	t.Helper()
	at := slices.IndexFunc(all, func(r rendered) bool { return r.Kind == kind && strings.HasPrefix(r.Metadata.Name, prefix) })
	if at < 0 {
		t.Fatalf("there is no %s %s", kind, prefix)
	}
	return all[at]
}

// A gateway of the overlay finds its file, its Redis and its keys; the times and the memory fit;
// and nothing but a gateway reaches Redis.
func TestKubernetesOverlayOfRedis(t *testing.T) {
	t.Parallel()
	all := render(t, "overlays/redis")
	gateway, redis := named(t, all, "Deployment", "sluice").Spec.Template, named(t, all, "StatefulSet", "sluice-redis")
	file, service := named(t, all, "ConfigMap", "sluice-config-"), named(t, all, "Service", "sluice-redis")

	env := map[string]string{}
	for _, e := range gateway.Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	shared := map[string]string{
		"store":        "redis://:secret@" + service.Metadata.Name + ":6379/0",
		"approval-key": base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)),
	}
	files := manifest{Metadata: file.Metadata, Data: file.Data}
	keys := filepath.Join(t.TempDir(), "keys.yaml") // the cluster has it in a secret
	if err := os.WriteFile(keys, []byte("keys: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env["SLUICE_API_KEYS"] = keys
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	var read settings.File
	cfg, err := settings.LoaderWith(&read).Load(nil, lookup, func(name string) ([]byte, error) {
		data, err := mounted(files, gateway.Spec, name)
		if text := shared[path.Base(name)]; err == nil && text != "" {
			data = []byte(text + "\n")
		}
		return data, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Warnings) > 0 {
		t.Errorf("the gateway would warn: %v", cfg.Warnings)
	}
	if got := config.Of[store.Config](&cfg); got.At.Kind != store.Redis || env["SLUICE_AUTH"] != "required" {
		t.Errorf("the store is %+v, SLUICE_AUTH %q", got.At, env["SLUICE_AUTH"])
	}
	if _, exists := file.Data[path.Base(read.Path)]; !exists {
		t.Errorf("the gateway reads %q", read.Path)
	}
	checkTimes(t, cfg, gateway.Spec)
	checkMemory(t, gateway.Spec)
	if least := named(t, all, "HorizontalPodAutoscaler", "sluice").Spec.MinReplicas; least < 2 {
		t.Errorf("%d gateways at least", least)
	}
	if redis.Spec.ServiceName != service.Metadata.Name || len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 6379 {
		t.Errorf("Redis is behind %q, and the service is %+v", redis.Spec.ServiceName, service)
	}
	policy := named(t, all, "NetworkPolicy", "sluice-redis").Spec
	if !within(policy.PodSelector.MatchLabels, redis.Spec.Template.Metadata.Labels) || len(policy.Ingress) != 1 || len(policy.Ingress[0].From) != 1 ||
		!within(policy.Ingress[0].From[0].PodSelector.MatchLabels, gateway.Metadata.Labels) || within(policy.Ingress[0].From[0].PodSelector.MatchLabels, redis.Spec.Template.Metadata.Labels) {
		t.Errorf("who reaches Redis: %+v", policy)
	}
	checkPage(t, gateway.Spec, redis.Spec.Template.Spec)
}

// within says whether labels are what a selector asks for.
func within(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

// checkPage sees that the page makes every secret that a pod mounts.
func checkPage(t *testing.T, pods ...pod) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods {
		for _, v := range p.Volumes {
			if v.Secret.SecretName != "" && !strings.Contains(string(page), "secret generic "+v.Secret.SecretName+" ") {
				t.Errorf("the page does not make the secret %s", v.Secret.SecretName)
			}
			for _, item := range v.Secret.Items {
				if !strings.Contains(string(page), "--from-literal="+item.Key+"=") {
					t.Errorf("the page does not make %s of the secret %s", item.Key, v.Secret.SecretName)
				}
			}
		}
	}
}
