package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/replay"
	"sluice/internal/base/testnet"
	"sluice/internal/model"
	codec "sluice/internal/model/gemini"
	"sluice/internal/sim/geminisim"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// modelsBin is where LiteLLM's proxy and llmock are installed.
const modelsBin = ".venv/models/bin/"

// liteLLMKey is what the proxy asks for.
const liteLLMKey = "sk-test-0123456789abcdef0123456789abcdef"

// startLiteLLM starts LiteLLM's proxy in front of Gemini APIs, each behind a model's
// name, and returns its URL.
func startLiteLLM(t *testing.T, apis map[string]string) string {
	t.Helper()
	program := installed(t, modelsBin+"litellm")
	dir := t.TempDir()
	var models []any
	for name, url := range apis {
		models = append(models, map[string]any{"model_name": name, "litellm_params": map[string]any{
			"model": "gemini/gemini-flash-latest", "api_key": "test-key-0123456789", "api_base": url + "/v1beta",
		}})
	}
	config, err := json.Marshal(map[string]any{"model_list": models, "litellm_settings": map[string]any{"num_retries": 0}}) // JSON is YAML
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.yaml"), config, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(freeAddr(t), ":")
	p := start(t, command{
		name: program,
		args: []string{"--config", "config.yaml", "--host", host, "--port", port},
		dir:  dir,
		// It would fetch a list of prices, and ask a registry for its newest version.
		env: with(baseEnv(), "HOME", dir, "LITELLM_MASTER_KEY", liteLLMKey, "LITELLM_LOCAL_MODEL_COST_MAP", "True",
			"LITELLM_MODE", "PRODUCTION", "NO_DOCS", "True", "DO_NOT_TRACK", "1"),
	})
	url := "http://" + host + ":" + port
	p.awaitOK(t, url+"/health/liveliness")
	return url
}

// awaitOK waits until url is answered with 200.
func (p *process) awaitOK(t *testing.T, url string) {
	t.Helper()
	testnet.Eventually(t, p.name+" answers "+url, func() bool {
		select {
		case <-p.ended:
			t.Fatalf("%s ended: %v", p.name, p.err)
		default:
		}
		resp, err := http.Get(url)
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// todoTools are what a turn of these tests may call.
func todoTools() *tool.Set {
	spec := func(name, property string) tool.Spec {
		schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, property, property)
		return tool.Spec{Name: name, Description: "Works on todos.", InputSchema: []byte(schema)}
	}
	return &tool.Set{Specs: []tool.Spec{spec("list_todos", "status"), spec("create_todo", "title")}}
}

// runTurn asks m, answers its calls, and continues until it has no more. It returns what was
// answered, but for the ids.
func runTurn(ctx context.Context, m replay.Model, text string) (answers []replay.Answer) {
	req := &chat.ModelRequest{
		System:   "Be brief.",
		Tools:    todoTools(),
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: text}}}},
	}
	for req.Step = 1; req.Step <= 5; req.Step++ {
		a, said := replay.Ask(ctx, m, req)
		results := chat.Message{Role: chat.RoleUser}
		for i, c := range a.Calls {
			text := fmt.Sprintf(`{"done":%q,"number":%d}`, c.Name, i)
			results.Parts = append(results.Parts, chat.Part{Result: &tool.Result{ID: c.ID, Name: c.Name, Text: text}})
			a.Calls[i].ID = ""
		}
		answers = append(answers, a)
		if a.Error != "" || len(results.Parts) == 0 {
			break
		}
		req.Messages = append(req.Messages, said, results)
	}
	return answers
}

// liteLLMScript is a turn of two steps.
const liteLLMScript = `
usage 120 30 12
thought Which todos are there?
call list_todos {"status":"open"}
call create_todo {"title":"Käse"}
finish STOP
---
usage 200 25 0
text It is done:
text " cheese, 10 € & more."
finish STOP
`

// The same turn says the same whether we ask Gemini, or LiteLLM asks it for us: then the
// streams of Chat Completions and Messages are written by others, and what goes back is
// read by others.
func TestLiteLLM(t *testing.T) {
	t.Parallel()
	// What LiteLLM sends is not ours to judge: it sends thoughts back.
	lenient := geminisim.Config{Script: parse(t, "lenient\n"+liteLLMScript)}
	sims := map[string]*geminisim.Server{
		"direct":   simulator(t, geminisim.Config{Script: parse(t, liteLLMScript)}),
		"chat":     simulator(t, lenient),
		"messages": simulator(t, lenient),
	}
	apis := map[string]string{}
	for way, sim := range sims {
		apis[way] = serve(t, sim)
	}
	proxy := startLiteLLM(t, apis)
	open := func(m *model.Model, err error) replay.Model {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		return m
	}
	through := func(way, protocol string) replay.Model {
		spec := replay.Spec(protocol, proxy+"/v1/"+protocol)
		spec.Model, spec.APIKey = way, liteLLMKey
		return open(replay.Open(spec, model.Options{}))
	}
	spec := replay.Spec("", apis["direct"])
	spec.Provider, spec.Model, spec.APIKey = "gemini", "gemini-flash-latest", "test-key-0123456789"

	const question = "What is to be done?"
	direct := runTurn(t.Context(), open(codec.New(spec, model.Options{})), question)
	if len(direct) != 2 || direct[0].Thoughts == "" || len(direct[0].Calls) != 2 || direct[1].Text == "" {
		t.Fatalf("the turn is %+v", direct)
	}
	for way, m := range map[string]replay.Model{"chat": through("chat", replay.Chat), "messages": through("messages", replay.Messages)} {
		if diff := cmp.Diff(direct, runTurn(t.Context(), m, question)); diff != "" {
			t.Errorf("%s (-direct +LiteLLM):\n%s", way, diff)
		}
		if diff := cmp.Diff(shown(t, sims["direct"]), shown(t, sims[way])); diff != "" {
			t.Errorf("%s: what Gemini is shown in the end (-direct +LiteLLM):\n%s", way, diff)
		}
	}
}

// snake are the names of members that LiteLLM writes as protobuf has them.
var snake = strings.NewReplacer("function_call", "functionCall", "function_response", "functionResponse")

// shown returns the texts, calls and results of the last request that sim got, but for
// thoughts and for the form of results.
func shown(t *testing.T, sim *geminisim.Server) (list []string) {
	t.Helper()
	requests := sim.Requests()
	var body struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text         string
				Thought      bool
				FunctionCall *struct {
					ID, Name string
					Args     map[string]any
				}
				FunctionResponse *struct{ ID, Name string }
			}
		}
	}
	last := requests[len(requests)-1].Body
	if err := json.Unmarshal([]byte(snake.Replace(string(last))), &body); err != nil {
		t.Fatal(err)
	}
	for _, c := range body.Contents {
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				list = append(list, fmt.Sprint(c.Role, " calls ", *p.FunctionCall))
			case p.FunctionResponse != nil:
				list = append(list, fmt.Sprint(c.Role, " answers ", *p.FunctionResponse))
			case !p.Thought:
				list = append(list, c.Role+" says "+p.Text)
			}
		}
	}
	return list
}
