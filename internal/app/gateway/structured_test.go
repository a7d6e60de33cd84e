package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// weather is a response_format, and cold an object that fits it.
const (
	weather = `{"type":"json_schema","json_schema":{"name":"Weather","strict":true,"schema":{"type":"object","properties":{"city":{"type":"string"},"degrees":{"type":"number"}},"required":["city","degrees"],"additionalProperties":false}}}`
	cold    = `{"city":"Oslo","degrees":-3}`
)

// completion is what a test reads of a chat.completion, or of an error.
type completion struct {
	Choices []struct {
		Message struct {
			Content   string `json:"content"`
			ToolCalls []any  `json:"tool_calls"`
		} `json:"message"`
		Reason string `json:"finish_reason"`
	} `json:"choices"`
	Error struct {
		Message, Param, Code string
	} `json:"error"`
}

// complete asks for a completion, and returns it in a line.
func complete(t *testing.T, r *gatewaytest.Running, members string) string {
	t.Helper()
	resp, err := r.Client.Post(r.Base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"sluice","messages":[{"role":"system","content":"Use Celsius."},{"role":"user","content":"How cold is Oslo?"}],`+members+`}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var c completion
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || len(c.Choices) != 1 {
		return fmt.Sprintf("%d %s at %s: %s", resp.StatusCode, c.Error.Code, c.Error.Param, c.Error.Message)
	}
	return fmt.Sprintf("%s %s %d", c.Choices[0].Reason, c.Choices[0].Message.Content, len(c.Choices[0].Message.ToolCalls))
}

// toolless starts a gateway with one agent, which has no tools.
func toolless(t *testing.T, api *gatewaytest.FakeGemini, _ *atomic.Int64) *gatewaytest.Running {
	t.Helper()
	return wholetest.StartFile(t, "agents: {a: {description: Answers questions.}}\n", "GEMINI_API_KEY", "test-key-0123456789", "GEMINI_BASE_URL", api.URL)
}

// withTools starts a gateway whose built-in agent has tools, which count in ran.
func withTools(t *testing.T, api *gatewaytest.FakeGemini, ran *atomic.Int64) *gatewaytest.Running {
	t.Helper()
	r := wholetest.Listen(t, api.Env("MCP_CONFIG", wholetest.TwoTools(t, ran)))
	r.Log.Await(t, "mcp_connected", r.Ended)
	return r
}

// An answer by a schema, from the request to the completion.
func TestStructuredAnswers(t *testing.T) {
	t.Parallel()
	const (
		format = `"response_format":`
		client = `,"tools":[{"type":"function","function":{"name":"locate","parameters":{"type":"object"}}}]`
		value  = "text " + cold + "\nfinish STOP\n"
		schema = "expect /generationConfig/responseMimeType application/json\nexpect-absent /tools\n"
	)
	for _, tt := range []struct {
		name, members, script string
		start                 func(*testing.T, *gatewaytest.FakeGemini, *atomic.Int64) *gatewaytest.Running
		want                  string
		ran                   int64
	}{
		{"no tools: one call, with the agent's prompt", format + weather,
			schema + "expect-contains /systemInstruction/parts/0/text You are Sluice\nexpect-contains /systemInstruction/parts/0/text Use Celsius.\n" + value, toolless, "stop " + cold + " 0", 0},
		{"tools: what they say, and the text, as data", format + weather,
			"call take {}\nfinish STOP\n---\ntext \"It is three below.\"\nfinish STOP\n---\n" + schema +
				"expect-contains /contents/0/parts \"Result of the tool take\"\nexpect-contains /contents/0/parts \"> taken\"\nexpect-contains /contents/0/parts \"> It is three below.\"\n" +
				"expect-contains /contents/0/parts \"How cold is Oslo?\"\nexpect-contains /systemInstruction/parts/0/text Use Celsius.\n" + value, withTools, "stop " + cold + " 0", 1},
		{"any object", format + `{"type":"json_object"}`, schema + value, toolless, "stop " + cold + " 0", 0},
		{"a second attempt", format + weather, "text \"{}\"\nfinish STOP\n---\n" + value, toolless, "stop " + cold + " 0", 0},
		{"no valid object", format + weather, "text \"{}\"\nfinish STOP\n---\ntext \"[]\"\nfinish STOP\n", toolless,
			"502 model_error at : The model gave no answer of the form that was asked for", 0},
		{"the client's tool", format + weather + client, "text \"I ask.\"\ncall locate {}\nfinish STOP\n", toolless, "tool_calls I ask. 1", 0},
		{"a limit", format + weather + `,"max_tokens":5`, "text \"It is\"\nfinish MAX_TOKENS\n", withTools, "length It is 0", 0},
		{"a limit of the object", format + weather + `,"max_tokens":5`, strings.Repeat("expect /generationConfig/maxOutputTokens 2053\ntext \"{\\\"ci\"\nfinish MAX_TOKENS\n---\n", 2), toolless, `length {"ci 0`, 0},
		{"text", format + `{"type":"text"}`, "text Cold.\nfinish STOP\n", toolless, "stop Cold. 0", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api := gatewaytest.Scripted(t, strings.TrimSuffix(tt.script, "---\n"))
			var ran atomic.Int64
			r := tt.start(t, api, &ran)
			if got := complete(t, r, tt.members); got != tt.want || ran.Load() != tt.ran {
				t.Errorf("%s, %d tools ran; want %s, %d", got, ran.Load(), tt.want, tt.ran)
			}
			if n, want := len(api.Requests()), 1+strings.Count(strings.TrimSuffix(tt.script, "---\n"), "---\n"); n != want {
				t.Errorf("the model was called %d times, want %d", n, want)
			}
		})
	}
}

// The offline model answers by a schema, with tools and without.
func TestStructuredAnswersOffline(t *testing.T) {
	t.Parallel()
	schema := `"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object","properties":{"said":{"type":"string"}},"required":["said"]}}}`
	if got := complete(t, wholetest.Listen(t, nil), schema); !strings.HasPrefix(got, `stop {"said":"I'm the built-in offline demo model`) {
		t.Errorf("with tools: %s", got)
	}
	if got := complete(t, wholetest.StartFile(t, "agents: {a: {description: Answers questions.}}\n"), schema); got != `stop {"said":""} 0` {
		t.Errorf("without tools: %s", got)
	}
}

// What cannot be served is refused before anything runs.
func TestStructuredAnswersRefused(t *testing.T) {
	t.Parallel()
	r := wholetest.Listen(t, gatewaytest.Scripted(t, "text x\nfinish STOP").Env())
	strict := wholetest.StartFile(t, "agents: {a: {description: Answers questions.}}\nquality: {mode: enforce, channels: [web], criteria: [{id: said, description: There is a text., check: not_empty}]}\n", "GEMINI_API_KEY", "key-0123456789")
	schema := func(text string) string {
		return `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` + text + `}}`
	}
	const at = " at response_format.json_schema"
	for _, tt := range []struct {
		name    string
		r       *gatewaytest.Running
		members string
		want    string
	}{
		{"a channel", r, `"response_format":` + weather + `,"metadata":{"channel":"sms"}`, "400 unsupported_value at response_format:"},
		{"checks that must pass", strict, `"response_format":` + weather, "400 unsupported_value at response_format:"},
		{"another form", r, `"response_format":{"type":"grammar"}`, "400 unsupported_value at response_format:"},
		{"no schema", r, `"response_format":{"type":"json_schema"}`, "400 required" + at + ":"},
		{"no name", r, `"response_format":{"type":"json_schema","json_schema":{}}`, "400 required" + at + ".name:"},
		{"a name with other characters", r, `"response_format":{"type":"json_schema","json_schema":{"name":"a.b"}}`, "400 invalid_format" + at + ".name:"},
		{"a long description", r, `"response_format":{"type":"json_schema","json_schema":{"name":"a","description":"` + strings.Repeat("x", 4097) + `"}}`, "400 string_above_max_length" + at + ".description:"},
		{"an array", r, schema(`[]`), "400 wrong_type" + at + ".schema:"},
		{"a root of another type", r, schema(`{"type":"array"}`), "400 invalid_format" + at + ".schema:"},
		{"a root without a type", r, schema(`{"properties":{}}`), "400 invalid_format" + at + ".schema:"},
		{"a reference out of it", r, schema(`{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`), "400 invalid_format" + at + ".schema:"},
		{"a large schema", r, schema(`{"type":"object","title":"` + strings.Repeat("x", 64<<10) + `"}`), "400 string_above_max_length" + at + ".schema:"},
		{"a deep schema", r, schema(strings.Repeat(`{"type":"object","properties":{"a":`, 100) + "{}" + strings.Repeat("}}", 100)), "400 invalid_format" + at + ".schema:"},
	} {
		if got := complete(t, tt.r, tt.members); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
