package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/process"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/testnet"
	"sluice/mcpclient/servers"
)

// houseFile is a configuration file with a team of two.
const houseFile = `
mcpServers: {fake: {builtin: todo}}
agents:
  light-agent: {description: Controls lights, name: Lights, role: You are light-agent., tools: [fake]}
  music-agent: {description: Controls music, name: Music, role: You are music-agent.}
`

// otherFile takes one of them out and brings another in.
const otherFile = `
mcpServers: {fake: {builtin: todo}}
agents:
  light-agent: {description: Controls lights, name: Lamps, role: You are light-agent., tools: [fake]}
  other-agent: {description: Controls the rest, role: You are other-agent.}
`

// house is a gateway with a team whose parts take their time: 100 ms each for the
// decision, each answer and the tool. more are further files of its transcript.
func house(t *testing.T, log io.Writer, more string) (*gateway.Gateway, *http.Client) {
	t.Helper()
	tr := wholetest.Transcript{Archive: txtar.Parse([]byte(`A house.
-- gemini --
delay 100ms
text {"agentId":"light-agent","confidence":0.9,"additionalAgents":["music-agent"]}
finish STOP
---
delay 100ms
text {"agentId":"other-agent","confidence":0.9}
finish STOP
-- gemini.light-agent --
delay 100ms
call dim {}
finish STOP
---
delay 100ms
text The lights are low.
delay 100ms
finish STOP
-- gemini.music-agent --
delay 150ms
text Jazz is on.
finish STOP
-- mcp --
[{"name": "dim", "delay": "100ms", "result": "dimmed"}]
-- sluice.yaml --` + houseFile + more))}
	cfg, file := tr.Config(t)
	wholetest.SetServers(&cfg, nil) // they are the transcript's own
	models, _ := tr.ByAgent(t, tr.Gemini(t))
	with := gateway.Seams{Gemini: testnet.Serve(t, models), Servers: tr.Servers(t, cfg)}
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, process.NewLogger(zerolog.SyncWriter(log), "info"), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	synctest.Wait()
	return g, &http.Client{Transport: testnet.Serve(t, g)}
}

// reread returns what another reading of the file says.
func reread(t *testing.T, g *gateway.Gateway, content string) (settings.Config, error) {
	t.Helper()
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load([]string{"--config", "sluice.yaml"}, func(string) (string, bool) { return "", false },
		func(string) ([]byte, error) { return []byte(content), nil })
	now := g.Started()
	now.Team, now.Models, now.TurnTokens = file.Team, file.Models, file.TurnTokens
	now.Dialects, now.Trace = file.Dialects, file.Trace
	if list := config.Of[servers.List](&cfg); len(list) > 1 { // one stands for the transcript's own
		wholetest.SetServers(&now.Config, list)
	}
	return now, err
}

func turnOf(t *testing.T, client *http.Client) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway/chat/stream", strings.NewReader(`{"input":"Dim the lights and play jazz"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}

// A turn ends with the registry it began with, in whichever phase another one comes.
func TestReloadInEveryPhaseOfATurn(t *testing.T) {
	t.Parallel()
	for at := time.Duration(0); at <= 600*time.Millisecond; at += 50 * time.Millisecond {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, client := house(t, io.Discard, "-- gemini.other-agent --\ntext Done.\nfinish STOP\n")
				first := make(chan string)
				go func() { first <- turnOf(t, client) }()
				synctest.Wait() // it has begun
				time.Sleep(at)
				if err := g.Reload(reread(t, g, otherFile)); err != nil {
					t.Fatal(err)
				}
				if got := <-first; !strings.Contains(got, `"final_output":"The lights are low. Jazz is on."`) {
					t.Errorf("the turn that had begun: %s", got)
				}
				if got := turnOf(t, client); !strings.Contains(got, `"final_output":"Done."`) {
					t.Errorf("the turn after it: %s", got)
				}
			})
		})
	}
}

// A file with a fault, or that needs a restart, changes nothing.
func TestReloadThatIsRejected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, content, want string }{
		{"faulty", "agents: {a: {}}\n", `"faults":["sluice.yaml:1:13: /agents/a/description: is required"]`},
		{"other models", otherFile + "models: {default: {provider: ollama, model: m}}\n", `"faults":["models: differs from what runs: this needs a restart"]`},
		{"another budget", otherFile + "budget: {turn_tokens: 1000}\n", `"faults":["budget: differs from what runs: this needs a restart"]`},
		{"other bounds of histories", otherFile + "history: {messages: 3}\n", `"faults":["history: differs from what runs: this needs a restart"]`},
		{"other protocols' bounds", otherFile + "dialects: {message_chars: 6000}\n", `"faults":["dialects: differs from what runs: this needs a restart"]`},
		{"other servers", strings.Replace(otherFile, "{fake:", "{more: {builtin: todo}, fake:", 1), `"faults":["mcpServers: differs from what runs: this needs a restart"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				g, client := house(t, &log, "")
				before := g.Team()
				if err := g.Reload(reread(t, g, tt.content)); err == nil {
					t.Error("the file was taken over")
				}
				if g.Team() != before {
					t.Error("the registry has changed")
				}
				if got := log.String(); !strings.Contains(got, `"event":"config_rejected"`) || !strings.Contains(got, tt.want) {
					t.Errorf("the log: %s", got)
				}
				if got := turnOf(t, client); !strings.Contains(got, "Jazz is on.") {
					t.Errorf("the turn after it: %s", got)
				}
			})
		})
	}
}

func getOf(t *testing.T, h http.Handler, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Body.String()
}

// The log says what has changed, and GET /agents has it at once.
func TestReloadIsReported(t *testing.T) {
	t.Parallel()
	log := new(gatewaytest.LogTail)
	cfg := faultyConfig(t, "SLUICE_TODO_DB=:memory:\n")
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: settings.File{Path: "sluice.yaml"}, Version: "test"}, process.NewLogger(log, "info"), gateway.Seams{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for i, step := range []struct{ content, agents, log string }{
		{"agents: {a: {description: x}, b: {description: y, routable: false}}\n", `"id":"a"`, `"added":["a","b"],"removed":[]`},
		{"agents: {b: {description: y}, c: {description: z}}\nrouter: off\n", `"id":"c"`, `"added":["c"],"removed":["a"]`},
		{"models: {}\n", `{"agents":[],"version":`, `"added":[],"removed":["b","c"]`},
	} {
		if err := g.Reload(reread(t, g, step.content)); err != nil {
			t.Fatal(err)
		}
		if got := log.String(); !strings.Contains(got, `"event":"config_reloaded"`) || !strings.Contains(got, step.log) {
			t.Errorf("%d: the log: %s", i, got)
		}
		if got := getOf(t, g, "/agents"); !strings.Contains(got, step.agents) {
			t.Errorf("%d: GET /agents: %s", i, got)
		}
	}
}

// A turn's trace has what the file says when the turn begins.
func TestReloadOfTraces(t *testing.T) {
	t.Parallel()
	cfg, file := wholetest.Configured(t, "{}\n", map[string]string{"SLUICE_TODO_DB": ":memory:", "SLUICE_STORE": "memory"})
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), gateway.Seams{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	f := &wholetest.Flow{T: t, Gateway: g}
	f.Client.Transport = testnet.Serve(t, g)
	for _, step := range []struct {
		content string
		whole   bool
	}{{"{}\n", true}, {"trace: {payloads: names}\n", false}, {"{}\n", true}} {
		if err := g.Reload(reread(t, g, step.content)); err != nil {
			t.Fatal(err)
		}
		_, reply := f.Post(`{"input":"Remind me to feed Canary"}`)
		found := regexp.MustCompile(`"task_id":"([^"]+)"`).FindStringSubmatch(reply)
		if found == nil {
			t.Fatal(reply)
		}
		if _, trace := f.Get("/tasks/" + found[1] + "/trace"); strings.Contains(trace, "Canary") != step.whole || !strings.Contains(trace, "create_todo") {
			t.Errorf("%q: %s", step.content, trace)
		}
	}
}
