package gemini

import (
	"strings"
	"testing"

	"sluice/internal/model"
	"sluice/internal/model/modeltest"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// TestConformance runs the suite of configured models over both drivers.
func TestConformance(t *testing.T) {
	t.Parallel()
	code := map[model.Kind]string{
		model.KindRateLimited: `"code":429,"status":"RESOURCE_EXHAUSTED"`, model.KindServer: `"code":503,"status":"UNAVAILABLE"`,
		model.KindRejected: `"code":400,"status":"INVALID_ARGUMENT"`, model.KindMisconfigured: `"code":403,"status":"PERMISSION_DENIED"`,
	}
	body := func(kind model.Kind, message string) string {
		if code[kind] == "" {
			return ""
		}
		return `{"error":{` + code[kind] + `,"message":"` + message + `"}}`
	}
	for driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			modeltest.Run(t, modeltest.Protocol{
				Spec: model.Spec{Provider: provider, Driver: driver, Endpoint: DefaultBaseURL, Model: "gemini-3-flash-preview"},
				New:  New, Text: textChunk, Finish: finishChunk("STOP"), Unreadable: event("{"),
				FinishEvents: finishChunk("STOP"),
				End:          finishChunk, CallsAtOnce: true,
				Call:  event(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"lookup","args":{}}}]}}]}`),
				Idle:  []string{event("{}"), event(`{"candidates":[{"content":{"parts":[{"text":""}]}}]}`), event(`{"usageMetadata":{"promptTokenCount":7}}`)},
				Error: body,
				ErrorEvent: func(kind model.Kind, message string) string {
					if e := body(kind, message); e != "" {
						return event(e)
					}
					return ""
				},
				BadTool: body(model.KindRejected, "* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[q].items: missing field."),
				Member:  "includeThoughts", Unknown: body(model.KindRejected, "Unknown name \\\"includeThoughts\\\": Cannot find field."),
			})
		})
	}
}

// What goes back goes to the model that made it; calls of others get the sentinel.
func TestSignaturesOfOthersAreNotSent(t *testing.T) {
	t.Parallel()
	c := defaultCodec(t)
	c.maker, c.sentinel = "fast/gemini-3", true
	req := conversation("fast/gemini-3")
	if got := string(c.Render(nil, req, nil)); !strings.Contains(got, `"thoughtSignature":"mine"`) || strings.Contains(got, sentinel) {
		t.Errorf("its own message: %s", got)
	}
	before := req.Messages[1].Parts[0].Signature
	for _, maker := range []string{"", "spare/other"} {
		got := string(c.Render(nil, conversation(maker), nil))
		if strings.Contains(got, "mine") || strings.Contains(got, "kept") || strings.Count(got, sentinel) != 1 {
			t.Errorf("a message of %q: %s", maker, got)
		}
	}
	c.sentinel = false
	if got := string(c.Render(nil, conversation("spare/other"), nil)); strings.Contains(got, "thoughtSignature") {
		t.Errorf("a model that needs none: %s", got)
	}
	if req.Messages[1].Parts[0].Signature != before {
		t.Error("the request was changed")
	}
}

// conversation has a step of two calls that maker made.
func conversation(maker string) *chat.ModelRequest {
	said := byModel(chat.Part{Call: callOf("1", "add", `{}`), Signature: "mine"}, chat.Part{Call: callOf("2", "add", `{}`)},
		chat.Part{Kept: "kept"}, chat.Part{Signature: "mine"})
	said.Maker = maker
	return &chat.ModelRequest{Messages: []chat.Message{
		user(chat.Part{Text: "add"}), said,
		user(chat.Part{Result: &tool.Result{ID: "1", Name: "add", Text: "3"}}, chat.Part{Result: &tool.Result{ID: "2", Name: "add", Text: "3"}}),
	}}
}

func TestGenerationConfig(t *testing.T) {
	t.Parallel()
	warm := 0.5
	for _, tt := range []struct {
		name string
		spec model.Spec
		req  chat.ModelRequest
		omit model.Omit
		want string
	}{
		{"nothing", model.Spec{Model: "gemini-flash-latest", Generation: model.Generation{Thinking: model.Thinking{Word: "off"}}}, chat.ModelRequest{}, nil, ``},
		{"budget for 2.5", model.Spec{Model: "gemini-2.5-pro", Generation: model.Generation{Thinking: model.Thinking{Word: "low"}}}, chat.ModelRequest{}, nil,
			`,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":1024}}`},
		{"level for 3", model.Spec{Model: "gemini-3-pro", Generation: model.Generation{Thinking: model.Thinking{Word: "low"}}}, chat.ModelRequest{}, nil,
			`,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}`},
		{"omitted", model.Spec{Model: "gemini-3-pro", Generation: model.Generation{Thinking: model.Thinking{Word: "low"}}}, chat.ModelRequest{}, model.Omit{"includeThoughts", "thinkingLevel"}, ``},
		{"temperature", model.Spec{Model: "gemini-3.6-pro", Generation: model.Generation{Thinking: model.Thinking{Word: "off"}, Temperature: &warm}}, chat.ModelRequest{}, nil, `,"generationConfig":{"temperature":0.5}`},
		{"temperature of an alias", model.Spec{Model: "gemini-flash-latest", Generation: model.Generation{Thinking: model.Thinking{Word: "off"}, Temperature: &warm}}, chat.ModelRequest{Temperature: &warm}, nil, ``},
		{"temperature of 3.7", model.Spec{Model: "gemini-3.7-pro", Generation: model.Generation{Thinking: model.Thinking{Word: "off"}}}, chat.ModelRequest{Temperature: &warm}, nil, ``},
		{"limits", model.Spec{Model: "gemini-3-pro", Generation: model.Generation{Thinking: model.Thinking{Word: "off"}, MaxTokens: 100}}, chat.ModelRequest{MaxTokens: 50}, nil, `,"generationConfig":{"maxOutputTokens":50}`},
		{"limit and thoughts", model.Spec{Model: "gemini-3-pro", Generation: model.Generation{Thinking: model.Thinking{Word: "summary"}, MaxTokens: 100}}, chat.ModelRequest{}, nil,
			`,"generationConfig":{"thinkingConfig":{"includeThoughts":true},"maxOutputTokens":2148}`},
		{"schema", model.Spec{Model: "x", Generation: model.Generation{Thinking: model.Thinking{Word: "off"}}}, chat.ModelRequest{Form: chat.Form{Kind: chat.FormSchema, Schema: []byte(`{"type":"object"}`)}}, nil,
			`,"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}`},
	} {
		g, err := settingsOf(tt.spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(g.append(nil, &tt.req, tt.omit)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// What a client says that agents have called is signed by nobody. A model that is the only one,
// and has no key, gets the sentinel for it too.
func TestCallsOfAClientGetTheSentinel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"gemini-3-flash": 1, "gemini-2.5-flash": 0} {
		var c *codec
		_, err := newModel(Config{Model: name}, func(_ *model.HTTP, made *codec, _ string) model.Source {
			c = made
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(c.Render(nil, conversation(chat.ClientOrigin), nil)); strings.Count(got, sentinel) != want || strings.Contains(got, "mine") {
			t.Errorf("%s: %s", name, got)
		}
		if got := string(c.Render(nil, conversation(""), nil)); strings.Contains(got, sentinel) || !strings.Contains(got, "mine") {
			t.Errorf("%s, its own: %s", name, got)
		}
	}
}
