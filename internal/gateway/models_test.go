package gateway

import (
	"strings"
	"testing"
	"time"

	"sluice/breaker"
	"sluice/internal/gateway/gatewaytest"
	"sluice/model"
)

// openGateway makes a gateway with models, without its HTTP server.
func openGateway(t *testing.T, env map[string]string, specs ...model.Spec) (*Gateway, *gatewaytest.LogTail, error) {
	t.Helper()
	cfg, err := Loader().Load(nil, gatewaytest.LookupIn(gatewaytest.WithDefaults(t, env)), nil)
	if err != nil {
		t.Fatal(err)
	}
	log := new(gatewaytest.LogTail)
	g, err := New(t.Context(), Config{Config: cfg, File: File{Models: specs}, Version: "test"}, newLogger(log, "info"), Seams{})
	if err == nil {
		t.Cleanup(g.Close)
	}
	return g, log, err
}

func simulated(key string) model.Spec {
	return model.Spec{
		Key: key, Provider: "simulator", Model: "sim-1", First: 15 * time.Second, Idle: 15 * time.Second,
		Retries: 2, Breaker: breaker.Config{Failures: 3, Recovery: time.Minute, HalfOpenCalls: 3},
	}
}

// Each configured model has a breaker of its own, and default answers.
func TestConfiguredModels(t *testing.T) {
	t.Parallel()
	g, _, err := openGateway(t, nil, simulated("default"), simulated("spare"))
	if err != nil {
		t.Fatal(err)
	}
	var services []string
	for _, m := range g.models.all {
		services = append(services, m.Breaker().Snapshot().Service)
	}
	if got := strings.Join(services, " "); got != "model:default model:spare" || g.Model() != "sim-1" {
		t.Errorf("breakers %s, model %s", got, g.Model())
	}
}

// The GEMINI_* variables make default if it is not configured, under its old name.
func TestDefaultModelBesideOthers(t *testing.T) {
	t.Parallel()
	g, _, err := openGateway(t, gatewaytest.Scripted(t, "loop\ntext Hi\nfinish STOP").Env(), simulated("spare"))
	if err != nil {
		t.Fatal(err)
	}
	all := g.models.all
	if len(all) != 2 || g.models.Link("") != model.Link(all[1]) || all[1].Breaker().Snapshot().Service != "gemini" {
		t.Errorf("%d models, the last has the breaker %s", len(all), all[1].Breaker().Snapshot().Service)
	}
}

func TestProviderThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, _, err := openGateway(t, nil, model.Spec{Key: "x", Provider: "nobody"}); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("error = %v", err)
	}
}
