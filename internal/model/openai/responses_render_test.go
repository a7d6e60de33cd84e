package openai

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

func responsesSet(names ...string) *tool.Set {
	set := &tool.Set{}
	for _, name := range names {
		set.Specs = append(set.Specs, tool.Spec{Name: name, Description: "Does.", InputSchema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"integer"}}}`)})
	}
	return set
}

func responsesUser(text string) chat.Message {
	return chat.Message{Role: chat.RoleUser, Parts: []chat.Part{{Text: text}}}
}

func responsesCallPart(id, name, args string) chat.Part {
	return chat.Part{Call: &tool.Call{ID: id, Name: name, Arguments: jsontext.Value(args)}}
}

func responsesResult(id, text string) chat.Part {
	return chat.Part{Result: &tool.Result{ID: id, Text: text, IsError: true}}
}

func TestResponsesRequest(t *testing.T) {
	t.Parallel()
	half, cold := 0.5, 0.0
	type object = map[string]any
	rest := func(more object) object {
		body := object{
			"model": "gpt-5", "store": false, "stream": true, "include": []any{"reasoning.encrypted_content"},
			"input": []any{object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": "hi"}}}},
		}
		for name, value := range more {
			if body[name] = value; value == nil {
				delete(body, name)
			}
		}
		return body
	}
	function := func(strict bool) []any {
		f := object{"type": "function", "name": "add", "description": "Does.", "parameters": object{"type": "object", "properties": object{"a": object{"type": "integer"}}}}
		if strict {
			f["strict"] = false
		}
		return []any{f}
	}
	schema := `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string"}}}`
	format := func(strict bool) object {
		f := object{"type": "json_schema", "name": "answer", "schema": object{"type": "object", "additionalProperties": false, "required": []any{"a"}, "properties": object{"a": object{"type": "string"}}}}
		if strict {
			f["strict"] = true
		}
		return object{"text": object{"format": f}}
	}
	for _, tc := range []struct {
		name string
		spec model.Spec
		req  chat.ModelRequest
		omit []string
		want object
	}{
		{"the least", model.Spec{}, chat.ModelRequest{}, nil, rest(nil)},
		{"instructions", model.Spec{}, chat.ModelRequest{System: "Be kind.\xff"}, nil, rest(object{"instructions": "Be kind.\uFFFD"})},
		{"tools", model.Spec{}, chat.ModelRequest{Tools: responsesSet("add")}, nil, rest(object{"tools": function(true)})},
		{"tools without strict", model.Spec{}, chat.ModelRequest{Tools: responsesSet("add")}, []string{"strict"}, rest(object{"tools": function(false)})},
		{"no tools any more", model.Spec{}, chat.ModelRequest{Tools: responsesSet("add"), NoTools: true}, nil, rest(object{"tools": function(true), "tool_choice": "none"})},
		{"no tools any more, said without tool_choice", model.Spec{}, chat.ModelRequest{Tools: responsesSet("add"), NoTools: true}, []string{"tool_choice"}, rest(nil)},
		{"a forced tool", model.Spec{}, chat.ModelRequest{Tools: responsesSet("add"), ForceTool: true}, nil, rest(object{"tools": function(true), "tool_choice": object{"type": "function", "name": "add"}})},
		{"an empty set", model.Spec{}, chat.ModelRequest{Tools: &tool.Set{}, ForceTool: true}, nil, rest(nil)},
		{"limit with room for thoughts", model.Spec{Generation: model.Generation{MaxTokens: 1000}}, chat.ModelRequest{MaxTokens: 2000}, nil, rest(object{"max_output_tokens": 3048.0})},
		{"limit without", model.Spec{Generation: model.Generation{MaxTokens: 1000, Thinking: model.Thinking{Word: "off"}}}, chat.ModelRequest{MaxTokens: 200}, nil, rest(object{"max_output_tokens": 200.0, "reasoning": object{"effort": "none"}})},
		{"summary", model.Spec{Generation: model.Generation{Thinking: model.Thinking{Word: "summary"}}}, chat.ModelRequest{}, nil, rest(object{"reasoning": object{"summary": "auto"}})},
		{"effort", model.Spec{Generation: model.Generation{Thinking: model.Thinking{Word: "high"}}}, chat.ModelRequest{}, nil, rest(object{"reasoning": object{"effort": "high", "summary": "auto"}})},
		{"effort alone", model.Spec{Generation: model.Generation{Thinking: model.Thinking{Word: "low"}}}, chat.ModelRequest{}, []string{"reasoning.summary"}, rest(object{"reasoning": object{"effort": "low"}})},
		{"summary alone", model.Spec{Generation: model.Generation{Thinking: model.Thinking{Word: "low"}}}, chat.ModelRequest{}, []string{"reasoning.effort"}, rest(object{"reasoning": object{"summary": "auto"}})},
		{"neither", model.Spec{Generation: model.Generation{Thinking: model.Thinking{Word: "low"}}}, chat.ModelRequest{}, []string{"reasoning.effort", "reasoning.summary", "include"}, rest(object{"include": nil})},
		{"the caller's effort", model.Spec{Generation: model.Generation{Thinking: model.Thinking{Word: "low"}}}, chat.ModelRequest{Thinking: "high"}, nil, rest(object{"reasoning": object{"effort": "high", "summary": "auto"}})},
		{"the caller's effort beside a summary", model.Spec{Generation: model.Generation{Thinking: model.Thinking{Word: "summary"}}}, chat.ModelRequest{Thinking: "medium"}, nil, rest(object{"reasoning": object{"effort": "medium", "summary": "auto"}})},
		{"the caller wants no effort", model.Spec{Generation: model.Generation{Thinking: model.Thinking{Word: "high"}}}, chat.ModelRequest{Thinking: "summary"}, nil, rest(object{"reasoning": object{"summary": "auto"}})},
		{"the caller wants no thoughts", model.Spec{Generation: model.Generation{Thinking: model.Thinking{Word: "high"}}}, chat.ModelRequest{Thinking: "off"}, nil, rest(object{"reasoning": object{"effort": "none"}})},
		{"what is set not to think does not", model.Spec{Generation: model.Generation{Thinking: model.Thinking{Word: "off"}}}, chat.ModelRequest{Thinking: "high"}, nil, rest(object{"reasoning": object{"effort": "none"}})},
		{"no reasoning", model.Spec{Generation: model.Generation{Thinking: model.Thinking{Word: "low"}}}, chat.ModelRequest{}, []string{"reasoning"}, rest(nil)},
		{"the caller's temperature", model.Spec{Generation: model.Generation{Temperature: &half}}, chat.ModelRequest{Temperature: &cold}, nil, rest(object{"temperature": 0.0})},
		{"the model's temperature", model.Spec{Generation: model.Generation{Temperature: &half}}, chat.ModelRequest{}, nil, rest(object{"temperature": 0.5})},
		{"never a temperature", model.Spec{Generation: model.Generation{NoTemperature: true}}, chat.ModelRequest{Temperature: &half}, nil, rest(nil)},
		{"a temperature that is not taken", model.Spec{}, chat.ModelRequest{Temperature: &half}, []string{"temperature"}, rest(nil)},
		{"any object", model.Spec{}, chat.ModelRequest{Form: chat.Form{Kind: chat.FormJSON}}, nil, rest(object{"text": object{"format": object{"type": "json_object"}}})},
		{"a schema", model.Spec{}, chat.ModelRequest{Form: chat.Form{Kind: chat.FormSchema, Name: "answer", Schema: jsontext.Value(schema)}}, nil, rest(format(true))},
		{"a schema without strict", model.Spec{}, chat.ModelRequest{Form: chat.Form{Kind: chat.FormSchema, Name: "answer", Schema: jsontext.Value(schema)}}, []string{"strict"}, rest(format(false))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.spec.Model = "gpt-5"
			tc.req.Messages = []chat.Message{responsesUser("hi")}
			got := renderResponses(t, newResponses(tc.spec, nil), &tc.req, tc.omit...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestResponsesInput has the items of conversations, each as one line.
func TestResponsesInput(t *testing.T) {
	t.Parallel()
	own, other := model.Spec{Key: "fast", Model: "gpt-5"}.Maker(), model.Spec{Key: "fast", Model: "gpt-4"}.Maker()
	long := strings.Repeat("x", 65)
	kept := func(s string) chat.Part { return chat.Part{Kept: s} }
	reasoning := `{"type":"reasoning","id":"rs_1","summary":[]}`
	linked := func(id, item string) chat.Part {
		p := responsesCallPart(id, "add", `{}`)
		p.Kept = responsesKept{id: item}.callJSON()
		return p
	}
	for _, tc := range []struct {
		name     string
		messages []chat.Message
		want     []string
	}{
		{"texts", []chat.Message{responsesUser("a"), {Role: chat.RoleModel, Parts: []chat.Part{{Text: "b"}, {Text: "c"}, {Text: "hm", Thought: true}}}, {Role: chat.RoleUser, Parts: []chat.Part{{Text: "d"}, {}, {Text: "e"}}}},
			[]string{"user a", "assistant bc", "user d e"}},
		{"nothing to say", []chat.Message{{Role: chat.RoleModel, Parts: []chat.Part{{}}}, {Role: chat.RoleUser}}, nil},
		{"reasoning before its call", []chat.Message{{Role: chat.RoleModel, Maker: own, Parts: []chat.Part{kept(reasoning), responsesCallPart("c1", "add", `{"a":1}`)}}, {Role: chat.RoleUser, Parts: []chat.Part{responsesResult("c1", "2"), {Text: "and?"}}}},
			[]string{"reasoning rs_1", `call c1 add {"a":1}`, "output c1 2", "user and?"}},
		{"reasoning before text with a phase", []chat.Message{{Role: chat.RoleModel, Maker: own, Parts: []chat.Part{kept(reasoning), {Text: "a"}, {Text: "b"}, kept(responsesKept{id: "msg_1", phase: `"co\`}.messageJSON()), {Text: "c"}, responsesCallPart("c1", "add", `{}`)}}},
			[]string{"reasoning rs_1", `assistant ab phase "co\ id msg_1`, "assistant c", "call c1 add {}"}},
		{"the words between reasoning and call were not kept", []chat.Message{{Role: chat.RoleModel, Maker: own, Parts: []chat.Part{kept(reasoning), kept(responsesKept{id: "msg_1"}.messageJSON()), linked("c1", "fc_1")}}},
			[]string{"call c1 add {}"}},
		{"ids after reasoning", []chat.Message{{Role: chat.RoleModel, Maker: own, Parts: []chat.Part{kept(reasoning), linked("c1", "fc_1"), linked("c2", "fc_2")}}},
			[]string{"reasoning rs_1", "call c1 add {} id fc_1", "call c2 add {} id fc_2"}},
		{"no ids where the reasoning was not kept", []chat.Message{{Role: chat.RoleModel, Maker: own, Parts: []chat.Part{{Text: "a"}, kept(responsesKept{id: "msg_1"}.messageJSON()), linked("c1", "fc_1")}}},
			[]string{"assistant a", "call c1 add {}"}},
		{"no ids in the message after", []chat.Message{{Role: chat.RoleModel, Maker: own, Parts: []chat.Part{kept(reasoning), linked("c1", "fc_1")}}, {Role: chat.RoleModel, Maker: own, Parts: []chat.Part{linked("c2", "fc_2")}}},
			[]string{"reasoning rs_1", "call c1 add {} id fc_1", "call c2 add {}"}},
		{"no ids of another model", []chat.Message{{Role: chat.RoleModel, Maker: other, Parts: []chat.Part{kept(reasoning), linked("c1", "fc_1")}}}, []string{"call c1 add {}"}},
		{"reasoning that led to nothing", []chat.Message{{Role: chat.RoleModel, Maker: own, Parts: []chat.Part{{Text: "a"}, kept(reasoning)}}}, []string{"assistant a"}},
		{"what is no JSON is not kept", []chat.Message{{Role: chat.RoleModel, Maker: own, Parts: []chat.Part{kept(`{"type":`), kept(`[]`), {Text: "a"}}}}, []string{"assistant a"}},
		{"another model's", []chat.Message{{Role: chat.RoleModel, Maker: other, Parts: []chat.Part{kept(reasoning), {Text: "a", Signature: "s"}, kept(responsesKept{id: "msg_1", phase: "final"}.messageJSON())}}}, []string{"assistant a"}},
		{"nobody's", []chat.Message{{Role: chat.RoleModel, Parts: []chat.Part{kept(reasoning), {Text: "a"}}}}, []string{"assistant a"}},
		{"ids that do not fit, alike in call and result", []chat.Message{
			{Role: chat.RoleModel, Maker: other, Parts: []chat.Part{responsesCallPart(long, "add", `{}`), responsesCallPart("", "add", `{}`), responsesCallPart("", "add", `{}`)}},
			{Role: chat.RoleUser, Parts: []chat.Part{responsesResult("", "1"), responsesResult(long, "2"), responsesResult("", "3")}},
		}, []string{"call #1 add {}", "call #2 add {}", "call #3 add {}", "output #2 1", "output #1 2", "output #3 3"}},
		{"ids that come back in the next step", []chat.Message{
			{Role: chat.RoleModel, Maker: other, Parts: []chat.Part{responsesCallPart("call_0", "add", `{}`)}}, {Role: chat.RoleUser, Parts: []chat.Part{responsesResult("call_0", "1")}},
			{Role: chat.RoleModel, Maker: other, Parts: []chat.Part{responsesCallPart("call_0", "add", `{}`)}}, {Role: chat.RoleUser, Parts: []chat.Part{responsesResult("call_0", "2")}},
		}, []string{"call call_0 add {}", "output call_0 1", "call #1 add {}", "output #1 2"}},
		{"a result without its call", []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{responsesResult("c1", "1"), {Text: "a"}}}}, []string{"user a"}},
		{"arguments that are none", []chat.Message{{Role: chat.RoleModel, Parts: []chat.Part{responsesCallPart("c1", "to.do:add", `{"a":`)}}}, []string{"call c1 to_do_add {}"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			codec := newResponses(model.Spec{Key: "fast", Model: "gpt-5"}, nil)
			req := &chat.ModelRequest{Messages: tc.messages}
			body := renderResponses(t, codec, req)
			if diff := cmp.Diff(tc.want, responsesLines(t, body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(body, renderResponses(t, codec, req)); diff != "" {
				t.Errorf("rendered again it differs:\n%s", diff)
			}
		})
	}
}

// responsesLines puts items into words; made ids become #1, #2 and so on.
func responsesLines(t *testing.T, body map[string]any) (lines []string) {
	t.Helper()
	made := map[string]string{}
	id := func(v any) string {
		s := v.(string)
		if len(s) == 9 && made[s] == "" {
			made[s] = "#" + string(rune('1'+len(made)))
		}
		if made[s] != "" {
			return made[s]
		}
		return s
	}
	link := func(item map[string]any) string {
		if item["id"] == nil {
			return ""
		}
		return " id " + item["id"].(string)
	}
	for _, item := range responsesItems(body) {
		switch item["type"] {
		case "message":
			line := item["role"].(string)
			for _, part := range item["content"].([]any) {
				line += " " + part.(map[string]any)["text"].(string)
			}
			if item["phase"] != nil {
				line += " phase " + item["phase"].(string)
			}
			lines = append(lines, line+link(item))
		case "reasoning":
			lines = append(lines, "reasoning "+item["id"].(string))
		case "function_call":
			lines = append(lines, "call "+id(item["call_id"])+" "+item["name"].(string)+" "+item["arguments"].(string)+link(item))
		case "function_call_output":
			lines = append(lines, "output "+id(item["call_id"])+" "+item["output"].(string))
		default:
			t.Errorf("item %v", item)
		}
	}
	return lines
}

// Tools get names that the API takes, no two the same one, and calls ours again.
func TestResponsesNames(t *testing.T) {
	t.Parallel()
	codec := newResponses(model.Spec{}, nil)
	long := strings.Repeat("x", 63)
	set := responsesSet("to.do", "to:do", "to_do", "plain", long+".", long+":")
	body := renderResponses(t, codec, &chat.ModelRequest{Tools: set})
	var names []string
	for _, f := range body["tools"].([]any) {
		names = append(names, f.(map[string]any)["name"].(string))
	}
	want := []string{"to_do_2", "to_do_3", "to_do", "plain", long + "_", long[:62] + "_2"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	called := func(set *tool.Set, name string) string {
		a, c := codec.NewAnswer().(*responsesAnswer), chat.Chunk{}
		a.SetRequest(&chat.ModelRequest{Tools: set})
		for _, ev := range []string{responsesCallEvent(`"name":"` + name + `"`), responsesEnded} {
			if err := a.Decode("", []byte(ev), &c); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.End(&c); err != nil {
			t.Fatal(err)
		}
		return c.Parts[0].Call.Name
	}
	for i, name := range names {
		if got := called(set, name); got != set.Specs[i].Name {
			t.Errorf("%s: %s", name, got)
		}
	}
	other := responsesSet("to.do")
	renderResponses(t, codec, &chat.ModelRequest{Tools: other})
	for i, set := range []*tool.Set{other, set} {
		if got, want := called(set, "to_do"), []string{"to.do", "to_do"}[i]; got != want {
			t.Errorf("to_do of set %d: %s, want %s", i, got, want)
		}
	}
	req := &chat.ModelRequest{Tools: other}
	if with, without := codec.Render(nil, req, nil), codec.Render(nil, req, model.Omit{"strict"}); len(with) <= len(without) {
		t.Errorf("strict is not left out: %s", without)
	}
}

// Which of several tools must be called, or whichever the model wants.
func TestResponsesToolChoice(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]any{"": "required", "sub": map[string]any{"type": "function", "name": "sub"}} {
		req := &chat.ModelRequest{Tools: responsesSet("add", "sub"), ForceTool: true, Tool: name, Messages: []chat.Message{responsesUser("hi")}}
		got := renderResponses(t, newResponses(model.Spec{Model: "gpt-5"}, nil), req)
		if diff := cmp.Diff(want, got["tool_choice"]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
	}
}
