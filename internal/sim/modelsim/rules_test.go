package modelsim

import (
	"net/http"
	"strings"
	"testing"
)

// judged sends body and wants it taken ("") or refused with a text.
func judged(t *testing.T, path, directives, body, want string) {
	t.Helper()
	_, url := serve(t, Config{})
	resp, got := post(t, url+path, directives, parse(t, body))
	if taken := resp.StatusCode == http.StatusOK; taken != (want == "") || !strings.Contains(got, want) {
		t.Errorf("%s\ngot %d %s\nwant %q", body, resp.StatusCode, got, want)
	}
}

// Each bound of the Messages API from both sides.
func TestMessagesBounds(t *testing.T) {
	t.Parallel()
	head := func(more string) string { return `{"model":"m","messages":[` + hi + `],` + more + `}` }
	said := func(list string) string { return `{"model":"m","max_tokens":4000,"messages":[` + list + `]}` }
	content := func(role, blocks string) string { return `{"role":"` + role + `","content":[` + blocks + `]}` }
	const (
		use    = `{"type":"tool_use","id":"t1","name":"f","input":{}}`
		use2   = `{"type":"tool_use","id":"t2","name":"f","input":{}}`
		result = `{"type":"tool_result","tool_use_id":"t1","content":"x"}`
		mark   = `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
		tool   = `{"name":"f","input_schema":{"type":"object","properties":{}}}`
	)
	for _, tt := range []struct{ name, body, want string }{
		{"no model", `{"max_tokens":1,"messages":[` + hi + `]}`, `{"error":{"message":"model: Field required","type":"invalid_request_error"},"request_id":"req_modelsim","type":"error"}`},
		{"a limit of 1", head(`"max_tokens":1`), ""},
		{"a limit of 0", head(`"max_tokens":0`), "max_tokens: Input should be greater than or equal to 1"},
		{"no messages", `{"model":"m","max_tokens":1,"messages":[]}`, "messages: at least one message is required"},
		{"temperature 1", head(`"max_tokens":1,"temperature":1`), ""},
		{"temperature 1.1", head(`"max_tokens":1,"temperature":1.1`), "temperature: range: 0..1"},
		{"temperature 1 while thinking", head(`"max_tokens":1,"temperature":1,"thinking":{"type":"adaptive"}`), ""},
		{"thinking off", head(`"max_tokens":1,"temperature":0,"thinking":{"type":"disabled"}`), ""},
		{"thinking otherwise", head(`"max_tokens":1,"thinking":{"type":"hard"}`), "thinking: Input tag 'hard' found using 'type'"},
		{"the smallest budget", head(`"max_tokens":1025,"thinking":{"type":"enabled","budget_tokens":1024}`), ""},
		{"less", head(`"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":1023}`), "thinking.enabled.budget_tokens"},
		{"a budget of the whole limit", head(`"max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":1024}`), "greater than `thinking.budget_tokens`"},
		{"a type that is wrong", head(`"max_tokens":"1"`), "Invalid type in the request"},
		{"four marks of a cache", said(content("user", mark+","+mark+","+mark+","+mark)), ""},
		{"five", said(content("user", mark+","+mark+","+mark+","+mark+","+mark)), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"a system prompt", head(`"max_tokens":1,"system":"x"`), ""},
		{"an empty one", head(`"max_tokens":1,"system":""`), "system: text content blocks must be non-empty"},
		{"a system prompt of no text", head(`"max_tokens":1,"system":[{"type":"image"}]`), "system: text content blocks must be non-empty"},
		{"null is no system prompt", head(`"max_tokens":1,"system":null`), ""},
		{"a tool", head(`"max_tokens":1,"tools":[` + tool + `]`), ""},
		{"a tool without a schema", head(`"max_tokens":1,"tools":[{"name":"f"}]`), "tools.0.custom.input_schema: Field required"},
		{"no tool is forced while thinking", head(`"max_tokens":1,"thinking":{"type":"adaptive"},"tools":[` + tool + `],"tool_choice":{"type":"auto"}`), ""},
		{"a call at the end", said(hi + `,` + content("assistant", use)), "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1."},
		{"no content", said(`{"role":"user","content":[]}`), "messages.0: all messages must have non-empty content"},
		{"content of another kind", said(`{"role":"user","content":7}`), "messages.0: all messages must have non-empty content"},
		{"two of the user", said(hi + `,` + hi), ""},
		{"a result for a call", said(hi + `,` + content("assistant", use) + `,` + content("user", result)), ""},
		{"text behind it", said(hi + `,` + content("assistant", use) + `,` + content("user", result+`,{"type":"text","text":"x"}`)), ""},
		{"a result of nothing", said(hi + `,` + content("assistant", use) + `,` + content("user", `{"type":"tool_result","tool_use_id":"t1"}`)), ""},
		{"a result of an image", said(hi + `,` + content("assistant", use) + `,` + content("user", `{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image"}]}`)), "messages.2.content.0.tool_result.content: Input should be a valid string or list"},
		{"results out of order", said(hi + `,` + content("assistant", use+","+use2) + `,` + content("user", strings.Replace(result, "t1", "t2", 1)+","+result)), "messages.2.content.0: tool_result blocks must come in the order of the calls"},
		{"one of two", said(hi + `,` + content("assistant", use+","+use2) + `,` + content("user", result)), "immediately after: t2."},
		{"a block of the model's", said(content("user", use)), "messages.0.content.0: Input tag 'tool_use' found using 'type' does not match any of the expected tags for role 'user'"},
		{"a block of the user's", said(hi + `,` + content("assistant", result) + `,` + hi), "messages.1.content.0: Input tag 'tool_result' found using 'type' does not match any of the expected tags for role 'assistant'"},
		{"calls in a row", said(hi + `,` + content("assistant", use) + `,` + content("assistant", use2) + `,` + hi), "messages.2: `tool_use` ids were found without"},
		{"blanks of the assistant", said(hi + `,` + content("assistant", `{"type":"text","text":" \n"}`) + `,` + hi), "text content blocks must contain non-whitespace text"},
		{"a name of 64", said(hi + `,` + content("assistant", strings.Replace(use, `"f"`, `"`+strings.Repeat("f", 64)+`"`, 1)) + `,` + content("user", result)), ""},
		{"a name of 65", said(hi + `,` + content("assistant", strings.Replace(use, `"f"`, `"`+strings.Repeat("f", 65)+`"`, 1)) + `,` + content("user", result)), "messages.1.content.0.tool_use.name: String should match pattern"},
		{"a strict answer", head(`"max_tokens":1,"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{},"additionalProperties":false}}}`), ""},
		{"an answer of another kind", head(`"max_tokens":1,"output_config":{"format":{"type":"json_object","schema":{"type":"object","properties":{},"additionalProperties":false}}}`), "output_config.format.schema: Input tag 'json_object'"},
		{"alternating was asked for", said(hi + `,` + hi), "roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			directives := ""
			if strings.Contains(tt.name, "alternating") {
				directives = "alternate"
				tt.want = strings.ReplaceAll(tt.want, `"`, `\"`)
			}
			judged(t, messagesPath, directives, tt.body, tt.want)
		})
	}
	t.Run("no version", func(t *testing.T) {
		t.Parallel()
		_, url := serve(t, Config{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+messagesPath, strings.NewReader(head(`"max_tokens":1`)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
}

// Each bound of the Responses API from both sides.
func TestResponsesBounds(t *testing.T) {
	t.Parallel()
	head := func(more string) string { return `{"model":"m","input":"x",` + more + `}` }
	input := func(list string) string { return `{"model":"m","input":[` + list + `]}` }
	const (
		call = `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`
		out  = `{"type":"function_call_output","call_id":"c1","output":"x"}`
	)
	for _, tt := range []struct{ name, body, want string }{
		{"no model", `{"input":"x"}`, `{"error":{"code":"missing_required_parameter","message":"Missing required parameter: 'model'.","param":"model","type":"invalid_request_error"}}`},
		{"a limit of 16", head(`"max_output_tokens":16`), ""},
		{"a limit of 15", head(`"max_output_tokens":15`), "Expected a value >= 16, but got 15 instead."},
		{"a summary", head(`"reasoning":{"summary":"detailed"}`), ""},
		{"another summary", head(`"reasoning":{"summary":"long"}`), `"param":"reasoning.summary"`},
		{"a type that is wrong", head(`"stream":1`), `"code":"invalid_type"`},
		{"no input", `{"model":"m"}`, `"param":"input"`},
		{"an empty list", input(""), "expected a string or a list of items"},
		{"a tool of another type", head(`"tools":[{"type":"web_search"}]`), `"param":"tools[0].type"`},
		{"messages by type", input(`{"type":"message","role":"user","content":"x"}`), ""},
		{"an item of another type", input(`{"type":"image","id":"x"}`), "Invalid value: 'image'."},
		{"parts of an assistant", input(`{"role":"assistant","content":[{"type":"output_text","text":"x"},{"type":"refusal","refusal":"y"}]},` + hi), ""},
		{"a call and its output", input(hi + `,` + call + `,` + out), ""},
		{"an output in parts", input(hi + `,` + call + `,` + strings.Replace(out, `"x"`, `[{"type":"input_text","text":"x"}]`, 1)), ""},
		{"an output of an image", input(hi + `,` + call + `,` + strings.Replace(out, `"x"`, `[{"type":"input_image"}]`, 1)), `"param":"input[2].output"`},
		{"a call between outputs", input(hi + `,` + call + `,` + strings.Replace(call, "c1", "c2", 1) + `,` + out + `,` + strings.Replace(call, "c1", "c3", 1)), "No tool output found for function call c2."},
		{"an id of 64", input(hi + `,` + strings.ReplaceAll(call+`,`+out, "c1", strings.Repeat("c", 64))), ""},
		{"an id of 65", input(hi + `,` + strings.ReplaceAll(call+`,`+out, "c1", strings.Repeat("c", 65))), "but got a string with length 65 instead."},
		{"no id", input(hi + `,` + strings.ReplaceAll(call+`,`+out, "c1", "")), "Tool call ids must not be empty."},
		{"an id of an item", input(hi + `,` + strings.Replace(call, `{`, `{"id":"fc_1",`, 1) + `,` + out), ""},
		{"arguments of no object", input(hi + `,` + strings.Replace(call, `"{}"`, `"[]"`, 1) + `,` + out), "input[1].arguments"},
		{"arguments of no JSON", input(hi + `,` + strings.Replace(call, `"{}"`, `"{"`, 1) + `,` + out), "not a JSON object"},
		{"reasoning by another name", input(hi + `,{"type":"reasoning","id":"x","summary":[]}`), "Expected an ID that begins with 'rs'."},
		{"a choice without tools", head(`"tool_choice":"required"`), "only allowed when 'tools' are specified"},
		{"a schema", head(`"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"}}}`), ""},
		{"a schema that is missing", head(`"text":{"format":{"type":"json_schema","name":"a"}}`), "Missing required parameter: 'text.format.schema'."},
		{"a format of another kind", head(`"text":{"format":{"type":"xml"}}`), "Supported values are: 'json_object', 'json_schema', and 'text'."},
		{"text as the format", head(`"text":{"format":{"type":"text"}}`), ""},
		{"an unknown member within", head(`"reasoning":{"depth":1}`), "Unknown parameter: 'reasoning.depth'."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			judged(t, responsesPath, "", tt.body, tt.want)
		})
	}
}

// Each bound of Chat Completions from both sides, and of what the protocols share.
func TestChatBounds(t *testing.T) {
	t.Parallel()
	messages := func(list string) string { return `{"model":"m","messages":[` + list + `]}` }
	with := func(more string) string { return `{"model":"m","messages":[` + hi + `],` + more + `}` }
	tool := func(parameters string) string {
		return `"tools":[{"type":"function","function":{"name":"a","parameters":` + parameters + `}}]`
	}
	strict := func(schema string) string {
		return with(`"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":` + schema + `}}`)
	}
	const (
		object = `{"type":"object","properties":{}}`
		result = `{"role":"tool","tool_call_id":"c1","content":"x"}`
	)
	for _, tt := range []struct{ name, directives, body, want string }{
		{"a tool of another type", "", with(`"tools":[{"type":"custom"}]`), `"param":"tools[0].type"`},
		{"content in parts", "", messages(`{"role":"user","content":[{"type":"text","text":"x"}]}`), ""},
		{"an image", "", messages(`{"role":"user","content":[{"type":"image_url"}]}`), `"param":"messages[0].content"`},
		{"content of another kind", "", messages(`{"role":"user","content":7}`), `"param":"messages[0].content"`},
		{"no content next to calls", "", messages(hi + `,` + call1 + `,` + result), ""},
		{"no content of an assistant", "", messages(hi + `,{"role":"assistant","content":null},` + hi), "got null"},
		{"calls of the user", "", messages(strings.Replace(call1, "assistant", "user", 1)), "got null"},
		{"reasoning of the user", "", messages(`{"role":"user","content":"x","reasoning":"y"}`), "Only assistant messages may have"},
		{"several system messages", "", messages(`{"role":"system","content":"a"},{"role":"developer","content":"b"},` + hi), ""},
		{"nine", "take-ids nine", messages(hi + `,` + strings.ReplaceAll(call1+`,`+result, "c1", "abcDEF789")), ""},
		{"ten", "take-ids nine", messages(hi + `,` + strings.ReplaceAll(call1+`,`+result, "c1", "abcDEF7890")), "with a length of 9"},
		{"nine with a dash", "take-ids nine", messages(hi + `,` + strings.ReplaceAll(call1+`,`+result, "c1", "abcDEF-89")), "with a length of 9"},
		{"alternating", "alternate", messages(hi + `,{"role":"assistant","content":"x"},` + hi), ""},
		{"a user behind a result", "alternate", messages(hi + `,` + call1 + `,` + result + `,` + hi), "Unexpected role 'user' after role 'tool'"},
		{"two assistants", "alternate", messages(hi + `,{"role":"assistant","content":"x"},{"role":"assistant","content":"x"},` + hi), "Unexpected role 'assistant' after role 'assistant'"},
		{"another model's signature", "signed", messages(hi + `,` + strings.Replace(call1, `"type"`, `"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}},"type"`, 1) + `,` + result), ""},
		{"a signature that is none", "signed", messages(hi + `,` + strings.Replace(call1, `"type"`, `"extra_content":{"google":{"thought_signature":"abc"}},"type"`, 1) + `,` + result), "Corrupted thought signature."},
		{"of an earlier turn none is wanted", "signed; need-reasoning", messages(hi + `,` + call1 + `,` + result + `,{"role":"assistant","content":"x"},` + hi), ""},
		{"the longest name of a tool", "", with(strings.Replace(tool(object), `"a"`, `"`+strings.Repeat("a", 64)+`"`, 1)), ""},
		{"one letter more", "", with(strings.Replace(tool(object), `"a"`, `"`+strings.Repeat("a", 65)+`"`, 1)), "does not match pattern"},
		{"no name", "", with(strings.Replace(tool(object), `"a"`, `""`, 1)), "does not match pattern"},
		{"no parameters", "", with(`"tools":[{"type":"function","function":{"name":"a"}}]`), ""},
		{"parameters of another kind", "", with(tool(`[]`)), "schema must be an object."},
		{"oneOf at the root", "", with(tool(`{"type":"object","properties":{},"oneOf":[]}`)), "(oneOf)"},
		{"an enum at the root", "", with(tool(`{"type":"object","properties":{},"enum":[]}`)), "(enum)"},
		{"anyOf below it", "", with(tool(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}}}`)), ""},
		{"a strict tool", "", with(strings.Replace(tool(object), `"name"`, `"strict":true,"name"`, 1)), "Invalid schema for function 'a': In context=(), 'additionalProperties' is required"},
		{"a strict tool that is closed", "", with(strings.Replace(tool(`{"type":"object","properties":{},"additionalProperties":false}`), `"name"`, `"strict":true,"name"`, 1)), ""},
		{"the word", "", with(`"tool_choice":"auto",` + tool(object)), ""},
		{"no such word", "", with(`"tool_choice":"maybe",` + tool(object)), "Invalid value: 'maybe'. Supported values are: 'none', 'auto', and 'required'."},
		{"a tool by name", "", with(`"tool_choice":{"type":"function","function":{"name":"a"}},` + tool(object)), ""},
		{"no such tool", "", with(`"tool_choice":{"type":"function","function":{"name":"b"}},` + tool(object)), "Tool choice 'b' not found in 'tools' parameter."},
		{"an answer in JSON", "", strings.Replace(with(`"response_format":{"type":"json_object"}`), `"hi"`, `"as JSON"`, 1), ""},
		{"strict", "", strict(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{}},"required":["b"],"additionalProperties":false}}},"required":["a"],"additionalProperties":false}`), ""},
		{"open within", "", strict(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{}}}},"required":["a"],"additionalProperties":false}`), "In context=(, 'properties', 'a', 'items'), 'additionalProperties'"},
		{"open in a branch", "", strict(`{"anyOf":[{"type":"string"},{"type":"object"}]}`), "In context=(, 'anyOf', '1')"},
		{"what an enum holds is no schema", "", strict(`{"enum":[{"type":"object"}]}`), ""},
		{"a string that is none", "", with(`"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true}}`), "schema must be an object."},
		{"refused by value alone", "refuse temperature=1", with(`"temperature":0.5`), ""},
		{"refused within", "refuse stream_options.include_usage", with(`"stream":true,"stream_options":{"include_usage":true}`), "'stream_options.include_usage' is not supported with this model."},
		{"what callers name is theirs", "strict 400; refuse foo", with(`"metadata":{"foo":1},` + tool(`{"type":"object","properties":{"foo":{}}}`)), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			judged(t, chatPath, tt.directives, tt.body, tt.want)
		})
	}
}
