package gemini

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// codecOf returns the codec of a Model with a setting of thinking.
func codecOf(tb testing.TB, thinking string) *codec {
	tb.Helper()
	members, err := thinkingMembers(thinking)
	if err != nil {
		tb.Fatal(err)
	}
	return newCodec(generation{thinking: members})
}

// defaultCodec returns that of a Model without settings.
func defaultCodec(tb testing.TB) *codec { return codecOf(tb, "") }

func user(parts ...chat.Part) chat.Message { return chat.Message{Role: chat.RoleUser, Parts: parts} }
func byModel(parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleModel, Parts: parts}
}

func callOf(id, name, args string) *tool.Call {
	return &tool.Call{ID: id, Name: name, Arguments: jsontext.Value(args)}
}

func TestRenderRequest(t *testing.T) {
	t.Parallel()
	tools := &tool.Set{Specs: []tool.Spec{
		{Name: "now", Description: `the "time"`, InputSchema: jsontext.Value(`{"type":"object","properties":{}}`)},
		{Name: "add", InputSchema: jsontext.Value(`{"$schema":"x","type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)},
	}}
	hello := []chat.Message{user(chat.Part{Text: "hello"})}
	const helloJSON = `{"contents":[{"role":"user","parts":[{"text":"hello"}]}]`
	const toolsJSON = `,"tools":[{"functionDeclarations":[{"name":"now","description":"the \"time\""},` +
		`{"name":"add","description":"","parametersJsonSchema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}]}]`
	tests := []struct {
		name, thinking string
		req            chat.ModelRequest
		want           string
	}{
		{"summary", "", chat.ModelRequest{Messages: hello}, helloJSON + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`},
		{"off", "off", chat.ModelRequest{Messages: hello}, helloJSON + `}`},
		{"level", "low", chat.ModelRequest{Messages: hello}, helloJSON + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}}`},
		{"budget", "128", chat.ModelRequest{Messages: hello}, helloJSON + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":128}}}`},
		{"dynamic budget", "-1", chat.ModelRequest{Messages: hello}, helloJSON + `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1}}}`},
		{"no thinking", "0", chat.ModelRequest{Messages: hello}, helloJSON + `,"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`},
		{"system", "off", chat.ModelRequest{System: "be\nkind", Messages: hello}, helloJSON + `,"systemInstruction":{"parts":[{"text":"be\nkind"}]}}`},
		{"tools", "off", chat.ModelRequest{Messages: hello, Tools: tools}, helloJSON + toolsJSON + `}`},
		{"no tools allowed", "off", chat.ModelRequest{Messages: hello, Tools: tools, NoTools: true}, helloJSON + toolsJSON + `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`},
		{"a forced tool", "off", chat.ModelRequest{Messages: hello, Tools: tools, ForceTool: true}, helloJSON + toolsJSON + `,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`},
		{"a forced tool of several", "off", chat.ModelRequest{Messages: hello, Tools: tools, ForceTool: true, Tool: "add"}, helloJSON + toolsJSON + `,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["add"]}}}`},
		{"no tools at all", "off", chat.ModelRequest{Messages: hello, Tools: &tool.Set{}, NoTools: true}, helloJSON + `}`},
		{"nothing", "off", chat.ModelRequest{}, `{"contents":[]}`},
		{"a step", "off", chat.ModelRequest{Messages: []chat.Message{
			user(chat.Part{Text: "add"}),
			byModel(chat.Part{Text: "I think", Thought: true, Signature: "gone"}, chat.Part{Text: "well", Signature: "s0"},
				chat.Part{Call: callOf("id1", "add", `{ "b": 1.50,"a":1e2}`), Signature: "s1="}, chat.Part{Call: callOf("", "now", "")}),
			user(chat.Part{Result: &tool.Result{ID: "id1", Name: "add", Text: `{"$ref":"x"}`}}),
			user(chat.Part{Result: &tool.Result{Name: "now", Text: "no clock", IsError: true}}),
			user(chat.Part{Text: "go on"}, chat.Part{Text: ""}),
			byModel(chat.Part{Text: "only a thought", Thought: true}),
			user(chat.Part{Text: "please"}),
			byModel(chat.Part{Text: "", Signature: "s2"}),
			byModel(chat.Part{Call: callOf("id2", "add", `not JSON`)}),
		}}, `{"contents":[{"role":"user","parts":[{"text":"add"}]},` +
			`{"role":"model","parts":[{"text":"well","thoughtSignature":"s0"},` +
			`{"functionCall":{"id":"id1","name":"add","args":{ "b": 1.50,"a":1e2}},"thoughtSignature":"s1="},{"functionCall":{"name":"now","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"id":"id1","name":"add","response":{"output":"{\"$ref\":\"x\"}"}}},` +
			`{"functionResponse":{"name":"now","response":{"error":"no clock"}}}]},` +
			`{"role":"user","parts":[{"text":"go on"},{"text":"please"}]},` +
			`{"role":"model","parts":[{"text":"","thoughtSignature":"s2"},{"functionCall":{"id":"id2","name":"add","args":{}}}]}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := codecOf(t, tt.thinking).Render(nil, &tt.req, nil)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecordedRequests renders the conversations of requests that the real API
// took, and expects the same contents, and no field that none of them has.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	known := map[string]bool{
		// Documented, and in no recording.
		"toolConfig.functionCallingConfig.mode": true, "contents.parts.functionResponse.response.output": true,
	}
	files := corpusFiles(t, ".req.json")
	for _, f := range files {
		var doc any
		mustUnmarshal(t, readFile(t, f), &doc)
		fieldPaths(doc, "", known)
	}
	m := codecOf(t, "high")
	for _, f := range files {
		var doc map[string]any
		mustUnmarshal(t, readFile(t, f), &doc)
		rendered := m.Render(nil, requestOf(t, doc), nil)
		var got map[string]any
		mustUnmarshal(t, string(rendered), &got)
		if diff := cmp.Diff(outputsAsText(t, doc["contents"]), got["contents"]); diff != "" {
			t.Errorf("%s: contents (-want +got):\n%s", filepath.Base(f), diff)
		}
		paths := map[string]bool{}
		fieldPaths(got, "", paths)
		for p := range paths {
			if !known[p] {
				t.Errorf("%s: field %s, which no recorded request has", filepath.Base(f), p)
			}
		}
	}
}

// fieldPaths notes the path of each field, except in what is not the API's own.
func fieldPaths(v any, path string, paths map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			fieldPaths(e, path, paths)
		}
		return
	case map[string]any:
		if strings.HasSuffix(path, ".args") || strings.HasSuffix(path, "parametersJsonSchema") {
			break
		}
		for name, e := range v {
			fieldPaths(e, strings.TrimPrefix(path+"."+name, "."), paths)
		}
		return
	}
	paths[path] = true
}

// requestOf turns a recorded request back into ours.
func requestOf(t *testing.T, doc map[string]any) *chat.ModelRequest {
	req := new(chat.ModelRequest)
	str := func(v any) string { s, _ := v.(string); return s }
	if s, ok := doc["systemInstruction"].(map[string]any); ok {
		req.System = str(s["parts"].([]any)[0].(map[string]any)["text"])
	}
	for _, c := range doc["contents"].([]any) {
		content := c.(map[string]any)
		msg := chat.Message{Role: chat.Role(str(content["role"]))}
		for _, p := range content["parts"].([]any) {
			part := p.(map[string]any)
			out := chat.Part{Text: str(part["text"]), Signature: str(part["thoughtSignature"])}
			if c, ok := part["functionCall"].(map[string]any); ok {
				out.Call = &tool.Call{ID: str(c["id"]), Name: str(c["name"]), Arguments: marshal(t, c["args"])}
			}
			if r, ok := part["functionResponse"].(map[string]any); ok {
				out.Result = &tool.Result{ID: str(r["id"]), Name: str(r["name"]), Text: string(marshal(t, r["response"]))}
			}
			msg.Parts = append(msg.Parts, out)
		}
		req.Messages = append(req.Messages, msg)
	}
	return req
}

// outputsAsText replaces each structured response by our way to give it.
func outputsAsText(t *testing.T, contents any) any {
	for _, c := range contents.([]any) {
		for _, p := range c.(map[string]any)["parts"].([]any) {
			if r, ok := p.(map[string]any)["functionResponse"].(map[string]any); ok {
				r["response"] = map[string]any{"output": string(marshal(t, r["response"]))}
			}
		}
	}
	return contents
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestToolsAreRenderedOncePerSet(t *testing.T) {
	t.Parallel()
	m := defaultCodec(t)
	set := &tool.Set{Specs: []tool.Spec{{Name: "a"}}}
	first, second := m.tools.renderSet(set), m.tools.renderSet(set)
	if &first[0] != &second[0] {
		t.Error("rendered twice")
	}
	other := m.tools.renderSet(&tool.Set{Specs: []tool.Spec{{Name: "b"}}})
	if string(other) == string(first) || string(m.tools.renderSet(set)) != string(first) {
		t.Error("one set's tools are taken for another's")
	}
}

func TestHeaders(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		u := serve(t, finished("hello"))
		m := open(t, Config{BaseURL: u.URL + "/", Model: "models/gemini x/1", APIKey: "SECRET", Version: "1.2"})
		ask(chat.WithRequestID(t.Context(), "req_1"), m)
		ask(t.Context(), open(t, Config{BaseURL: u.URL + "/prefix"}))
		first, second := u.requests()[0], u.requests()[1]
		if first.method != "POST" || first.target != "/v1beta/models/gemini%20x%2F1:streamGenerateContent?alt=sse" {
			t.Errorf("%s %s", first.method, first.target)
		}
		want := map[string]string{"X-Goog-Api-Key": "SECRET", "X-Request-Id": "req_1", "User-Agent": "sluice/1.2", "Content-Type": "application/json"}
		for name, value := range want {
			if got := first.header.Values(name); !slices.Equal(got, []string{value}) {
				t.Errorf("%s: %q, want %q", name, got, value)
			}
		}
		if second.header.Get("X-Goog-Api-Key") != "" || second.header.Get("X-Request-Id") != "" || second.header.Get("Accept-Encoding") != "" {
			t.Errorf("headers without a key: %v", second.header)
		}
		if second.target != "/prefix/v1beta/models/gemini-flash-latest:streamGenerateContent?alt=sse" {
			t.Errorf("target %s", second.target)
		}
	})
}

func FuzzRenderRequest(f *testing.F) {
	m := defaultCodec(f)
	fuzzRequests(f, func(t *testing.T, req *chat.ModelRequest) {
		if b := m.Render(nil, req, nil); !jsontext.Value(b).IsValid() || !json.Valid(b) {
			t.Fatalf("not JSON: %q", b)
		}
	})
}

// fuzzRequests hands requests with whatever in them to check.
func fuzzRequests(f *testing.F, check func(*testing.T, *chat.ModelRequest)) {
	f.Add("system", "text", "sig", "id", "name", `{"a":1}`, "result", "model", uint8(0))
	f.Add("\xff", "\u2028\x00", "=", "", "\"", `{"a":1,"a":2}`, "\ud7ff", "", uint8(255))
	f.Add("", "\xff", "", "", "\xff", `{"a":1e999,"b":"\ud800"}`, "\xff", "\xff", uint8(15))
	f.Fuzz(func(t *testing.T, system, text, sig, id, name, args, result, role string, bits uint8) {
		on := func(bit int) bool { return bits>>bit&1 == 1 }
		call := chat.Part{Call: &tool.Call{ID: id, Name: name, Arguments: jsontext.Value(args)}, Signature: sig}
		say := chat.Part{Text: text, Thought: on(0), Signature: sig}
		answer := chat.Part{Result: &tool.Result{ID: id, Name: name, Text: result, IsError: on(1)}}
		req := &chat.ModelRequest{System: system, NoTools: on(2), Messages: []chat.Message{
			{Role: chat.Role(role), Parts: []chat.Part{say, call}}, user(say), user(answer), byModel(call, say), {},
		}}
		if on(3) {
			req.Tools = &tool.Set{Specs: []tool.Spec{{Name: name, Description: text, InputSchema: jsontext.Value(args)}}}
		}
		if on(4) {
			req.Messages = append(req.Messages, user(answer, say))
		}
		check(t, req)
	})
}
