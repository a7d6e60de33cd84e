package modelsim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// parse reads JSON that a test wrote.
func parse(t *testing.T, text string) (v m) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// refused sends body, which holds one fault, and looks for want in the error.
func refused(t *testing.T, path, directives, body, want string) {
	t.Helper()
	s, url := serve(t, Config{})
	resp, got := post(t, url+path, directives, parse(t, body))
	if resp.StatusCode < 400 || !strings.Contains(got, want) {
		t.Errorf("%s\ngot %d %s\nwant %s", body, resp.StatusCode, got, want)
	}
	if len(s.Failures()) == 0 && !strings.HasPrefix(directives, "refuse") {
		t.Error("not told as a failure")
	}
}

const (
	call1 = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	calls = `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	hi    = `{"role":"user","content":"hi"}`
)

func TestChatRefusals(t *testing.T) {
	t.Parallel()
	messages := func(list string) string { return `{"model":"m","messages":[` + list + `]}` }
	with := func(more string) string { return `{"model":"m","messages":[` + hi + `],` + more + `}` }
	tool := func(name, parameters string) string {
		return `{"type":"function","function":{"name":"` + name + `","parameters":` + parameters + `}}`
	}
	const object = `{"type":"object","properties":{}}`
	tests := []struct{ name, directives, body, want string }{
		{"no messages", "", `{"model":"m","messages":[]}`, "empty array"},
		{"no model", "", `{"messages":[` + hi + `]}`, "model parameter"},
		{"role", "", messages(`{"role":"model","content":"x"}`), "Invalid value: 'model'"},
		{"system late", "", messages(hi + `,{"role":"system","content":"x"}`), "before all others"},
		{"assistant last", "", messages(hi + `,{"role":"assistant","content":"x"}`), "Expected last role"},
		{"null content", "", messages(`{"role":"user","content":null}`), "got null"},
		{"call unanswered", "", messages(hi + `,` + call1 + `,` + hi), "did not have response messages: c1"},
		{"one of two unanswered", "", messages(hi + `,` + calls + `,{"role":"tool","tool_call_id":"c1","content":"x"}`), "did not have response messages: c2"},
		{"call at the end", "", messages(hi + `,` + call1), "did not have response messages"},
		{"result without call", "", messages(hi + `,{"role":"tool","tool_call_id":"c1","content":"x"}`), "must be a response to a preceeding message"},
		{"results out of order", "", messages(hi + `,` + calls + `,{"role":"tool","tool_call_id":"c2","content":"x"},{"role":"tool","tool_call_id":"c1","content":"x"}`), "order of the calls"},
		{"ids repeated", "", messages(hi + `,` + strings.Replace(calls, "c2", "c1", 1)), "unique"},
		{"id empty", "", messages(hi + `,` + strings.Replace(call1, "c1", "", 1)), "empty"},
		{"id not nine", "take-ids nine", messages(hi + `,` + call1), "must be a-z, A-Z, 0-9, with a length of 9"},
		{"arguments", "", messages(hi + `,` + strings.Replace(call1, `"{}"`, `"[]"`, 1)), "not a JSON object"},
		{"name of a call", "", messages(hi + `,` + strings.Replace(call1, `"f"`, `"a.b"`, 1)), "function name"},
		{"alternate", "alternate", messages(hi + `,` + hi), "Unexpected role 'user' after role 'user'"},
		{"foreign reasoning", "", messages(hi + `,{"role":"assistant","content":"x","reasoning_content":"other"},` + hi), "not what this model sent"},
		{"foreign detail", "", messages(hi + `,{"role":"assistant","content":"x","reasoning_details":[{"type":"reasoning.text","text":"x","signature":"abc"}]},` + hi), "signature"},
		{"reasoning missing", "need-reasoning", messages(hi + `,` + call1 + `,{"role":"tool","tool_call_id":"c1","content":"x"}`), "reasoning_content"},
		{"signature missing", "signed", messages(hi + `,` + call1 + `,{"role":"tool","tool_call_id":"c1","content":"x"}`), "missing a thought_signature"},
		{"bad tool name", "", with(`"tools":[` + tool("a.b", object) + `]`), "does not match pattern"},
		{"tool twice", "", with(`"tools":[` + tool("a", object) + `,` + tool("a", object) + `]`), "unique"},
		{"no object", "", with(`"tools":[` + tool("a", `{"type":"string"}`) + `]`), "invalid_function_parameters"},
		{"no properties", "", with(`"tools":[` + tool("a", `{"type":"object"}`) + `]`), "missing properties"},
		{"anyOf at the root", "", with(`"tools":[` + tool("a", `{"type":"object","properties":{},"anyOf":[{}]}`) + `]`), "top level"},
		{"choice without tools", "", with(`"tool_choice":"none"`), "only allowed when 'tools'"},
		{"stream_options", "", with(`"stream_options":{"include_usage":true}`), "only allowed when 'stream'"},
		{"both limits", "", with(`"max_tokens":1,"max_completion_tokens":1`), "at the same time"},
		{"strict schema", "", with(`"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}}}`), "Missing 'a'"},
		{"schema without a name", "", with(`"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`), "json_schema.name"},
		{"no word of JSON", "", with(`"response_format":{"type":"json_object"}`), "the word 'json'"},
		{"unknown 400", "strict 400", with(`"foo":1`), `"code":"unknown_parameter"`},
		{"unknown inside", "strict 400", messages(`{"role":"user","content":"x","cache_control":{}}`), "messages[0].cache_control"},
		{"unknown 422", "strict 422", with(`"foo":1`), `{"code":null,"message":{"detail":[{"input":true,"loc":["body","foo"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]}`},
		{"refused", "refuse temperature", with(`"temperature":0.5`), `"param":"temperature"`},
		{"refused 422", "refuse include_usage; strict 422", with(`"stream":true,"stream_options":{"include_usage":true}`), `"loc":["body","stream_options","include_usage"]`},
		{"value refused", "refuse reasoning_effort=none", with(`"reasoning_effort":"none"`), "unsupported_value"},
		{"not JSON", "", with(`"stream":"yes"`), "Invalid type"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused(t, chatPath, tt.directives, tt.body, tt.want)
		})
	}
}

func TestResponsesRefusals(t *testing.T) {
	t.Parallel()
	input := func(list string) string { return `{"model":"m","input":[` + list + `]}` }
	const (
		call = `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`
		out  = `{"type":"function_call_output","call_id":"c1","output":"x"}`
	)
	tests := []struct{ name, body, want string }{
		{"unknown", `{"model":"m","input":"x","messages":[]}`, "Unknown parameter: 'messages'"},
		{"unknown in a tool", `{"model":"m","input":"x","tools":[{"type":"function","function":{}}]}`, "tools[0].function"},
		{"limit", `{"model":"m","input":"x","max_output_tokens":1}`, "below minimum value"},
		{"stored", `{"model":"m","input":"x","previous_response_id":"r"}`, "not found"},
		{"role", input(`{"role":"tool","content":"x"}`), "Invalid value: 'tool'"},
		{"part of a user", input(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`), "Supported values are: 'input_text'"},
		{"part of an assistant", input(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]},` + hi), "'output_text' and 'refusal'"},
		{"no output", input(hi + `,` + call), "No tool output found for function call c1"},
		{"message before the output", input(hi + `,` + call + `,` + hi), "No tool output found"},
		{"output without call", input(hi + `,` + out), "No tool call found"},
		{"order", input(hi + `,` + call + `,` + strings.Replace(call, "c1", "c2", 1) + `,` + strings.Replace(out, "c1", "c2", 1) + `,` + out), "order of the calls"},
		{"ids repeated", input(hi + `,` + call + `,` + call), "unique"},
		{"name", input(hi + `,` + strings.Replace(call, `"f"`, `"a b"`, 1)), "input[1].name"},
		{"id of a call", input(hi + `,` + strings.Replace(call, `{`, `{"id":"call_1",`, 1)), "begins with 'fc'"},
		{"foreign reasoning", input(hi + `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},` + call + `,` + out), "invalid_encrypted_content"},
		{"reasoning by name", input(hi + `,{"type":"reasoning","id":"rs_1","summary":[]},` + call + `,` + out), "not persisted when `store`"},
		{"tool name", `{"model":"m","input":"x","tools":[{"type":"function","name":"a.b","parameters":{"type":"object","properties":{}}}]}`, "tools[0].name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused(t, responsesPath, "", tt.body, tt.want)
		})
	}
}

func TestMessagesRefusals(t *testing.T) {
	t.Parallel()
	messages := func(list string) string { return `{"model":"m","max_tokens":4000,"messages":[` + list + `]}` }
	with := func(more string) string { return `{"model":"m","messages":[` + hi + `],` + more + `}` }
	const (
		use    = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]}`
		result = `{"type":"tool_result","tool_use_id":"t1","content":"x"}`
	)
	tests := []struct{ name, body, want string }{
		{"no limit", `{"model":"m","messages":[` + hi + `]}`, "max_tokens: Field required"},
		{"unknown", with(`"max_tokens":1,"foo":1`), "foo: Extra inputs are not permitted"},
		{"unknown in a block", messages(`{"role":"user","content":[{"type":"text","text":"x","foo":1}]}`), "Extra inputs"},
		{"system role", messages(hi + `,{"role":"system","content":"x"}`), "top-level `system`"},
		{"tool role", messages(hi + `,{"role":"tool","content":"x"}`), "'user' or 'assistant'"},
		{"assistant first", messages(`{"role":"assistant","content":"x"}`), "first message"},
		{"assistant last", messages(hi + `,{"role":"assistant","content":"x"}`), "prefill"},
		{"empty text", messages(`{"role":"user","content":[{"type":"text","text":""}]}`), "non-empty"},
		{"no result", messages(hi + `,` + use + `,` + hi), "without `tool_result` blocks immediately after: t1"},
		{"result not first", messages(hi + `,` + use + `,{"role":"user","content":[{"type":"text","text":"x"},` + result + `]}`), "without `tool_result`"},
		{"result without use", messages(`{"role":"user","content":[` + result + `]}`), "unexpected `tool_use_id`"},
		{"bad id", messages(hi + `,` + strings.Replace(use, "t1", "functions.f:0", 1)), "^[a-zA-Z0-9_-]+$"},
		{"ids repeated", messages(hi + `,` + `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"tool_use","id":"t1","name":"f","input":{}}]}`), "unique"},
		{"input", messages(hi + `,` + strings.Replace(use, `"input":{}`, `"input":"{}"`, 1)), "valid dictionary"},
		{"foreign thinking", messages(hi + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"EtYD"},{"type":"text","text":"x"}]},` + hi), "Invalid `signature`"},
		{"foreign redacted", messages(hi + `,{"role":"assistant","content":[{"type":"redacted_thinking","data":"EtYD"},{"type":"text","text":"x"}]},` + hi), "Invalid `signature`"},
		{"thinking not first", messages(hi + `,{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"thinking","thinking":"x","signature":"EtYD"}]},` + hi), "first in their message"},
		{"thinking missing", strings.Replace(messages(hi+`,`+use+`,{"role":"user","content":[`+result+`]}`), `"m"`, `"m","thinking":{"type":"adaptive"}`, 1), "must start with a thinking block"},
		{"budget", with(`"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":5}`), "1024"},
		{"limit below the budget", with(`"max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":2048}`), "greater than `thinking.budget_tokens`"},
		{"temperature", with(`"max_tokens":1,"temperature":0.5,"thinking":{"type":"adaptive"}`), "only be set to 1"},
		{"forced while thinking", with(`"max_tokens":1,"thinking":{"type":"adaptive"},"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}],"tool_choice":{"type":"any"}`), "forces tool use"},
		{"tool name", with(`"max_tokens":1,"tools":[{"name":"a.b","input_schema":{"type":"object","properties":{}}}]`), "tools.0.custom.name"},
		{"loose schema", with(`"max_tokens":1,"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{}}}}`), "additionalProperties"},
		{"choice without tools", with(`"max_tokens":1,"tool_choice":{"type":"none"}`), "tools"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused(t, messagesPath, "", tt.body, tt.want)
		})
	}
}

// What an answer carried must come back unchanged, to the same server and model: a
// reasoning item before its call, a thinking block with its signature.
func TestWhatMustComeBack(t *testing.T) {
	t.Parallel()
	const plan = "thought Hm; call create_todo {\"title\":\"a\"}"
	tests := []struct {
		name, path string
		other      string // name of the second server
		change     func(c *client, h *observed)
		want       string // "" : taken
	}{
		{"responses whole", responsesPath, "", func(*client, *observed) {}, ""},
		{"responses left out", responsesPath, "", func(_ *client, h *observed) { h.kept = nil }, "without its required 'reasoning' item"},
		{"responses changed", responsesPath, "", func(_ *client, h *observed) { h.kept[0].(m)["summary"] = []any{} }, "invalid_encrypted_content"},
		{"responses elsewhere", responsesPath, "b", func(*client, *observed) {}, "invalid_encrypted_content"},
		{"responses elsewhere, left out", responsesPath, "b", func(_ *client, h *observed) { h.kept = nil }, ""},
		{"responses other model", responsesPath, "", func(c *client, _ *observed) { c.body["model"] = "y" }, "invalid_encrypted_content"},
		{"messages whole", messagesPath, "", func(*client, *observed) {}, ""},
		{"messages left out", messagesPath, "", func(_ *client, h *observed) { h.kept = nil }, "must start with a thinking block"},
		{"messages left out, no thinking", messagesPath, "", func(c *client, h *observed) { h.kept = nil; delete(c.body, "thinking") }, ""},
		{"messages changed", messagesPath, "", func(_ *client, h *observed) { h.kept[0].(m)["thinking"] = "Ha" }, "Invalid `signature`"},
		{"messages elsewhere", messagesPath, "b", func(*client, *observed) {}, "Invalid `signature`"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, first := serve(t, Config{})
			_, second := serve(t, Config{Name: tt.other})
			c := newClient(tt.path, "s", "hi", todoTools(t))
			h := c.next(t, first, plan)
			if len(h.kept) != 1 || h.thoughts != "Hm" {
				t.Fatalf("heard %+v", h)
			}
			tt.change(c, &h)
			c.reply(h, "done")
			resp, body := post(t, second+tt.path, "", c.body)
			if accepted := resp.StatusCode == http.StatusOK; accepted != (tt.want == "") || !strings.Contains(body, tt.want) {
				t.Errorf("status %d, want %q in %s", resp.StatusCode, tt.want, body)
			}
		})
	}
}

// Keys are checked in the header of each protocol.
func TestKeys(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{RequireKey: "k"})
	for path, header := range map[string][2]string{
		chatPath: {"Authorization", "Bearer k"}, responsesPath: {"Authorization", "Bearer k"}, messagesPath: {"X-Api-Key", "k"},
	} {
		for _, right := range []bool{true, false} {
			body, _ := json.Marshal(newClient(path, "s", "hi", todoTools(t)).body)
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader(string(body)))
			req.Header.Set("Anthropic-Version", "2023-06-01")
			want := http.StatusUnauthorized
			if right {
				req.Header.Set(header[0], header[1])
				want = http.StatusOK
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s: status %d, want %d", path, resp.StatusCode, want)
			}
		}
	}
}
