package peers

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/replay"
	"sluice/internal/model"
)

// aimockFixtures are what aimock says. Models of the later ones break.
const aimockFixtures = `{"fixtures": [
	{"match": {"model": "cut"}, "response": {"content": "This text is cut in its middle, after some pieces of it."}, "truncateAfterChunks": 9, "latency": 20, "chunkSize": 5},
	{"match": {"model": "gone"}, "response": {"content": "This text is cut in its middle, after some pieces of it."}, "disconnectAfterMs": 600, "latency": 50, "chunkSize": 5},
	{"match": {"model": "limited"}, "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 30}},
	{"match": {"model": "refused"}, "response": {"error": {"message": "no such key", "type": "authentication_error"}, "status": 401}},
	{"match": {"model": "long"}, "response": {"content": "one two", "finishReason": "length"}},
	{"match": {"model": "flaky", "sequenceIndex": 0}, "response": {"error": {"message": "try again", "type": "server_error"}, "status": 503}},
	{"match": {"model": "flaky"}, "response": {"content": "here again"}},
	{"match": {"userMessage": "todo", "hasToolResult": false}, "response": {
		"reasoning": "Which todos are there?",
		"toolCalls": [{"name": "list_todos", "arguments": {"status": "open"}}, {"name": "create_todo", "arguments": {"title": "Käse"}}]
	}},
	{"match": {"userMessage": "todo", "hasToolResult": true}, "response": {"content": "It is done: cheese, 10 € & more."}}
]}`

// startAIMock starts CopilotKit's server of that name, and returns its URL.
func startAIMock(t *testing.T) string {
	t.Helper()
	program := node(t)
	script := installed(t, npmFolder+"/node_modules/@copilotkit/aimock/dist/cli.js")
	fixtures := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(fixtures, []byte(aimockFixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	host, port, _ := strings.Cut(addr, ":")
	startServer(t, command{name: program, args: []string{script, "-h", host, "-p", port, "-f", fixtures, "-c", "7"}, env: baseEnv()}, addr)
	return "http://" + addr
}

// aimock answers in three protocols by code that is not ours: a turn with two calls says
// the same in each, and what is broken is reported.
func TestAIMock(t *testing.T) {
	t.Parallel()
	url := startAIMock(t)
	for _, api := range []string{replay.Chat, replay.Responses, replay.Messages} {
		t.Run(api, func(t *testing.T) {
			open := func(name string) *model.Model {
				spec := replay.Spec(api, url+"/v1/"+api)
				spec.Model, spec.APIKey, spec.Retries, spec.Idle = name, "sk-test", 2, 5*time.Second
				// Matches are counted for each test by itself.
				m, err := replay.Open(spec, model.Options{Transport: header{"X-Test-Id", api}})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(m.Close)
				return m
			}
			got := runTurn(t.Context(), open("judged"), "What is todo?")
			for i := range got {
				got[i].Input, got[i].Output = 0, 0 // aimock's own guess
			}
			if diff := cmp.Diff(aimockTurn(), got); diff != "" {
				t.Errorf("turn (-want +got):\n%s", diff)
			}
			for name, want := range map[string]replay.Answer{
				"cut":     {Text: "This", Error: "model_unavailable"},
				"gone":    {Text: "This", Error: "model_unavailable"},
				"limited": {Error: "model_rate_limited"},
				"refused": {Error: "model_error"},
				"long":    {Text: "one two", Finish: "max_tokens"},
				"flaky":   {Text: "here again", Finish: "stop"},
			} {
				a, _ := replay.Ask(t.Context(), open(name), replay.Hello())
				a.Input, a.Output = 0, 0
				if want.Error != "" {
					a.Text = a.Text[:min(len(a.Text), len(want.Text))] // the rest is a matter of time
				}
				if diff := cmp.Diff(want, a); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func aimockTurn() []replay.Answer {
	return []replay.Answer{
		{Thoughts: "Which todos are there?", Finish: "stop", Calls: []replay.Call{
			{Name: "list_todos", Arguments: map[string]any{"status": "open"}}, {Name: "create_todo", Arguments: map[string]any{"title": "Käse"}},
		}},
		{Text: "It is done: cheese, 10 € & more.", Finish: "stop"},
	}
}

// header adds itself to requests.
type header struct{ name, value string }

func (h header) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return http.DefaultTransport.RoundTrip(r)
}
