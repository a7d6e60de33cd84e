package protocols

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// picky is a service that refuses some forms of answers, in words of its own, and answers
// requests for others.
type picky struct {
	script
	status  int
	refusal map[string]string // by form: schema, json or prompt
	answers map[string]string // by form; else {"n":7}

	mu    sync.Mutex // guards the field below
	asked []string   // the forms of the requests
}

func (p *picky) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	form := formOf(string(sent))
	p.mu.Lock()
	p.asked = append(p.asked, form)
	p.mu.Unlock()
	form = strings.TrimSuffix(form, "!")
	reply := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r, ContentLength: -1}
	body := p.refusal[form]
	if body != "" {
		reply.StatusCode = p.status
	} else {
		text := p.answers[form]
		if text == "" {
			text = `{"n":7}`
		}
		body = strings.Join(p.answer(strings.ReplaceAll(p.text, "Done.", strings.ReplaceAll(text, `"`, `\"`))).Pieces, "")
	}
	reply.Body = io.NopCloser(strings.NewReader(body))
	return reply, nil
}

// formOf returns the form that a request asks for, with "!" if it reports the schema in words
// although the form does, or the other way round.
func formOf(body string) string {
	form := "prompt"
	switch {
	case strings.Contains(body, `"json_schema"`), strings.Contains(body, `"responseJsonSchema"`):
		form = "schema"
	case strings.Contains(body, `"json_object"`), strings.Contains(body, `"responseMimeType"`):
		form = "json"
	}
	if strings.Contains(body, "describes and nothing else") != (form != "schema") {
		form += "!"
	}
	return form
}

// accept forgets and returns the forms of the requests.
func (p *picky) accept() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := strings.Join(p.asked, " ")
	p.asked = nil
	return asked
}

// openAI is an error in OpenAI's shape.
func openAI(message string) string {
	return `{"error":{"message":` + string(model.AppendString(nil, message)) + `,"type":"invalid_request_error","param":null,"code":null}}`
}

// behind is an error of a provider that OpenRouter asked.
func behind(raw string) string {
	return `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":` + string(model.AppendString(nil, raw)) + `,"provider_name":"P"}},"user_id":"u"}`
}

// google is an error in Google's shape.
func google(message string) string {
	return `{"error":{"code":400,"message":` + string(model.AppendString(nil, message)) + `,"status":"INVALID_ARGUMENT"}}`
}

// A service that refuses a form of answer, in whatever words, is asked in the next one, one
// after the other, and is not asked in that form again for ten minutes. The words are those
// of services, from reports about them.
func TestRefusedForms(t *testing.T) {
	t.Parallel()
	const lmStudio = `{"error":"'response_format.type' must be 'json_schema' or 'text'"}`
	const oldOpenAI = `Invalid parameter: 'response_format' of type 'json_object' is not supported with this model.`
	for _, row := range []struct {
		service, protocol string
		status            int
		schema, json      string // how the service refuses them; empty: it does not
		want              string
	}{
		{"LM Studio", "chat", 400, "", lmStudio, "schema"},
		{"LM Studio, an older one", "chat", 400, `{"error":"'response_format.type' must be 'text'"}`, lmStudio, "schema json prompt"},
		{"DeepSeek", "chat", 400, `{"error":{"message":"This response_format type is unavailable now","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, "", "schema json"},
		{"DeepSeek, in plain text", "chat", 422, "Failed to deserialize the JSON body into the target type: response_format: response_format.type `json_schema` is unavailable now at line 1 column 12440", "", "schema json"},
		{"Ollama", "chat", 400, openAI(`invalid format: expected "json" or a JSON schema`), "", "schema json"},
		{"vLLM", "chat", 400, `{"object":"error","message":"The provided JSON schema contains features not supported by xgrammar.","type":"BadRequestError","param":null,"code":400}`, "", "schema json"},
		{"vLLM, its validator", "chat", 400, `{"error":{"message":"1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}","type":"Bad Request","param":null,"code":400}}`, "", "schema json"},
		{"Groq", "chat", 400, openAI("This model does not support response format `json_schema`. See supported models at https://console.groq.com/docs/structured-outputs#supported-models"), "", "schema json"},
		{"Groq, an older one", "chat", 400, openAI(`'response_format.type' : value is not one of the allowed values ['text','json_object']`), "", "schema json"},
		{"Mistral", "chat", 422, `{"object":"error","message":{"detail":[{"type":"enum","loc":["body","response_format","type"],"msg":["Input should be 'text' or 'json_object'"],"input":"json_schema"}]},"type":"invalid_request_error","param":null,"code":null}`, "", "schema json"},
		{"Azure", "chat", 400, `{"error":{"message":"response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later","type":"","param":"","code":"BadRequest"}}`, "", "schema json"},
		{"Azure, an old model", "chat", 400, openAI(strings.Replace(oldOpenAI, "object", "schema", 1) + " Learn more about supported models at the Structured Outputs guide: https://platform.openai.com/docs/guides/structured-outputs"), openAI(oldOpenAI), "schema json prompt"},
		{"OpenAI, of the schema", "chat", 400, `{"error":{"message":"Invalid schema for response_format 'answer': In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing 'n'.","type":"invalid_request_error","param":"response_format","code":null}}`, "", "schema json"},
		{"OpenAI", "responses", 400, `{"error":{"message":"Invalid parameter: 'text.format' of type 'json_schema' is not supported with model version 'm'.","type":"invalid_request_error","param":"text.format","code":null}}`, "", "schema json"},
		{"OpenAI, which wants a word in the input", "responses", 400, openAI("no structured outputs"), `{"error":{"message":"Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.","type":"invalid_request_error","param":"input","code":null}}`, "schema json prompt"},
		{"OpenRouter", "chat", 400, behind(`{"error":{"message":"Invalid schema for response_format 'foo': In context=(), 'required' is required to be supplied","type":"invalid_request_error","param":"response_format","code":null}}`), "", "schema json"},
		{"OpenRouter, in words", "chat", 400, behind("json_schema is not supported"), behind(`{"detail":"guided decoding is off"}`), "schema json prompt"},
		{"llama.cpp", "chat", 400, `{"error":{"code":400,"message":"JSON schema conversion failed:\nUnrecognized schema: {}","type":"invalid_request_error"}}`, `{"error":{"code":400,"message":"failed to parse grammar","type":"invalid_request_error"}}`, "schema json prompt"},
		{"Gemini, Gemma", "gemini", 400, google("JSON mode is not enabled for models/gemma-3-27b-it"), google("JSON mode is not enabled for models/gemma-3-27b-it"), "schema json prompt"},
		{"Gemini, of the schema", "gemini", 400, google("The specified schema produces a constraint that has too many states for serving."), "", "schema json"},
		{"Gemini, an older server", "gemini", 400, google(`Invalid JSON payload received. Unknown name "responseJsonSchema" at 'generation_config': Cannot find field.`), "", "schema json"},
		{"Messages, an older model", "messages", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"output_config.format: Extra inputs are not permitted"}}`, "", "schema prompt"}, // it has no form between the two
		{"Messages, of the schema", "messages", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"}}`, "", "schema prompt"},
	} {
		t.Run(row.service, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := &picky{script: scripts()[row.protocol], status: row.status, refusal: map[string]string{"schema": row.schema, "json": row.json}}
				forms, ask := asker(t, row.protocol, service)
				if err := ask("n?"); err != nil {
					t.Errorf("%v", cause(err))
				}
				got := service.accept()
				if got != row.want {
					t.Errorf("asked by %q, want %q", got, row.want)
				}
				learned := strings.Fields(row.want)
				time.Sleep(avoided - time.Second)
				_ = ask("n?")
				if got := service.accept(); got != learned[len(learned)-1] {
					t.Errorf("nearly ten minutes later asked by %q (now %s)", got, forms.Mode("k"))
				}
				time.Sleep(2 * time.Second)
				_ = ask("n?")
				if got := service.accept(); got != row.want {
					t.Errorf("after ten minutes asked by %q, want %q", got, row.want)
				}
			})
		})
	}
}

// avoided is how long a form that was refused is not asked for.
const avoided = 10 * time.Minute

// asker returns what asks the model behind a service for an object with a number n.
func asker(t *testing.T, protocol string, service http.RoundTripper) (*model.Forms, func(text string) error) {
	t.Helper()
	for _, p := range protocols() {
		if p.spec.Key != protocol {
			continue
		}
		p.spec.Key, p.spec.Endpoint, p.spec.Retries = "k", "http://provider.test", 2
		m, err := connectOver(p.spec, service)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		schema, err := model.NewSchema("answer", jsontext.Value(`{"type":"object","required":["n"],"additionalProperties":false,"properties":{"n":{"type":"integer"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		forms := model.NewForms(model.FormsConfig{})
		return forms, func(text string) error {
			req := chat.ModelRequest{Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: text}}}}}
			_, err := forms.Ask(context.Background(), m, &req, schema, model.AskOptions{})
			if n := m.Breaker().Snapshot().FailureCount; n != 0 {
				t.Errorf("the breaker counts %d failures", n)
			}
			if learned := m.Learned().Omit(); len(learned) != 0 {
				t.Errorf("%v is left out of all requests", learned)
			}
			return err
		}
	}
	t.Fatalf("no protocol %s", protocol)
	return nil, nil
}

// What a person says, and a service repeats as it refuses a request, is about no form; nor is
// a long message.
func TestQuotedWordsRefuseNoForm(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"quoted":       "Cannot be answered: response_format json_schema is not supported",
		"long":         "json_schema is not supported. " + strings.Repeat("x", 300),
		"of no member": "The request cannot be answered.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &picky{script: scripts()["chat"], status: 400, refusal: map[string]string{"schema": openAI(message)}}
			forms, ask := asker(t, "chat", service)
			err := ask("Say: response_format json_schema is not supported")
			if got := service.accept(); err == nil || got != "schema" || forms.Mode("k") != model.ModeSchema {
				t.Errorf("%v, asked by %q, now %s", err, got, forms.Mode("k"))
			}
		})
	}
}

// One input that confuses a model changes how it is asked about that input alone. Two
// different ones change it for ten minutes, and a form that is refused then is left as well.
func TestConfusingInputs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &picky{script: scripts()["chat"], status: 400, answers: map[string]string{"schema": "I would rather chat."},
			refusal: map[string]string{"json": `{"error":"'response_format.type' must be 'json_schema' or 'text'"}`}}
		_, ask := asker(t, "chat", service)
		var got []string
		for _, input := range []string{"one", "one", "two"} {
			if err := ask(input); err != nil {
				t.Errorf("%s: %v", input, cause(err))
			}
			got = append(got, service.accept())
		}
		service.answers = nil // the model has come to itself
		_ = ask("three")
		got = append(got, service.accept())
		time.Sleep(avoided + time.Second)
		_ = ask("four")
		got = append(got, service.accept())
		want := []string{"schema schema! json prompt", "schema schema! prompt", "schema schema! prompt", "prompt", "schema"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
