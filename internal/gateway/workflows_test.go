package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/config"
	"sluice/internal/gateway/gatewaytest"
	"sluice/internal/settings"
	"sluice/internal/testnet"
)

// flowing is a gateway with a configuration file.
type flowing struct {
	t *testing.T
	*Gateway
	client http.Client
}

// configured reads the settings and the file of a gateway.
func configured(t testing.TB, content string, env map[string]string) (config.Config, settings.File) {
	t.Helper()
	all := map[string]string{"SLUICE_CONFIG": "f.yaml", "SLUICE_TODO_DB": ":memory:", "SLUICE_STORE": "memory", "GEMINI_API_KEY": ""}
	for name, value := range env {
		all[name] = value
	}
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(all), func(name string) ([]byte, error) {
		if name != "f.yaml" {
			return nil, os.ErrNotExist
		}
		return []byte(content), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg, file
}

// awaitTools waits until the sessions of a gateway with all its tool servers are up.
func awaitTools(t testing.TB, g http.Handler) {
	t.Helper()
	testnet.Eventually(t, "the servers are connected", func() bool {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		return strings.Contains(w.Body.String(), `"mcp":[`) && !strings.Contains(w.Body.String(), `"connected":false`)
	})
}

func startFlows(t *testing.T, content string, env map[string]string) *flowing {
	t.Helper()
	cfg, file := configured(t, content, env)
	g, err := New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), Seams{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	f := &flowing{t: t, Gateway: g}
	f.client.Transport = testnet.Serve(t, g)
	return f
}

// post returns the status and the body of a turn.
func (f *flowing) post(body string) (int, string) {
	f.t.Helper()
	return f.postTo("/chat/stream", body)
}

func (f *flowing) postTo(path, body string) (int, string) {
	f.t.Helper()
	req, _ := http.NewRequestWithContext(f.t.Context(), http.MethodPost, "http://gateway"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	return f.do(req)
}

// do returns the status and the body of the reply to a request.
func (f *flowing) do(req *http.Request) (int, string) {
	f.t.Helper()
	resp, err := f.client.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// dataOf returns the data of the last event of that name.
func dataOf(t *testing.T, stream, name string, into any) {
	t.Helper()
	i := strings.LastIndex(stream, "event: "+name+"\ndata: ")
	if i < 0 {
		t.Fatalf("there is no %s in\n%s", name, stream)
	}
	data, _, _ := strings.Cut(stream[i+len("event: "+name+"\ndata: "):], "\n")
	if err := json.Unmarshal([]byte(data), into); err != nil {
		t.Fatal(err)
	}
}

type doneData struct {
	Output  string   `json:"final_output"`
	Reason  string   `json:"finish_reason"`
	Success bool     `json:"success"`
	Tools   []string `json:"tools_called"`
}

// The examples run without a key: the offline model plays all agents.
func TestExampleWorkflows(t *testing.T) {
	t.Parallel()
	refund, err := os.ReadFile("../../examples/workflows/refund.yaml")
	if err != nil {
		t.Fatal(err)
	}
	research, err := os.ReadFile("../../examples/workflows/research.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		file, input, action string
		tools               int
		want                string
	}{
		"approved":  {string(refund), `I want a refund of 30 EUR","workflow":"refund`, "approve", 1, "Hello,\n\nhere is what we found. Your refund was paid: 30 EUR.\n\nKind regards"},
		"rejected":  {string(refund), `I want a refund of 30 EUR","workflow":"refund`, "reject", 0, "nothing was found"},
		"no refund": {string(refund), `Are you open today?","workflow":"refund`, "", 0, "nothing was found"},
		"research":  {string(research), `How do tides work?","workflow":"research`, "", 4, "What is unsure about: How do tides work"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFlows(t, tt.file, nil)
			status, stream := f.post(`{"input":"` + tt.input + `"}`)
			if tt.action != "" {
				var asked struct {
					Kind, Prompt, Token string
				}
				dataOf(t, stream, "approval", &asked)
				if asked.Kind != "human" || asked.Prompt != "Refund 30 EUR?" {
					t.Errorf("asked %+v", asked)
				}
				status, stream = f.post(`{"approval":{"token":"` + asked.Token + `","action":"` + tt.action + `"}}`)
			}
			var done doneData
			dataOf(t, stream, "done", &done)
			if status != 200 || !done.Success || done.Reason != "stop" || len(done.Tools) != tt.tools || !strings.Contains(done.Output, tt.want) {
				t.Errorf("%d %+v", status, done)
			}
			if !strings.Contains(stream, "event: inner_delta\n") || !strings.Contains(stream, `"iteration":2`) {
				t.Errorf("no draft is told:\n%s", stream)
			}
		})
	}
}

func TestWorkflowRequests(t *testing.T) {
	t.Parallel()
	f := startFlows(t, "agents: {a: {description: x}}\nworkflows: {one: {nodes: {n: {type: agent, agent: a}}}}\n", nil)
	for body, want := range map[string]string{
		`{"input":"x","workflow":"two"}`:                       `{"field":"/workflow","code":"unknown_value"`,
		`{"input":"x","workflow":"Not a name"}`:                `{"field":"/workflow","code":"unknown_value"`,
		`{"input":"x","workflow":"one","agent":"a"}`:           `{"field":"/agent","code":"not_allowed"`,
		`{"input":"x","workflow":"one","kind":"A B"}`:          `{"field":"/kind","code":"invalid_format"`,
		`{"input":"x","workflow":"one","retention_days":"7"}`:  `{"field":"/retention_days","code":"wrong_type"`,
		`{"input":"x","workflow":"one","retention_days":1.5}`:  `{"field":"/retention_days","code":"invalid_format"`,
		`{"input":"x","workflow":"one","retention_days":3651}`: `{"field":"/retention_days","code":"invalid_format"`,
	} {
		if status, got := f.post(body); status != 422 || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
	if status, got := f.post(`{"input":"Show my todos","workflow":"one","kind":"debug","retention_days":0}`); status != 200 || !strings.Contains(got, `"node_id":"n"`) {
		t.Errorf("%d %s", status, got)
	}
	plain := startFlows(t, "agents: {a: {description: x}}\n", nil)
	if status, got := plain.post(`{"input":"x","workflow":"one"}`); status != 422 || !strings.Contains(got, `"code":"unknown_value"`) {
		t.Errorf("%d %s", status, got)
	}
}

// Workflows are read again with the agents. A run that waits goes on with the definition
// that it began with.
func TestWorkflowsReload(t *testing.T) {
	t.Parallel()
	const before = "agents: {a: {description: x}}\nworkflows: {one: {nodes: {h: {type: human, prompt: q}, n: {type: agent, agent: a}}, edges: [{from: h, to: n}]}}\n"
	f := startFlows(t, before, nil)
	_, stream := f.post(`{"input":"Show my todos","workflow":"one"}`)
	var asked struct{ Token string }
	dataOf(t, stream, "approval", &asked)
	cfg, file := configured(t, strings.Replace(before, "prompt: q", "prompt: other", 1), nil)
	if err := f.Reload(settings.Config{Config: cfg, File: file}, nil); err != nil {
		t.Fatal(err)
	}
	if _, stream := f.post(`{"input":"Show my todos","workflow":"one"}`); !strings.Contains(stream, `"prompt":"other"`) {
		t.Errorf("the file before answers:\n%s", stream)
	}
	if status, got := f.post(`{"approval":{"token":"` + asked.Token + `","action":"approve"}}`); status != 200 || !strings.Contains(got, `"finish_reason":"stop"`) {
		t.Errorf("%d %s", status, got)
	}
}
