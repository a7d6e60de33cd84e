package modelsim

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/internal/sim/geminisim"
)

// recorder is a model that keeps what it was asked.
type recorder struct {
	mu    sync.Mutex // guards asked
	asked []geminisim.Question
}

func (*recorder) Version() string { return "recorder" }

func (r *recorder) Answer(q geminisim.Question) geminisim.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, q)
	return geminisim.Answer{Text: "Noted."}
}

// question returns what the model is asked by a request that must be taken.
func question(t *testing.T, path, body string) geminisim.Question {
	t.Helper()
	r := new(recorder)
	_, url := serve(t, Config{Model: r})
	if resp, got := post(t, url+path, "", parse(t, body)); resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", path, resp.StatusCode, got)
	}
	if len(r.asked) != 1 {
		t.Fatalf("%s: asked %d times", path, len(r.asked))
	}
	return r.asked[0]
}

// same compares questions. Raw JSON is compared as JSON.
func same(t *testing.T, name string, want, got geminisim.Question) {
	t.Helper()
	asJSON := cmp.FilterValues(func(a, b jsontext.Value) bool { return len(a) > 0 && len(b) > 0 }, cmp.Transformer("JSON", func(v jsontext.Value) (out any) {
		_ = json.Unmarshal(v, &out) // what cannot be read is nil
		return out
	}))
	if diff := cmp.Diff(want, got, asJSON, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

// One conversation is the same question in each protocol.
func TestQuestionsAreTheSameInAllProtocols(t *testing.T) {
	t.Parallel()
	const object = `{"type":"object","properties":{"a":{"type":"integer"}}}`
	response := func(text string) jsontext.Value { return jsontext.Value(text) }
	want := geminisim.Question{
		System: "Be brief.",
		Messages: []geminisim.Message{
			{Text: "hi"},
			{Model: true, Text: "yes", Calls: []geminisim.Call{{ID: "c1", Name: "f", Args: jsontext.Value(`{"a":1}`)}, {ID: "c2", Name: "g", Args: jsontext.Value(`{}`)}}},
			{Results: []geminisim.Result{{ID: "c1", Name: "f", Response: response(`{"output":"one"}`)}, {ID: "c2", Name: "g", Response: response(`{"error":"two"}`)}}},
			{Model: true, Text: "done"},
			{Text: "more"},
		},
		Functions: []geminisim.Function{{Name: "f", Parameters: jsontext.Value(object)}, {Name: "g", Parameters: jsontext.Value(object)}},
		MayCall:   true,
	}
	for path, body := range map[string]string{
		chatPath: `{"model":"m","messages":[{"role":"system","content":"Be "},{"role":"developer","content":[{"type":"text","text":"brief."}]},` + hi + `,
			{"role":"assistant","content":"yes","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"one"},{"role":"tool","tool_call_id":"c2","content":"{\"error\":\"two\"}"},
			{"role":"assistant","content":"done"},{"role":"user","content":"more"}],
			"tools":[{"type":"function","function":{"name":"f","parameters":` + object + `}},{"type":"function","function":{"name":"g","parameters":` + object + `}}]}`,
		responsesPath: `{"model":"m","instructions":"Be ","input":[{"role":"developer","content":"brief."},` + hi + `,{"role":"assistant","content":[{"type":"output_text","text":"yes"}]},
			{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"},{"type":"function_call","call_id":"c2","name":"g","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":"one"},{"type":"function_call_output","call_id":"c2","output":"{\"error\":\"two\"}"},
			{"role":"assistant","content":"done"},{"role":"user","content":"more"}],
			"tools":[{"type":"function","name":"f","parameters":` + object + `},{"type":"function","name":"g","parameters":` + object + `}]}`,
		messagesPath: `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"Be "},{"type":"text","text":"brief."}],"messages":[` + hi + `,
			{"role":"assistant","content":[{"type":"text","text":"yes"},{"type":"tool_use","id":"c1","name":"f","input":{"a":1}},{"type":"tool_use","id":"c2","name":"g","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"}],"is_error":true}]},
			{"role":"assistant","content":"done"},{"role":"user","content":[{"type":"text","text":"more"}]}],
			"tools":[{"name":"f","input_schema":` + object + `},{"name":"g","input_schema":` + object + `}]}`,
	} {
		same(t, path, want, question(t, path, body))
	}
}

// Messages of the user in a row are one to the model, but not what stands behind results.
func TestMessagesOfTheUserInARow(t *testing.T) {
	t.Parallel()
	const result, output = `{"role":"tool","tool_call_id":"c1","content":"x"}`, `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"x"}`
	for path, body := range map[string]string{
		chatPath:      `{"model":"m","messages":[` + hi + `,` + hi + `,` + call1 + `,` + result + `,` + hi + `,` + hi + `,` + hi + `]}`,
		responsesPath: `{"model":"m","input":[` + hi + `,` + hi + `,` + output + `,` + hi + `,` + hi + `,` + hi + `]}`,
	} {
		var got []string
		for _, m := range question(t, path, body).Messages {
			got = append(got, m.Text)
		}
		if diff := cmp.Diff([]string{"hi\nhi", "", "", "hi\nhi\nhi"}, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
}

// A text that looks like a result is one only with the one member that results have.
func TestResultsOfTools(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`plain`:                  `{"output":"plain"}`,
		``:                       `{"output":""}`,
		`{"output":{"a":1}}`:     `{"output":{"a":1}}`,
		`{"error":"x"}`:          `{"error":"x"}`,
		`{"output":1,"error":2}`: `{"output":"{\"output\":1,\"error\":2}"}`,
		`{"output":null}`:        `{"output":"{\"output\":null}"}`,
		`{"other":1}`:            `{"output":"{\"other\":1}"}`,
		`[1]`:                    `{"output":"[1]"}`,
	} {
		quoted, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		q := question(t, chatPath, `{"model":"m","messages":[`+hi+`,`+call1+`,{"role":"tool","tool_call_id":"c1","content":`+string(quoted)+`}]}`)
		if got := string(q.Messages[2].Results[0].Response); got != want {
			t.Errorf("%q: %s, want %s", content, got, want)
		}
	}
}

// Whether a function may be called, or must, comes in three spellings.
func TestChoices(t *testing.T) {
	t.Parallel()
	const object = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	tools := map[string]string{
		chatPath:      `[{"type":"function","function":{"name":"f","parameters":` + object + `}},{"type":"function","function":{"name":"g","parameters":` + object + `}}]`,
		responsesPath: `[{"type":"function","name":"f","parameters":` + object + `},{"type":"function","name":"g","parameters":` + object + `}]`,
		messagesPath:  `[{"name":"f","input_schema":` + object + `},{"name":"g","input_schema":` + object + `}]`,
	}
	heads := map[string]string{
		chatPath:      `{"model":"m","stream":true,"messages":[` + hi + `]`,
		responsesPath: `{"model":"m","stream":true,"input":"hi"`,
		messagesPath:  `{"model":"m","stream":true,"max_tokens":9,"messages":[` + hi + `]`,
	}
	observe := map[string]func(*testing.T, string) observed{chatPath: observeChat, responsesPath: observeResponses, messagesPath: observeMessages}
	for _, tt := range []struct{ path, choice, want string }{
		{chatPath, `"auto"`, "may"}, {chatPath, `"none"`, "may not"}, {chatPath, `"required"`, `f {"n":0}`},
		{chatPath, `{"type":"function","function":{"name":"g"}}`, `g {"n":0}`}, {chatPath, `null`, "may"},
		{responsesPath, `"auto"`, "may"}, {responsesPath, `"none"`, "may not"}, {responsesPath, `"required"`, `f {"n":0}`},
		{responsesPath, `{"type":"function","name":"g"}`, `g {"n":0}`},
		{messagesPath, `{"type":"auto"}`, "may"}, {messagesPath, `{"type":"none"}`, "may not"}, {messagesPath, `{"type":"any"}`, `f {"n":0}`},
		{messagesPath, `{"type":"tool","name":"g"}`, `g {"n":0}`},
	} {
		r := new(recorder)
		_, url := serve(t, Config{Model: r})
		resp, body := post(t, url+tt.path, "", parse(t, heads[tt.path]+`,"tools":`+tools[tt.path]+`,"tool_choice":`+tt.choice+`}`))
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s %s: %s", tt.path, tt.choice, body)
			continue
		}
		got := strings.Join(observe[tt.path](t, body).lines(), "; ")
		switch {
		case len(r.asked) == 1 && r.asked[0].MayCall:
			got = "may"
		case len(r.asked) == 1:
			got = "may not"
		}
		if got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.path, tt.choice, got, tt.want)
		}
	}
	if q := question(t, chatPath, `{"model":"m","messages":[`+hi+`]}`); q.MayCall {
		t.Error("without tools the model may call")
	}
}

// Structured output is asked for in three spellings, and the schema may stand in the prompt.
func TestSchemas(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"n":{"type":"integer","minimum":3}},"required":["n"],"additionalProperties":false}`
	quoted := strings.ReplaceAll(schema, `"`, `\"`)
	for name, tt := range map[string]struct{ path, directives, body, want string }{
		"chat":              {chatPath, "", `{"model":"m","stream":true,"messages":[` + hi + `],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":` + schema + `}}}`, `{"n":3}`},
		"chat, in a prompt": {chatPath, "", `{"model":"m","stream":true,"messages":[{"role":"user","content":"JSON by ` + quoted + `"}],"response_format":{"type":"json_object"}}`, `{"n":3}`},
		"chat, any object":  {chatPath, "", `{"model":"m","stream":true,"messages":[{"role":"user","content":"json"}],"response_format":{"type":"json_object"}}`, `{}`},
		"chat, text":        {chatPath, "", `{"model":"m","stream":true,"messages":[` + hi + `],"response_format":{"type":"text"}}`, "Noted."},
		"prompted":          {chatPath, "prompted", `{"model":"m","stream":true,"messages":[{"role":"user","content":"by ` + quoted + `"}]}`, `{"n":3}`},
		"responses":         {responsesPath, "", `{"model":"m","stream":true,"input":"x","text":{"format":{"type":"json_schema","name":"a","strict":true,"schema":` + schema + `}}}`, `{"n":3}`},
		"messages":          {messagesPath, "", `{"model":"m","stream":true,"max_tokens":9,"messages":[` + hi + `],"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}}`, `{"n":3}`},
	} {
		_, url := serve(t, Config{Model: new(recorder)})
		_, body := post(t, url+tt.path, tt.directives, parse(t, tt.body))
		observe := map[string]func(*testing.T, string) observed{chatPath: observeChat, responsesPath: observeResponses, messagesPath: observeMessages}[tt.path]
		if got := observe(t, body).text; got != tt.want {
			t.Errorf("%s: %q, want %q in %s", name, got, tt.want, body)
		}
	}
}
