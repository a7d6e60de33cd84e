package openai

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/model"
)

func TestResponsesParameters(t *testing.T) {
	t.Parallel()
	const none = `{"type":"object","properties":{}}`
	for schema, want := range map[string]string{
		``:                               none,
		`true`:                           none,
		`{"type":`:                       none,
		`{}`:                             none,
		`{"type":"object"}`:              none,
		`{"type":"object","x":1}`:        `{"type":"object","x":1,"properties":{}}`,
		`{"properties":{"a":{}}}`:        `{"properties":{"a":{}},"type":"object"}`,
		`{"type":["object","null"]}`:     none,
		`{"properties":1,"type":"null"}`: `{"properties":{},"type":"object"}`,
	} {
		if got := string(responsesParameters(jsontext.Value(schema))); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}

func TestResponsesStrict(t *testing.T) {
	t.Parallel()
	object := func(properties, required string) string {
		return `{"type":"object","additionalProperties":false,"properties":` + properties + `,"required":` + required + `}`
	}
	for schema, want := range map[string]bool{
		object(`{"a":{"type":"string"}}`, `["a"]`):                                                 true,
		object(`{"a":{"type":"array","items":{"type":"number"}},"b":{"enum":["x"]}}`, `["a","b"]`): true,
		object(`{"a":`+object(`{}`, `[]`)+`}`, `["a"]`):                                            true,
		object(`{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}`, `["a"]`):                     true,
		object(`{"a":{"type":"string"}}`, `[]`):                                                    false,
		object(`{"a":{"type":"string","maxLength":3}}`, `["a"]`):                                   false,
		object(`{"a":{"type":"object","properties":{}}}`, `["a"]`):                                 false,
		object(`{"a":{"type":["object","null"],"properties":{"b":{}}}}`, `["a"]`):                  false,
		object(`{"a":{"$ref":"#/$defs/A"}}`, `["a"]`):                                              false,
		`{"type":"string"}`: false,
		`{"anyOf":[]}`:      false,
		`true`:              false,
	} {
		if got := responsesStrict(jsontext.Value(schema), 1); got != want {
			t.Errorf("%s: %v, want %v", schema, got, want)
		}
	}
}

func TestResponsesRefusals(t *testing.T) {
	t.Parallel()
	codec := newResponses(model.Spec{Extra: jsontext.Value(`{"reasoning":{"effort":"xhigh"}}`)})
	for _, tc := range []struct {
		file   string
		status int
		want   model.Kind
	}{
		{"error-openai-400-context", 400, model.KindOverflow},
		{"error-openai-401", 401, model.KindMisconfigured},
		{"error-openai-404-model", 404, model.KindMisconfigured},
		{"error-openai-400-unsupported-value", 400, model.KindRejected},
		{"quoted-error-openai-429-quota", 429, model.KindQuota},
		{"quoted-error-openai-429-rate", 429, model.KindRateLimited},
		{"quoted-error-geminicompat-400", 400, model.KindStatus},
	} {
		t.Run(tc.file, func(t *testing.T) {
			t.Parallel()
			body, err := os.ReadFile(filepath.Join(responsesDir, tc.file+".body"))
			if err != nil {
				t.Skip("the recordings in shared/testdata/openai are not here")
			}
			if r := codec.Refuse(tc.status, http.Header{}, body); r.Kind != tc.want || r.Status != tc.status || r.Message == "" || r.Member != "" {
				t.Errorf("%+v, want kind %v", r, tc.want)
			}
		})
	}
	for param, want := range map[string]string{
		"temperature": "temperature", "reasoning.summary": "reasoning.summary", "reasoning.effort": "", "reasoning": "", "include": "include", "include[0]": "include",
		"text.format.schema": "text.format", "tools[0].strict": "strict", "tool_choice": "tool_choice", "input[0].call_id": "", "temperatures": "", "": "",
	} {
		r := codec.Refuse(400, nil, []byte(`{"error":{"message":"m","type":"invalid_request_error","param":"`+param+`","code":"unsupported_parameter"}}`))
		if r.Member != want {
			t.Errorf("param %q: member %q, want %q", param, r.Member, want)
		}
	}
	for _, body := range []string{``, `<html>`, `[]`, `null`, `{"error":null}`, `{"error":{"message":{"detail":[]}}}`, `{"error":`} {
		if r := codec.Refuse(502, nil, []byte(body)); r == nil || r.Status != 502 || r.Kind != model.KindStatus {
			t.Errorf("%s: %+v", body, r)
		}
	}
}
