package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

func user(text string) chat.Message {
	return chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Text: text}}}
}

func made(maker string, parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleModel, Maker: maker, Parts: parts}
}

func called(id, name, args string) chat.Part {
	return chat.Part{Call: &tool.Call{ID: id, Name: name, Arguments: jsontext.Value(args)}}
}

func results(list ...tool.Result) chat.Message {
	msg := chat.Message{Role: chat.RoleUser}
	for i := range list {
		msg.Parts = append(msg.Parts, chat.Part{Result: &list[i]})
	}
	return msg
}

func tools(specs ...tool.Spec) *tool.Set { return &tool.Set{Specs: specs} }

// wantJSON compares two documents as JSON.
func wantJSON(t *testing.T, got jsontext.Value, want string) {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(want), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &y); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if diff := cmp.Diff(x, y); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestChatRequest(t *testing.T) {
	t.Parallel()
	codec := testChat(t, model.Spec{Key: "k", Model: "m", Endpoint: "http://127.0.0.1:11434/v1/chat/completions"})
	got := renderJSON(t, codec, &chat.ModelRequest{
		System: "be brief",
		Tools:  tools(tool.Spec{Name: "todo.list", Description: "lists", InputSchema: jsontext.Value(`{"properties":{"a":{"type":"string"}}}`)}, tool.Spec{Name: "now"}),
		Messages: []chat.Message{
			user("hello\xff"),
			made("k/m", chat.Part{Text: "thinking", Thought: true}, chat.Part{Text: "one "}, chat.Part{Text: "moment", Signature: "s"},
				called("b", "todo.list", ` {"a":"x"} `), called("a", "now", "")),
			results(tool.Result{ID: "a", Name: "now", Text: "noon"}, tool.Result{ID: "b", Name: "todo.list", Text: "none", IsError: true}),
			made("", chat.Part{Text: ""}),
			user("and now?"),
		},
	})
	wantJSON(t, got, `{"model":"m","stream":true,"stream_options":{"include_usage":true},
		"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hello�"},
			{"role":"assistant","content":"one moment","tool_calls":[
				{"id":"b","type":"function","function":{"name":"todo_list","arguments":"{\"a\":\"x\"}"}},
				{"id":"a","type":"function","function":{"name":"now","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"b","content":"none"},{"role":"tool","tool_call_id":"a","content":"noon"},
			{"role":"user","content":"and now?"}],
		"tools":[{"type":"function","function":{"name":"todo_list","description":"lists","parameters":{"properties":{"a":{"type":"string"}},"type":"object"}}},
			{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}]}`)
}

func TestChatRequestOptions(t *testing.T) {
	t.Parallel()
	const openAI, azure, other = "https://api.openai.com/v1/chat/completions", "https://x.openai.azure.com/openai/v1/chat/completions", "http://127.0.0.1:1/v1/chat/completions"
	half, none := 0.5, 0.0
	think := func(word string) model.Thinking { return model.Thinking{Word: word} }
	strict := chat.Form{Kind: chat.FormSchema, Name: "plan", Schema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)}
	loose := chat.Form{Kind: chat.FormSchema, Name: "plan", Schema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
	set, two := tools(tool.Spec{Name: "f"}), tools(tool.Spec{Name: "f"}, tool.Spec{Name: "g"})
	tests := []struct {
		name string
		spec model.Spec
		req  chat.ModelRequest
		omit string
		want string // the members besides model, messages, tools, stream and stream_options
	}{
		{"nothing asked for", model.Spec{Endpoint: other, Generation: model.Generation{Thinking: think("summary")}}, chat.ModelRequest{}, "", `{}`},
		{"limit", model.Spec{Endpoint: other, Generation: model.Generation{MaxTokens: 100}}, chat.ModelRequest{}, "", `{"max_tokens":2148}`},
		{"the lower limit", model.Spec{Endpoint: other, Generation: model.Generation{MaxTokens: 100, Thinking: think("off")}}, chat.ModelRequest{MaxTokens: 50}, "", `{"max_tokens":50}`},
		{"the model's limit is lower", model.Spec{Endpoint: azure, Generation: model.Generation{MaxTokens: 100, Thinking: think("off")}}, chat.ModelRequest{MaxTokens: 500}, "", `{"max_completion_tokens":100}`},
		{"limit at OpenAI's", model.Spec{Endpoint: openAI}, chat.ModelRequest{MaxTokens: 10}, "", `{"max_completion_tokens":2058}`},
		{"the limit's twin", model.Spec{Endpoint: openAI}, chat.ModelRequest{MaxTokens: 10}, "max_completion_tokens", `{"max_tokens":2058}`},
		{"the other twin", model.Spec{Endpoint: other}, chat.ModelRequest{MaxTokens: 10}, "max_tokens", `{"max_completion_tokens":2058}`},
		{"no limit", model.Spec{Endpoint: other}, chat.ModelRequest{MaxTokens: 10}, "max_tokens max_completion_tokens", `{}`},
		{"temperature", model.Spec{Generation: model.Generation{Temperature: &half}}, chat.ModelRequest{}, "", `{"temperature":0.5}`},
		{"the caller's temperature", model.Spec{Generation: model.Generation{Temperature: &half}}, chat.ModelRequest{Temperature: &none}, "", `{"temperature":0}`},
		{"temperature never", model.Spec{Generation: model.Generation{NoTemperature: true}}, chat.ModelRequest{Temperature: &half}, "", `{}`},
		{"temperature refused", model.Spec{Generation: model.Generation{Temperature: &half}}, chat.ModelRequest{}, "temperature", `{}`},
		{"effort", model.Spec{Endpoint: other, Generation: model.Generation{Thinking: think("high")}}, chat.ModelRequest{}, "", `{"reasoning_effort":"high"}`},
		{"effort refused", model.Spec{Generation: model.Generation{Thinking: think("high")}}, chat.ModelRequest{}, "reasoning_effort", `{}`},
		{"thinking off at OpenAI's", model.Spec{Endpoint: openAI, Generation: model.Generation{Thinking: think("off")}}, chat.ModelRequest{}, "", `{"reasoning_effort":"none"}`},
		{"thinking off elsewhere", model.Spec{Endpoint: azure, Generation: model.Generation{Thinking: think("off")}}, chat.ModelRequest{}, "", `{}`},
		{"the caller's effort", model.Spec{Endpoint: other, Generation: model.Generation{Thinking: think("low")}}, chat.ModelRequest{Thinking: "high"}, "", `{"reasoning_effort":"high"}`},
		{"the caller's effort at OpenAI's", model.Spec{Endpoint: openAI, Generation: model.Generation{Thinking: think("summary")}}, chat.ModelRequest{Thinking: "low"}, "", `{"reasoning_effort":"low"}`},
		{"the caller's effort for a server that nobody told of any", model.Spec{Endpoint: other, Generation: model.Generation{Thinking: think("summary")}}, chat.ModelRequest{Thinking: "high"}, "", `{}`},
		{"the caller's effort refused", model.Spec{Endpoint: other, Generation: model.Generation{Thinking: think("low")}}, chat.ModelRequest{Thinking: "high"}, "reasoning_effort", `{}`},
		{"the caller wants no thoughts", model.Spec{Endpoint: other, Generation: model.Generation{Thinking: think("high")}}, chat.ModelRequest{Thinking: "off"}, "", `{}`},
		{"the caller wants none of OpenAI's", model.Spec{Endpoint: openAI, Generation: model.Generation{Thinking: think("high")}}, chat.ModelRequest{Thinking: "off"}, "", `{"reasoning_effort":"none"}`},
		{"what is set not to think does not", model.Spec{Endpoint: openAI, Generation: model.Generation{Thinking: think("off")}}, chat.ModelRequest{Thinking: "high"}, "", `{"reasoning_effort":"none"}`},
		{"nor does it elsewhere", model.Spec{Endpoint: other, Generation: model.Generation{Thinking: think("off")}}, chat.ModelRequest{Thinking: "high"}, "", `{}`},
		{"no tools any more", model.Spec{}, chat.ModelRequest{Tools: set, NoTools: true}, "", `{"tool_choice":"none"}`},
		{"no tools at all", model.Spec{}, chat.ModelRequest{NoTools: true}, "", `{}`},
		{"forced tool", model.Spec{}, chat.ModelRequest{Tools: set, ForceTool: true}, "", `{"tool_choice":{"type":"function","function":{"name":"f"}}}`},
		{"forced, whichever", model.Spec{}, chat.ModelRequest{Tools: two, ForceTool: true}, "", `{"tool_choice":"required"}`},
		{"forced, one of two", model.Spec{}, chat.ModelRequest{Tools: two, ForceTool: true, Tool: "g"}, "", `{"tool_choice":{"type":"function","function":{"name":"g"}}}`},
		{"tool_choice refused", model.Spec{}, chat.ModelRequest{Tools: set, NoTools: true}, "tool_choice", `{}`},
		{"strict schema", model.Spec{}, chat.ModelRequest{Form: strict}, "", `{"response_format":{"type":"json_schema","json_schema":{"name":"plan","strict":true,"schema":` + string(strict.Schema) + `}}}`},
		{"strict refused", model.Spec{}, chat.ModelRequest{Form: strict}, "strict", `{"response_format":{"type":"json_schema","json_schema":{"name":"plan","schema":` + string(strict.Schema) + `}}}`},
		{"schema that is not strict", model.Spec{}, chat.ModelRequest{Form: loose}, "", `{"response_format":{"type":"json_schema","json_schema":{"name":"plan","schema":` + string(loose.Schema) + `}}}`},
		{"any JSON", model.Spec{}, chat.ModelRequest{Form: chat.Form{Kind: chat.FormJSON}}, "", `{"response_format":{"type":"json_object"}}`},
		{"extra", model.Spec{Generation: model.Generation{Temperature: &half}, Extra: jsontext.Value(`{"temperature":null,"top_p":1,"a":{"b":{"c":1,"d":null}},"e":null}`)}, chat.ModelRequest{}, "", `{"top_p":1,"a":{"b":{"c":1}}}`},
		{"extra goes deep", model.Spec{Extra: jsontext.Value(`{"response_format":{"json_schema":{"name":null,"x":[1]}}}`)}, chat.ModelRequest{Form: loose}, "", `{"response_format":{"type":"json_schema","json_schema":{"x":[1],"schema":` + string(loose.Schema) + `}}}`},
		{"extra is not learned away", model.Spec{Extra: jsontext.Value(`{"reasoning_effort":"x"}`), Generation: model.Generation{Thinking: think("low")}}, chat.ModelRequest{}, "reasoning_effort", `{"reasoning_effort":"x"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.spec.Key, tt.spec.Model = "k", "m"
			got := model.Members(renderJSON(t, testChat(t, tt.spec), &tt.req, strings.Fields(tt.omit)...))
			wantJSON(t, got.Without("model", "messages", "tools", "stream", "stream_options").JSON(), tt.want)
		})
	}
	body := renderJSON(t, testChat(t, model.Spec{}), &chat.ModelRequest{}, "stream_options")
	wantJSON(t, body, `{"model":"m","messages":[],"stream":true}`)
}

func TestChatThinkingTokensAreAFault(t *testing.T) {
	t.Parallel()
	for _, spec := range []model.Spec{{Key: "k", Generation: model.Generation{Thinking: model.Thinking{Tokens: 1024}}}, {Key: "k", API: "x"}} {
		if _, err := newCodec(spec, nil); err == nil || !strings.Contains(err.Error(), "models.k.") {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

const (
	keptDetails = `{"reasoning_details":[{"type":"reasoning.text","text":"d"}]}`
	keptText    = `{"reasoning_content":"t"}`
	keptExtra   = `{"extra_content":{"google":{"thought_signature":"s"}}}`
)

// A turn with a call that fast made, with all that it wants back.
func keptTurn() []chat.Message {
	call := called("id-1", "f", `{}`)
	call.Kept = keptExtra
	return []chat.Message{
		user("q"),
		made("fast/m", chat.Part{Kept: keptDetails}, chat.Part{Kept: keptText}, call),
		results(tool.Result{ID: "id-1", Name: "f", Text: "r"}),
	}
}

func assistants(t *testing.T, spec model.Spec, messages []chat.Message) []jsontext.Value {
	t.Helper()
	body := renderJSON(t, testChat(t, spec), &chat.ModelRequest{Messages: messages})
	var list []jsontext.Value
	for _, m := range model.Elements(model.Members(body).Get("messages")) {
		if model.Unquote(model.Members(m).Get("role")) != "user" {
			list = append(list, m)
		}
	}
	return list
}

func TestChatKeptGoesToItsMakerAlone(t *testing.T) {
	t.Parallel()
	const call = `{"id":"id-1","type":"function","function":{"name":"f","arguments":"{}"}`
	later := append(keptTurn(), made("fast/m", chat.Part{Text: "a"}, chat.Part{Kept: keptText}), user("q2"))
	tests := []struct {
		name     string
		spec     model.Spec
		messages []chat.Message
		want     string
	}{
		{"its maker", model.Spec{Key: "fast", Model: "m"}, keptTurn(),
			`{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.text","text":"d"}],"reasoning_content":"t","tool_calls":[` + call + `,"extra_content":{"google":{"thought_signature":"s"}}}]}`},
		{"its maker, after another question", model.Spec{Key: "fast", Model: "m"}, later,
			`{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.text","text":"d"}],"tool_calls":[` + call + `,"extra_content":{"google":{"thought_signature":"s"}}}]}`},
		{"another model", model.Spec{Key: "fast", Model: "m2"}, keptTurn(), `{"role":"assistant","content":null,"tool_calls":[` + call + `}]}`},
		{"DeepSeek", model.Spec{Key: "k", Model: "m", Preset: "deepseek"}, keptTurn(), `{"role":"assistant","content":null,"reasoning_content":"","tool_calls":[` + call + `}]}`},
		{"Gemini's endpoint", model.Spec{Key: "k", Model: "m", Endpoint: "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"}, keptTurn(),
			`{"role":"assistant","content":null,"tool_calls":[` + call + `,"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantJSON(t, assistants(t, tt.spec, tt.messages)[0], tt.want)
		})
	}
}

func TestChatKeptThatIsNoJSON(t *testing.T) {
	t.Parallel()
	for _, kept := range []string{`{`, `5`, `{"role":"system"}`, `{"reasoning_content":"a"} {}`, "\xff"} {
		call := called("a", "f", "")
		call.Kept = kept
		got := assistants(t, model.Spec{Key: "fast", Model: "m"}, []chat.Message{made("fast/m", chat.Part{Kept: kept}, call)})
		wantJSON(t, got[0], `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`)
	}
}

// The signature of Gemini's compatible endpoint goes back where it came from, whatever
// the delta that brought it.
func TestChatSignatureGoesBack(t *testing.T) {
	t.Parallel()
	rec := readRecording(t, "quoted-chat-geminicompat-signature", recordings+"/quoted-chat-geminicompat-signature.sse")
	codec := testChat(t, model.Spec{})
	h := observe(codec.NewAnswer(), splitBytes(rec.wire(t)))
	got := render(t, codec, &chat.ModelRequest{Messages: []chat.Message{user("q"), made(codec.Maker(), h.parts...)}})
	if extra := got.Messages[1].ToolCalls[0].Extra; !sameJSON(extra, json.RawMessage(`{"google":{"thought_signature":"U0lHTkFUVVJF"}}`)) {
		t.Errorf("extra_content is %s", extra)
	}
}

// ids that Mistral does not take are replaced, alike in call and result; so are missing
// ones for everyone.
func TestChatIDsFit(t *testing.T) {
	t.Parallel()
	messages := []chat.Message{
		made("x", called("call_1", "f", ""), called("abcDEF123", "f", ""), called("", "f", ""), called("", "g", "")),
		results(tool.Result{Name: "g", Text: "4"}, tool.Result{Name: "f", Text: "3"}, tool.Result{ID: "call_1", Text: "1"}, tool.Result{ID: "abcDEF123", Text: "2"}),
		made("x", called("call_1", "f", "")),
	}
	for preset, keeps := range map[string]bool{"mistral": false, "groq": true} {
		codec := testChat(t, model.Spec{Key: "k", Model: "m", Preset: preset})
		got := render(t, codec, &chat.ModelRequest{Messages: messages})
		seen := map[string]bool{}
		for i, c := range got.Messages[0].ToolCalls {
			result := got.Messages[1+i]
			if seen[c.ID] || result.ToolCallID != c.ID || *result.Content != string(rune('1'+i)) {
				t.Errorf("%s: call %d has id %q, its result is %+v", preset, i, c.ID, result)
			}
			seen[c.ID] = true
			if !keeps && !model.NineLetters(c.ID) {
				t.Errorf("%s: id %q", preset, c.ID)
			}
		}
		if ids := got.Messages[0].ToolCalls; ids[1].ID != "abcDEF123" || keeps != (ids[0].ID == "call_1") {
			t.Errorf("%s: ids %+v", preset, ids)
		}
		if last := got.Messages[len(got.Messages)-1]; *last.Content != noResult {
			t.Errorf("a call without a result is answered by %+v", last)
		}
		if diff := cmp.Diff(got, render(t, codec, &chat.ModelRequest{Messages: messages})); diff != "" {
			t.Errorf("%s: the next request differs:\n%s", preset, diff)
		}
	}
}

// Events report a call under our name for the tool.
func TestChatCallsHaveOurNames(t *testing.T) {
	t.Parallel()
	codec := testChat(t, model.Spec{})
	req := &chat.ModelRequest{Tools: tools(tool.Spec{Name: "todo.list"})}
	renderJSON(t, codec, req)
	renderJSON(t, codec, &chat.ModelRequest{Tools: tools(tool.Spec{Name: "todo_list"})})
	answer := codec.NewAnswer()
	chunk := says(`"tool_calls":[{"id":"a","function":{"name":"todo_list"}}]`)
	answer.(model.Asker).SetRequest(req)
	if h := observe(answer, toEvents(chunk, stop)); h.calls[0].Name != "todo.list" {
		t.Errorf("called %s", h.calls[0].Name)
	}
	answer.Reset()
	if h := observe(answer, toEvents(chunk, stop)); h.calls[0].Name != "todo_list" {
		t.Errorf("called %s, where no tools were on offer", h.calls[0].Name)
	}
}

// A tool whose schema fits no function is left out, with a warning; the others go.
func TestChatToolIsLeftOut(t *testing.T) {
	t.Parallel()
	var warned []string
	codec, err := newCodec(model.Spec{Key: "k", Model: "m"}, func(name, reason string) { warned = append(warned, name) })
	if err != nil {
		t.Fatal(err)
	}
	req := &chat.ModelRequest{Tools: tools(tool.Spec{Name: "bad", InputSchema: jsontext.Value(`[]`)}, tool.Spec{Name: "good"})}
	got := render(t, codec.(*chatCodec), req)
	render(t, codec.(*chatCodec), req)
	if len(got.Tools) != 1 || got.Tools[0].Function.Name != "good" || !cmp.Equal(warned, []string{"bad"}) {
		t.Errorf("%+v, warned of %q", got.Tools, warned)
	}
}

func TestStrictSchemas(t *testing.T) {
	t.Parallel()
	object := func(members string) string {
		return `{"type":"object","additionalProperties":false` + members + `}`
	}
	for schema, want := range map[string]bool{
		object(`,"properties":{"a":{"type":["string","null"]}},"required":["a"]`):                        true,
		object(`,"properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"$defs":{"A":{"enum":["x"]}}`): true,
		object(`,"properties":{"a":{"type":"array","items":` + object("") + `}},"required":["a"]`):       true,
		object(`,"properties":{"a":{"type":"string"}}`):                                                  false,
		object(`,"properties":{"a":{"type":"object"}},"required":["a"]`):                                 false,
		object(`,"properties":{"a":{}},"required":["a"]`):                                                false,
		object(`,"properties":{"a":{"type":"string","minLength":1}},"required":["a"]`):                   false,
		object(`,"properties":{"a":{"anyOf":[{"type":"string"},{"oneOf":[]}]}},"required":["a"]`):        false,
		object(`,"allOf":[]`):                             false,
		`{"type":"array","items":{"type":"string"}}`:      false,
		`{"anyOf":[` + object("") + `],"type":"object"}`:  false,
		`{"type":"object","properties":{},"required":[]}`: false,
		`{`: false,
	} {
		if got := allowsStrict(jsontext.Value(schema)); got != want {
			t.Errorf("%s: %v, want %v", schema, got, want)
		}
	}
}
