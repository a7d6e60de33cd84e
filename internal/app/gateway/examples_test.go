package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/process"
	"sluice/internal/app/settings"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/modelsim"
	"sluice/internal/sim/offline"
)

// taker calls the tools add and take, then answers.
type taker struct{}

func (taker) Version() string { return "taker" }

func (taker) Answer(q geminisim.Question) geminisim.Answer {
	if len(q.Messages[len(q.Messages)-1].Results) > 0 {
		return geminisim.Answer{Text: "Both are done."}
	}
	return geminisim.Answer{Thoughts: []string{"Hm"}, Calls: []geminisim.Call{{Name: "add", Args: []byte("{}")}, {Name: "take", Args: []byte("{}")}}}
}

// internet stands in for all services: it sends a request to the simulator of its
// protocol, whatever its host.
type internet struct {
	models *modelsim.Server
	gemini *geminisim.Server
	down   func(host string) bool

	mu    sync.Mutex // guards asked
	asked []string   // URL and key of each request
}

func (n *internet) RoundTrip(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	line := req.URL.String()
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "X-Title"} {
		if v := req.Header.Get(name); v != "" {
			line += " " + name + "=" + v
		}
	}
	n.mu.Lock()
	if len(n.asked) == 0 || n.asked[len(n.asked)-1] != line {
		n.asked = append(n.asked, line)
	}
	n.mu.Unlock()
	if n.down(req.URL.Hostname()) {
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: req}, nil
	}
	in := req.Clone(req.Context())
	in.RequestURI, in.Host = req.URL.RequestURI(), req.URL.Host
	out := httptest.NewRecorder()
	if strings.Contains(req.URL.Path, ":streamGenerateContent") {
		n.gemini.ServeHTTP(out, in)
	} else {
		in.URL.Path = "/v1" + req.URL.Path[strings.Index(req.URL.Path, "/v1")+len("/v1"):]
		n.models.ServeHTTP(out, in)
	}
	resp := out.Result()
	resp.Request = req
	return resp, nil
}

// startExample starts a gateway with a file of examples/models as it is.
func startExample(t *testing.T, name string, world *internet) *gatewaytest.Running {
	t.Helper()
	env := gatewaytest.WithDefaults(t, map[string]string{
		"SLUICE_CONFIG": filepath.Join("..", "..", "..", "examples", "models", name), "MCP_CONFIG": wholetest.TwoTools(t, new(atomic.Int64)),
		"OPENAI_API_KEY": "key-openai", "ANTHROPIC_API_KEY": "key-anthropic", "OPENROUTER_API_KEY": "key-openrouter", "GROQ_API_KEY": "key-groq",
		"GEMINI_API_KEY": "key-gemini", "AZURE_OPENAI_API_KEY": "key-azure", "AZURE_OPENAI_RESOURCE": "res", "AZURE_OPENAI_DEPLOYMENT": "dep",
	})
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(env), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	r := gatewaytest.NewRunning(t)
	r.Log = new(gatewaytest.LogTail)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, process.NewLogger(r.Log, "info"), gateway.Seams{Gemini: world})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	r.Base = gatewaytest.ServeHandler(t, g)
	r.Log.Await(t, "mcp_connected", nil)
	return r
}

// example is a file, the hosts that are down, and what is asked then: addresses and keys.
type example struct {
	file, down string
	want       []string
}

// routedExample is the example of a router: its models are asked for more than an answer.
const routedExample = "router.yaml"

// The small model decides, and the large one answers for the agent that it chose.
func TestExampleOfARouter(t *testing.T) {
	t.Parallel()
	world := &internet{
		models: modelsim.New(modelsim.Config{Model: offline.Model{}, Roles: offline.Roles()}), gemini: geminisim.New(geminisim.Config{Model: offline.Model{}}),
		down: func(string) bool { return false },
	}
	r := startExample(t, routedExample, world)
	frames := r.Ask("Remind me to buy eggs tomorrow")
	gatewaytest.WantSuccess(t, frames, "stop")
	if d := gatewaytest.Done(frames); d.Str("tools_called") != "[create_todo]" {
		t.Errorf("the turn ended with %s", d.Raw)
	}
	large := "https://api.anthropic.com/v1/messages X-Api-Key=key-anthropic"
	if diff := cmp.Diff([]string{"http://127.0.0.1:11434/v1/chat/completions", large}, world.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// Each example asks the address that it is about with the key that it names, in a way
// that the service takes, and a turn with two tools ends well.
func TestExamplesOfModels(t *testing.T) {
	t.Parallel()
	groq, gemini, local := "https://api.groq.com/openai/v1/chat/completions Authorization=Bearer key-groq",
		"https://generativelanguage.googleapis.com/v1beta/models/gemini-flash-latest:streamGenerateContent?alt=sse X-Goog-Api-Key=key-gemini",
		"http://127.0.0.1:8080/v1/chat/completions"
	rows := []example{
		{"ollama.yaml", "", []string{"http://127.0.0.1:11434/v1/chat/completions"}},
		{"openai.yaml", "", []string{"https://api.openai.com/v1/responses Authorization=Bearer key-openai"}},
		{"azure.yaml", "", []string{"https://res.openai.azure.com/openai/v1/responses Api-Key=key-azure"}},
		{"anthropic.yaml", "", []string{"https://api.anthropic.com/v1/messages X-Api-Key=key-anthropic"}},
		{"openrouter.yaml", "", []string{"https://openrouter.ai/api/v1/chat/completions Authorization=Bearer key-openrouter X-Title=Sluice"}},
		{"fallback.yaml", "", []string{groq}},
		{"fallback.yaml", "api.groq.com", []string{groq, gemini}},
		{"fallback.yaml", "api.groq.com generativelanguage.googleapis.com", []string{groq, gemini, local}},
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "examples", "models", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := filepath.Base(f); name != routedExample && !slices.ContainsFunc(rows, func(e example) bool { return e.file == name }) {
			t.Errorf("%s is not tried", f)
		}
	}
	for _, row := range rows {
		t.Run(fmt.Sprint(row.file, " without ", row.down), func(t *testing.T) {
			t.Parallel()
			world := &internet{
				models: modelsim.New(modelsim.Config{Model: taker{}}), gemini: geminisim.New(geminisim.Config{Model: taker{}}),
				down: func(host string) bool { return slices.Contains(strings.Fields(row.down), host) },
			}
			r := startExample(t, row.file, world)
			frames := r.Ask("go")
			gatewaytest.WantSuccess(t, frames, "stop")
			if d := gatewaytest.Done(frames); d.Str("final_output") != "Both are done." || d.Str("tools_called") != "[add take]" {
				t.Errorf("the turn ended with %s", d.Raw)
			}
			if diff := cmp.Diff(row.want, world.asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			for _, f := range slices.Concat(world.models.Failures(), world.gemini.Failures()) {
				t.Error(f)
			}
		})
	}
}
