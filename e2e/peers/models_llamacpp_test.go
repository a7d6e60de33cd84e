package peers

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/e2e/replay"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// startLlamaCpp starts llama.cpp's server with a model of 270 million parameters: what
// it says is of no worth, but it is a language model, and says it in three protocols.
func startLlamaCpp(t *testing.T) string {
	t.Helper()
	python, weights := installed(t, ".venv/llamacpp/bin/python"), installed(t, ".venv/llamacpp/model.gguf")
	addr := freeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	p := start(t, command{name: python, args: []string{installed(t, "e2e/peers/testdata/llamacpp.py"), weights, port}, env: baseEnv()})
	p.awaitOK(t, "http://"+addr+"/health")
	return "http://" + addr
}

// The server writes three protocols by code that is not ours; at temperature 0 the
// model says the same in each, for the same number of tokens.
func TestLlamaCpp(t *testing.T) {
	t.Parallel()
	url := startLlamaCpp(t)
	open := func(api string) *model.Model {
		zero := 0.0
		spec := replay.Spec(api, url+"/v1/"+api)
		spec.Temperature, spec.Thinking = &zero, model.Thinking{Word: "off"}
		spec.First, spec.Idle = patience, patience
		m, err := replay.Open(spec, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		return m
	}
	said := map[string]replay.Answer{}
	for _, api := range []string{replay.Chat, replay.Responses, replay.Messages} {
		hello := replay.Hello()
		hello.MaxTokens = 12
		a, _ := replay.Ask(t.Context(), open(api), hello)
		if api == replay.Responses {
			a.Finish = "max_tokens" // llama.cpp calls each response completed
		}
		said[api] = a
	}
	first := said[replay.Chat]
	if first.Text == "" || first.Finish != "max_tokens" || first.Input == 0 || first.Output != 12 {
		t.Errorf("it says %+v", first)
	}
	for api, a := range said {
		if diff := cmp.Diff(first, a); diff != "" {
			t.Errorf("%s (-%s +%s):\n%s", api, replay.Chat, api, diff)
		}
	}
	t.Run("schema", func(t *testing.T) {
		form := replay.Hello()
		form.MaxTokens = 40
		form.Form = chat.Form{Kind: chat.FormSchema, Name: "colour", Schema: []byte(`{
			"type": "object", "properties": {"colour": {"enum": ["red"]}}, "required": ["colour"], "additionalProperties": false
		}`)}
		a, _ := replay.Ask(t.Context(), open(replay.Chat), form)
		var value map[string]string
		if err := json.Unmarshal([]byte(a.Text), &value); err != nil || value["colour"] != "red" {
			t.Errorf("the structured answer is %+v: %v", a, err)
		}
	})
}
