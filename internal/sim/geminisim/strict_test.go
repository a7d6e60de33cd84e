package geminisim

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/sim/geminisim/simtest"
)

// refusal sends body to a fresh server and returns the error's message, ""
// for a request that was accepted.
func refusal(t *testing.T, body string) string {
	t.Helper()
	_, url := serve(t, Config{})
	resp, text := simtest.Post(t, url+streamPath, body)
	if resp.StatusCode == 200 {
		return ""
	}
	code, status, message := apiMessage(t, text)
	if resp.StatusCode != 400 || code != 400 || status != "INVALID_ARGUMENT" {
		t.Errorf("refused with %d %d %s", resp.StatusCode, code, status)
	}
	return message
}

// signed is a part with a call as the simulator issues it.
func signed(name, id, args string) string {
	call := `{"name":"` + name + `","args":` + args
	if id != "" {
		call += `,"id":"` + id + `"`
	}
	sig := signWords(callKey(&functionCall{ID: id, Name: name, Args: []byte(args)}))
	return `{"functionCall":` + call + `},"thoughtSignature":"` + sig + `"}`
}

func unsigned(name, id, args string) string {
	p, _, _ := strings.Cut(signed(name, id, args), `,"thoughtSignature"`)
	return p + "}"
}

func answered(name, id string) string {
	return `{"functionResponse":{"id":"` + id + `","name":"` + name + `","response":{"output":"ok"}}}`
}

// Each rule twice: a request that keeps it (want "") and one that breaks it.
func TestContentRules(t *testing.T) {
	t.Parallel()
	hi := simtest.Text("user", "hi")
	callA, callB := signed("create_todo", "aaaaaaaa", `{"title":"x"}`), unsigned("list_todos", "bbbbbbbb", `{}`)
	for _, tc := range []struct{ name, body, want string }{
		{"plain", simtest.Request(hi), ""},
		{"no contents", `{"contents":[]}`, "* GenerateContentRequest.contents: contents is not specified\n"},
		{"nothing at all", `{}`, "contents is not specified"},
		{"role", simtest.Request(simtest.Text("banana", "hi")), "Role 'banana' is not supported. Please use a valid role"},
		{"role may be left out of a lone content", `{"contents":[{"parts":[{"text":"hi"}]}]}`, ""},
		{"role left out of one of several", simtest.Request(hi, simtest.Text("model", "yes"), `{"parts":[{"text":"hi"}]}`), "Role '' is not supported"},
		{"no parts", simtest.Request(`{"role":"user"}`), "contents[0].parts: contents.parts must not be empty"},
		{"empty part", simtest.Request(simtest.UserTurn(`{}`)), "contents[0].parts[0].data: required oneof field 'data'"},
		{"signature alone is no part", simtest.Request(hi, simtest.ModelTurn(`{"thoughtSignature":"AAAA"}`), hi), "required oneof field 'data'"},
		{"empty text with a signature is one", simtest.Request(hi, simtest.ModelTurn(`{"text":"","thoughtSignature":"AAAA"}`), hi), ""},
		{"two data fields", simtest.Request(simtest.UserTurn(`{"text":"x","functionResponse":{"name":"a","response":{}}}`)), "required oneof field 'data'"},
		{"history", simtest.Request(hi, simtest.Text("model", "hello"), hi), ""},
		{"model last", simtest.Request(hi, simtest.Text("model", "hello")), "Please ensure that multiturn requests end with a user role or a function response."},
		{"thought sent back", simtest.Request(hi, simtest.ModelTurn(`{"text":"hm","thought":true}`, `{"text":"yes"}`), hi), "contents[1].parts[0].thought: thought parts must not be sent back"},
		{"call and response", simtest.Request(hi, simtest.ModelTurn(callA), simtest.UserTurn(answered("create_todo", "aaaaaaaa"))), ""},
		{"parallel calls", simtest.Request(hi, simtest.ModelTurn(callA, callB), simtest.UserTurn(answered("create_todo", "aaaaaaaa"), answered("list_todos", "bbbbbbbb"))), ""},
		{"too few responses", simtest.Request(hi, simtest.ModelTurn(callA, callB), simtest.UserTurn(answered("create_todo", "aaaaaaaa"))), "number of function response parts is equal to the number of function call parts"},
		{"too many responses", simtest.Request(hi, simtest.ModelTurn(callA), simtest.UserTurn(answered("create_todo", "aaaaaaaa"), answered("create_todo", "aaaaaaaa"))), "number of function response parts"},
		{"no response", simtest.Request(hi, simtest.ModelTurn(callA), hi), "number of function response parts"},
		{"responses in another order", simtest.Request(hi, simtest.ModelTurn(callA, callB), simtest.UserTurn(answered("list_todos", "bbbbbbbb"), answered("create_todo", "aaaaaaaa"))), "functionResponse.id does not match functionCall.id"},
		{"another id", simtest.Request(hi, simtest.ModelTurn(callA), simtest.UserTurn(answered("create_todo", "zzzzzzzz"))), "functionResponse.id does not match functionCall.id"},
		{"id dropped", simtest.Request(hi, simtest.ModelTurn(callA), simtest.UserTurn(`{"functionResponse":{"name":"create_todo","response":{}}}`)), "functionResponse.id does not match functionCall.id"},
		{"id made up", simtest.Request(hi, simtest.ModelTurn(signed("create_todo", "", `{}`)), simtest.UserTurn(answered("create_todo", "aaaaaaaa"))), "functionResponse.id does not match functionCall.id"},
		{"no ids", simtest.Request(hi, simtest.ModelTurn(signed("create_todo", "", `{}`)), simtest.UserTurn(`{"functionResponse":{"name":"create_todo","response":{}}}`)), ""},
		{"another name", simtest.Request(hi, simtest.ModelTurn(callA), simtest.UserTurn(answered("list_todos", "aaaaaaaa"))), "functionResponse.name does not match functionCall.name"},
		{"response without a call", simtest.Request(hi, simtest.Text("model", "yes"), simtest.UserTurn(answered("create_todo", "aaaaaaaa"))), "function response turn comes immediately after a function call turn"},
		{"call after a model turn", simtest.Request(hi, simtest.Text("model", "yes"), simtest.ModelTurn(callA), simtest.UserTurn(answered("create_todo", "aaaaaaaa"))), "function call turn comes immediately after a user turn"},
		{"call first of all", simtest.Request(simtest.ModelTurn(callA), simtest.UserTurn(answered("create_todo", "aaaaaaaa"))), "function call turn comes immediately after a user turn"},
		{"call by the user", simtest.Request(simtest.UserTurn(callA)), "only allowed in a content with role 'model'"},
		{"response by the model", simtest.Request(hi, simtest.ModelTurn(answered("create_todo", "aaaaaaaa")), hi), "only allowed in a content with role 'user'"},
		{"call without a name", simtest.Request(hi, simtest.ModelTurn(`{"functionCall":{}}`), hi), "function_call.name: Name cannot be empty"},
		{"response without a name", simtest.Request(hi, simtest.ModelTurn(callA), simtest.UserTurn(`{"functionResponse":{"response":{}}}`)), "function_response.name: Name cannot be empty"},
		{"args that are no object", simtest.Request(hi, simtest.ModelTurn(`{"functionCall":{"name":"a","args":[1]}}`), hi), "function_call.args"},
		{"response that is no object", simtest.Request(hi, simtest.ModelTurn(callA), simtest.UserTurn(`{"functionResponse":{"id":"aaaaaaaa","name":"create_todo","response":"ok"}}`)), "function_response.response"},
		{"$ref deep in a response", simtest.Request(hi, simtest.ModelTurn(callA), simtest.UserTurn(`{"functionResponse":{"id":"aaaaaaaa","name":"create_todo","response":{"a":[{"b":{"$ref":"#/x"}}]}}}`)), "the key $ref is not allowed"},
		{"$ref as a value", simtest.Request(hi, simtest.ModelTurn(callA), simtest.UserTurn(`{"functionResponse":{"id":"aaaaaaaa","name":"create_todo","response":{"output":"$ref","$refs":["$ref"]}}}`)), ""},
		{"system instruction with a call", `{"contents":[` + hi + `],"systemInstruction":{"parts":[` + callA + `]}}`, "system_instruction.parts[0]: only text"},
	} {
		if got := refusal(t, tc.body); tc.want == "" && got != "" || tc.want != "" && !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestSignatureRules(t *testing.T) {
	t.Parallel()
	hi := simtest.Text("user", "hi")
	answer := simtest.UserTurn(answered("create_todo", "aaaaaaaa"))
	good := signed("create_todo", "aaaaaaaa", `{"title":"x","n":1.0}`)
	urlSafe := strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(good[strings.LastIndex(good, ":"):])
	for _, tc := range []struct{ name, body, want string }{
		{"unchanged", simtest.Request(hi, simtest.ModelTurn(good), answer), ""},
		{"URL-safe base64", simtest.Request(hi, simtest.ModelTurn(good[:strings.LastIndex(good, ":")]+urlSafe), answer), ""},
		{"arguments in another order and form", simtest.Request(hi, simtest.ModelTurn(strings.Replace(good, `{"title":"x","n":1.0}`, `{ "n": 1, "title": "\u0078" }`, 1)), answer), ""},
		{"missing", simtest.Request(hi, simtest.ModelTurn(unsigned("create_todo", "aaaaaaaa", `{"title":"x"}`)), answer), "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:create_todo` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."},
		{"of another call", simtest.Request(hi, simtest.ModelTurn(strings.Replace(good, `"x"`, `"y"`, 1)), answer), "Corrupted thought signature"},
		{"without the call's id", simtest.Request(hi, simtest.ModelTurn(strings.Replace(good, `,"id":"aaaaaaaa"`, "", 1)), simtest.UserTurn(`{"functionResponse":{"name":"create_todo","response":{}}}`)), "Corrupted thought signature"},
		{"made up", simtest.Request(hi, simtest.ModelTurn(unsigned("create_todo", "aaaaaaaa", `{}`)[:len(unsigned("create_todo", "aaaaaaaa", `{}`))-1]+`,"thoughtSignature":"AAAA"}`), answer), "Corrupted thought signature"},
		{"the way round it", simtest.Request(hi, simtest.ModelTurn(unsigned("create_todo", "aaaaaaaa", `{}`)[:len(unsigned("create_todo", "aaaaaaaa", `{}`))-1]+`,"thoughtSignature":"skip_thought_signature_validator"}`), answer), "Corrupted thought signature"},
		{"no base64", simtest.Request(hi, simtest.ModelTurn(unsigned("create_todo", "aaaaaaaa", `{}`)[:len(unsigned("create_todo", "aaaaaaaa", `{}`))-1]+`,"thoughtSignature":"%%%"}`), answer), "Base64 decoding failed"},
		{"on a parallel call that had none", simtest.Request(hi, simtest.ModelTurn(good, signed("list_todos", "bbbbbbbb", `{}`)), simtest.UserTurn(answered("create_todo", "aaaaaaaa"), answered("list_todos", "bbbbbbbb"))), "Corrupted thought signature"},
		{"missing in the second step", simtest.Request(hi, simtest.ModelTurn(good), answer, simtest.ModelTurn(unsigned("list_todos", "bbbbbbbb", `{}`)), simtest.UserTurn(answered("list_todos", "bbbbbbbb"))), "function call `default_api:list_todos` , position 4"},
		{"missing in an earlier turn does not matter", simtest.Request(hi, simtest.ModelTurn(unsigned("create_todo", "aaaaaaaa", `{}`)), answer, simtest.Text("model", "done"), hi), ""},
	} {
		if got := refusal(t, tc.body); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestPayloadRules(t *testing.T) {
	t.Parallel()
	with := func(fields string) string { return `{"contents":[{"parts":[{"text":"hi"}]}]` + fields + `}` }
	for _, tc := range []struct{ name, body, want string }{
		{"unknown field", with(`,"foo":1`), `Invalid JSON payload received. Unknown name "foo": Cannot find field.`},
		{"unknown field within", with(`,"generationConfig":{"thinkingConfig":{"foo":1}}`), `Unknown name "foo" at 'generation_config.thinking_config': Cannot find field.`},
		{"unknown field of a part", `{"contents":[{"parts":[{"text":"a"},{"text":"b","txt":"c"}]}]}`, `Unknown name "txt" at 'contents[0].parts[1]': Cannot find field.`},
		{"names are case-sensitive", `{"Contents":[]}`, `Unknown name "Contents"`},
		{"snake_case", `{"contents":[{"parts":[{"text":"hi"}]}],"generation_config":{"max_output_tokens":5},"system_instruction":{"parts":[{"text":"s"}]}}`, ""},
		{"wrong type", `{"contents":[{"parts":[{"text":7}]}]}`, "Invalid value at 'contents[0].parts[0].text' (number)"},
		{"contents no list", `{"contents":{}}`, "Invalid value at 'contents'"},
		{"not JSON", `{"contents":[`, "Invalid JSON payload received."},
		{"two fields of one name", `{"contents":[],"contents":[]}`, "duplicate object member name"},
		{"no UTF-8", "{\"contents\":[{\"parts\":[{\"text\":\"\xff\"}]}]}", "invalid UTF-8"},
		{"trailing data", with("") + " x", "Invalid JSON payload received."},
		{"null is absent", with(`,"tools":null,"toolConfig":null`), ""},
		{"mode as a name", with(`,"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}`), ""},
		{"mode as a number", with(`,"toolConfig":{"functionCallingConfig":{"mode":3}}`), ""},
		{"unknown mode", with(`,"toolConfig":{"functionCallingConfig":{"mode":"MAYBE"}}`), "Invalid value at 'tool_config.function_calling_config.mode'"},
		{"allowed names with ANY", with(`,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["a"]}}`), ""},
		{"allowed names with AUTO", with(`,"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["a"]}}`), "allowed_function_names is only supported"},
		{"one candidate", with(`,"generationConfig":{"candidateCount":1}`), ""},
		{"two candidates", with(`,"generationConfig":{"candidateCount":2}`), "Multiple candidates is not enabled"},
		{"a budget", with(`,"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}`), ""},
		{"a level", with(`,"generationConfig":{"thinkingConfig":{"thinkingLevel":"low"}}`), ""},
		{"a budget and a level", with(`,"generationConfig":{"thinkingConfig":{"thinkingBudget":0,"thinkingLevel":"LOW"}}`), "only one of thinking budget and thinking level"},
		{"model of the path", with(`,"model":"models/gemini-flash-latest"`), ""},
		{"another model", with(`,"model":"models/other"`), "GenerateContentRequest.model"},
	} {
		if got := refusal(t, tc.body); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	_, url := serve(t, Config{})
	_, body := simtest.Post(t, url+"/v1beta/models/gemini-2.5-flash:generateContent", with(`,"generationConfig":{"thinkingConfig":{"thinkingLevel":"low"}}`))
	if !strings.Contains(body, "Thinking level is not supported for this model.") {
		t.Errorf("thinkingLevel on 2.5: %s", body)
	}
}

func TestDeclarationRules(t *testing.T) {
	t.Parallel()
	declare := func(fields string) string {
		return `{"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{` + fields + `}]}]}`
	}
	jsonSchema := func(props string) string {
		return declare(`"name":"f","parametersJsonSchema":{"type":"object","properties":{"p":` + props + `}}`)
	}
	openAPI := func(props string) string {
		return declare(`"name":"f","parameters":{"type":"OBJECT","properties":{"p":` + props + `}}`)
	}
	const at = "tools[0].function_declarations[0]"
	for _, tc := range []struct{ name, body, want string }{
		{"plain name", declare(`"name":"todo_list.v2:x-y","description":"d"`), ""},
		{"leading underscore", declare(`"name":"_f"`), ""},
		{"64 characters", declare(`"name":"` + strings.Repeat("a", 64) + `"`), ""},
		{"65 characters", declare(`"name":"` + strings.Repeat("a", 65) + `"`), at + ".name: Invalid function name."},
		{"leading digit", declare(`"name":"1f"`), "Invalid function name"},
		{"blank", declare(`"name":"a b"`), "Invalid function name"},
		{"no name", declare(`"description":"d"`), "Invalid function name"},
		{"twice the same", `{"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]},{"functionDeclarations":[{"name":"f"}]}]}`, "Duplicate function declaration found: f"},
		{"both kinds of parameters", declare(`"name":"f","parameters":{"type":"OBJECT"},"parametersJsonSchema":{"type":"object"}`), "mutually exclusive"},
		{"unknown field", declare(`"name":"f","inputSchema":{}`), `Unknown name "inputSchema" at '` + at + `'`},

		{"JSON Schema", jsonSchema(`{"type":["string","null"],"title":"t","description":"d","enum":["a",1,null],"format":"date"}`), ""},
		{"nested", jsonSchema(`{"anyOf":[{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{"q":{"type":"integer","minimum":0,"maximum":9}},"required":["q"]},"minItems":1},{"oneOf":[{"type":"null"}]}]}`), ""},
		{"additionalProperties as a schema", jsonSchema(`{"type":"object","additionalProperties":{"type":"string"}}`), ""},
		{"reference", declare(`"name":"f","parametersJsonSchema":{"type":"object","$defs":{"d":{"type":"string"}},"properties":{"p":{"$ref":"#/$defs/d","description":"x","default":"y"}}}`), ""},
		{"undefined reference", jsonSchema(`{"$ref":"#/$defs/d"}`), "reference to an undefined schema"},
		{"foreign reference", jsonSchema(`{"$ref":"#/properties/p"}`), "reference to an undefined schema"},
		{"reference with neighbours", declare(`"name":"f","parametersJsonSchema":{"type":"object","$defs":{"d":{"type":"string"}},"properties":{"p":{"$ref":"#/$defs/d","type":"string"}}}`), `$ref must not have siblings, found "type"`},
		{"$schema", declare(`"name":"f","parametersJsonSchema":{"$schema":"x","type":"object"}`), `Unknown name "$schema" at '` + at + `.parameters_json_schema'`},
		{"const", jsonSchema(`{"const":"a"}`), `Unknown name "const" at '` + at + `.parameters_json_schema.properties[0].value'`},
		{"exclusiveMinimum", jsonSchema(`{"type":"integer","exclusiveMinimum":0}`), `Unknown name "exclusiveMinimum"`},
		{"default", jsonSchema(`{"type":"string","default":"a"}`), `Unknown name "default"`},
		{"pattern", jsonSchema(`{"type":"string","pattern":"a"}`), `Unknown name "pattern"`},
		{"unknown deep within", jsonSchema(`{"type":"array","items":{"anyOf":[{"type":"string"},{"examples":[]}]}}`), `Unknown name "examples"`},
		{"unknown type", jsonSchema(`{"type":"strin"}`), "Invalid value at"},
		{"OpenAPI type", jsonSchema(`{"type":"STRING"}`), "Invalid value at"},
		{"properties as a list", declare(`"name":"f","parametersJsonSchema":{"type":"object","properties":[]}`), "Invalid value at"},
		{"a schema that is none", jsonSchema(`7`), "Invalid value at"},
		{"required as a string", declare(`"name":"f","parametersJsonSchema":{"type":"object","required":"p"}`), "Invalid value at"},
		{"not an object", declare(`"name":"f","parametersJsonSchema":{"type":"string"}`), "must be of type OBJECT"},

		{"OpenAPI", openAPI(`{"type":"STRING","enum":["a"],"format":"enum","nullable":true,"description":"d"}`), ""},
		{"numbers for types, as protojson", declare(`"name":"f","parameters":{"type":6,"properties":{"p":{"type":5,"items":{"type":1}}}}`), ""},
		{"lower case", declare(`"name":"f","parameters":{"type":"object","properties":{"p":{"type":"array","items":{"type":"string"}}}}`), ""},
		{"additionalProperties in OpenAPI", openAPI(`{"type":"OBJECT","additionalProperties":false}`), `Unknown name "additionalProperties" at '` + at + `.parameters.properties[0].value'`},
		{"title in OpenAPI", openAPI(`{"type":"STRING","title":"t"}`), `Unknown name "title"`},
		{"several types in OpenAPI", openAPI(`{"type":["STRING","NULL"]}`), "Proto field is not repeating"},
		{"enum of numbers", openAPI(`{"type":"STRING","enum":[1]}`), "(TYPE_STRING)"},
		{"enum of an integer", openAPI(`{"type":"INTEGER","enum":["1"]}`), "enum: only allowed for STRING type"},
		{"array without items", openAPI(`{"type":"ARRAY"}`), "items: missing field"},
		{"properties on a string", openAPI(`{"type":"STRING","properties":{}}`), "properties: only allowed for OBJECT type"},
		{"required on a string", openAPI(`{"type":"STRING","required":[]}`), "required: only allowed for OBJECT type"},
		{"format of a string", openAPI(`{"type":"STRING","format":"uri"}`), "only 'enum' and 'date-time' are supported"},
		{"unknown number", openAPI(`{"type":99}`), "Invalid value at"},
	} {
		if got := refusal(t, tc.body); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// The real API accepted these requests, so the simulator must: all but their
// signatures, which it did not issue.
func TestRecordedRequestsAreAccepted(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(recordings(t), "*.req.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d requests, %v", len(files), err)
	}
	for _, file := range files {
		req, fault := decodeRequest(recording(t, filepath.Base(file)))
		if fault == nil {
			issued := new(ledger)
			for _, c := range req.Contents {
				for _, p := range c.Parts {
					if p.FunctionCall != nil {
						issued.addCall(p.FunctionCall, p.ThoughtSignature)
					}
				}
			}
			fault = checkRequest("gemini", req, issued)
		}
		if fault != nil {
			t.Errorf("%s: %v", filepath.Base(file), fault)
		}
	}
}

// Errors that were recorded come in the recorded words and shape.
func TestRecordedErrors(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Config{})
	hi := simtest.Text("user", "hi")
	for name, body := range map[string]string{
		"pyric-ai-error-empty-contents.json":                   `{"contents":[]}`,
		"pyric-ai-error-bad-role.json":                         simtest.Request(simtest.Text("banana", "x")),
		"pyric-ai-error-fncall-missing-thought-signature.json": simtest.Request(hi, simtest.ModelTurn(unsigned("get_weather", "a", `{}`)), simtest.UserTurn(answered("get_weather", "a"))),
	} {
		_, text := simtest.Post(t, url+streamPath, body)
		var want, got any
		if err := json.Unmarshal(recording(t, name), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// A signature is bound to its call and to nothing else.
func FuzzSignature(f *testing.F) {
	f.Add("create_todo", "abc", `{"a":1}`, `{"a":2}`)
	f.Fuzz(func(t *testing.T, name, id, args, other string) {
		a := functionCall{Name: name, ID: id, Args: []byte(args)}
		b := functionCall{Name: name, ID: id, Args: []byte(other)}
		if same, ok := sameSignature(signWords(callKey(&a)), signWords(callKey(&a))); !same || !ok {
			t.Error("a signature does not fit its own call")
		}
		if same, _ := sameSignature(signWords(callKey(&a)), signWords(callKey(&b))); same != (callKey(&a) == callKey(&b)) {
			t.Errorf("same signature for %q and %q: %v", args, other, same)
		}
	})
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(simtest.UserSays("hello")))
	f.Add([]byte(simtest.Request(simtest.Text("user", "x"), simtest.ModelTurn(signed("a", "b", `{}`)), simtest.UserTurn(answered("a", "b")))))
	f.Add([]byte(`{"contents":[{"parts":[{"functionResponse":{"name":"a","response":{"$ref":1}}}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, fault := decodeRequest(body)
		if fault != nil {
			return
		}
		if fault := checkRequest("m", req, new(ledger)); fault != nil {
			return
		}
		if q := req.newQuestion(); len(q.Messages) != len(req.Contents) {
			t.Errorf("%d messages of %d contents", len(q.Messages), len(req.Contents))
		}
	})
}
