package providers

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
	"sluice/internal/model/gemini"
	"sluice/internal/turn/chat"
)

// opened opens models, of a configuration that has a key of Gemini unless offline is set.
func opened(t testing.TB, offline bool, transport http.RoundTripper, specs ...model.Spec) *Models {
	t.Helper()
	m, err := Open(t.Context(), configured(offline, transport, specs...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func configured(offline bool, transport http.RoundTripper, specs ...model.Spec) Config {
	var set config.Config
	google := config.Bind[gemini.Config](&set)
	google.BaseURL, google.Model, google.Timeout = gemini.DefaultBaseURL, "gemini-3-test", time.Minute
	google.Breaker = breaker.Config{Failures: 3, Recovery: time.Minute, HalfOpenCalls: 1}
	if !offline {
		google.APIKey = "key-0123456789"
	}
	return Config{Settings: set, Models: specs, Version: "test", Log: zerolog.Nop(), Metrics: metrics.New(), Transport: transport}
}

func simulated(key string) model.Spec {
	return model.Spec{
		Key: key, Provider: model.Simulator, Model: "sim-1", First: 15 * time.Second, Idle: 15 * time.Second,
		Retries: 2, Breaker: breaker.Config{Failures: 3, Recovery: time.Minute, HalfOpenCalls: 3},
	}
}

func spoken(key, host string, fallback ...string) model.Spec {
	return model.Spec{
		Key: key, Provider: model.OpenAI, API: model.ChatAPI, Endpoint: "http://" + host + "/v1/chat/completions", Model: "m-" + key, First: time.Minute, Idle: time.Minute,
		Breaker: breaker.Config{Failures: 1, Recovery: time.Hour, HalfOpenCalls: 1}, Fallback: fallback, FallbackOn: model.DefaultFallbackOn(),
	}
}

// upstream speaks Chat Completions and Gemini's protocol: "down" always fails, all other
// hosts say text.
type upstream struct{ text string }

func (u upstream) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	_ = req.Body.Close()
	resp := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody, Request: req, ProtoMajor: 1, ProtoMinor: 1}
	if req.URL.Host == "down" {
		return resp, nil
	}
	quoted := strings.ReplaceAll(strings.ReplaceAll(u.text, `\`, `\\`), `"`, `\"`)
	body := `data: {"choices":[{"index":0,"delta":{"content":"` + quoted + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}` + "\n\ndata: [DONE]\n\n"
	if strings.Contains(req.URL.Path, "streamGenerateContent") {
		body = `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"` + quoted + `"}]},"finishReason":"STOP"}],"modelVersion":"m"}` + "\r\n\r\n"
	}
	resp.StatusCode = http.StatusOK
	resp.Header.Set("Content-Type", "text/event-stream")
	resp.Body = io.NopCloser(strings.NewReader(body))
	return resp, nil
}

// said is what a model answers.
func said(t *testing.T, link model.Link) string {
	t.Helper()
	var text strings.Builder
	req := &chat.ModelRequest{Step: 1, Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "Hello"}}}}}
	err := link.Stream(t.Context(), req, func(c *chat.Chunk) error {
		for i := range c.Parts {
			text.WriteString(c.Parts[i].Text)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return text.String()
}

// services lists what the models' breakers guard.
func services(m *Models) (all []string) {
	for _, each := range m.All() {
		all = append(all, each.Breaker().Snapshot().Service)
	}
	return all
}

// Each configured model has a breaker of its own, and default answers.
func TestConfiguredModels(t *testing.T) {
	t.Parallel()
	m := opened(t, true, nil, simulated("default"), simulated("spare"))
	if diff := cmp.Diff([]string{"model:default", "model:spare"}, services(m)); diff != "" {
		t.Errorf("breakers (-want +got):\n%s", diff)
	}
	if name := m.Link("").Name(); name != "sim-1" || !m.Offline() || m.Link("other") != nil {
		t.Errorf("default is %s, offline %v, another one is %v", name, m.Offline(), m.Link("other"))
	}
	if diff := cmp.Diff([]string{"default", "spare"}, m.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// The GEMINI_* variables make default if it is not configured, under its old name.
func TestDefaultModelAmongOthers(t *testing.T) {
	t.Parallel()
	m := opened(t, false, upstream{"Hi"}, spoken("spare", "up"))
	all := m.All()
	if len(all) != 2 || m.Link("") != model.Link(all[1]) {
		t.Errorf("%d models, default is %v", len(all), m.Link(""))
	}
	if diff := cmp.Diff([]string{"model:spare", "gemini"}, services(m)); diff != "" {
		t.Errorf("breakers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"spare", "default"}, m.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	for _, key := range []string{"", "spare"} {
		if got := said(t, m.Link(key)); got != "Hi" {
			t.Errorf("%s answers %q", key, got)
		}
	}
	if name := m.Link("").Name(); m.Offline() || name != "gemini-3-test" {
		t.Errorf("offline %v, model %s", m.Offline(), name)
	}
}

// Without a key the offline model answers over loopback.
func TestOfflineModel(t *testing.T) {
	t.Parallel()
	m := opened(t, true, nil)
	if name := m.Link("").Name(); !m.Offline() || name != OfflineModel {
		t.Errorf("offline %v, model %s", m.Offline(), name)
	}
	if got := said(t, m.Link("")); got == "" {
		t.Error("it says nothing")
	}
}

// A model that fails is followed by the next of its own list, and the third is never asked
// by way of the second.
func TestFallbacksAreChains(t *testing.T) {
	t.Parallel()
	m := opened(t, false, upstream{"Hi"}, spoken("first", "down", "second"), spoken("second", "down", "third"), spoken("third", "up"))
	if got := said(t, m.Link("second")); got != "Hi" {
		t.Errorf("second answers %q", got)
	}
	err := m.Link("first").Stream(t.Context(), &chat.ModelRequest{Step: 1}, func(*chat.Chunk) error { return nil })
	if err == nil {
		t.Error("the fallback of a fallback was asked")
	}
}

func TestProviderThatIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), configured(true, nil, simulated("default"), model.Spec{Key: "x", Provider: "nobody"}))
	if err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("error = %v", err)
	}
}

// What stands around transports stands around that of each model, also where a model would
// make its own.
func TestAroundEachTransport(t *testing.T) {
	t.Parallel()
	for _, given := range []http.RoundTripper{nil, upstream{"real"}} {
		cfg := configured(false, given, spoken("spare", "up"))
		around := 0
		cfg.Around = func(next http.RoundTripper) http.RoundTripper {
			if next == nil {
				t.Error("there is no transport to stand around")
			}
			around++
			return upstream{"taped"}
		}
		m, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := said(t, m.Link("spare")) + " " + said(t, m.Link("")); got != "taped taped" || around != 2 {
			t.Errorf("they answer %q, over %d transports", got, around)
		}
		m.Close()
	}
}

// Health has a breaker for each model, and those with a key by their names.
func TestCheckers(t *testing.T) {
	t.Parallel()
	spare := spoken("spare", "down")
	spare.MissingKey = "OPENAI_API_KEY"
	m := opened(t, false, upstream{"Hi"}, spare)
	_ = m.Link("spare").Stream(t.Context(), &chat.ModelRequest{Step: 1}, func(*chat.Chunk) error { return nil })
	var got []any
	for _, part := range m.Checkers() {
		switch s := part.Check().(type) {
		case health.Breaker:
			got = append(got, s.Service+" "+string(s.State))
		default:
			got = append(got, s)
		}
	}
	want := []any{
		"model:spare open", health.Model{Key: "spare", Provider: "openai", Model: "m-spare", Breaker: health.Open, MissingKey: "OPENAI_API_KEY"},
		"gemini closed", health.Model{Key: "default", Provider: "gemini", Model: "gemini-3-test", Breaker: health.Closed},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// The configuration file may name each protocol that can be opened, and no other.
func TestProtocols(t *testing.T) {
	t.Parallel()
	for _, p := range Protocols() {
		if openerOf(p.Protocol) == nil {
			t.Errorf("%s cannot be opened", p.Protocol)
		}
	}
	if len(Protocols()) < 3 || openerOf("simulator") != nil {
		t.Errorf("there are %d protocols", len(Protocols()))
	}
}
