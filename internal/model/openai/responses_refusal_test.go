package openai

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

func TestResponsesRefusals(t *testing.T) {
	t.Parallel()
	codec := newResponses(model.Spec{Extra: jsontext.Value(`{"reasoning":{"effort":"xhigh"}}`)}, nil)
	for _, tc := range []struct {
		file   string
		status int
		want   model.Kind
	}{
		{"error-openai-400-context", 400, model.KindOverflow},
		{"error-openai-401", 401, model.KindMisconfigured},
		{"error-openai-404-model", 404, model.KindMisconfigured},
		{"error-openai-400-unsupported-value", 400, model.KindStatus},
		{"quoted-error-openai-429-quota", 429, model.KindQuota},
		{"quoted-error-openai-429-rate", 429, model.KindStatus},
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
	for param, want := range map[string][2]string{ // of Responses, of Chat Completions
		"reasoning":             {"reasoning", "reasoning_effort"},
		"reasoning.effort":      {"reasoning.effort", "reasoning_effort"},
		"reasoning.summary[0]":  {"reasoning.summary", "reasoning_effort"},
		"reasoning_effort":      {"", "reasoning_effort"},
		"reasoningEffort":       {"", "reasoning_effort"},
		"body.include":          {"include", ""},
		"text.format.name":      {"text.format", ""},
		"text":                  {"", ""},
		"response_format.type":  {"", "response_format"},
		"tools[0].parameters.x": {"", ""},
	} {
		body := []byte(`{"error":{"param":"` + param + `","code":"unsupported_parameter"}}`)
		got := [2]string{newResponses(model.Spec{}, nil).Refuse(400, nil, body).Member, testChat(t, model.Spec{}).Refuse(400, nil, body).Member}
		if got != want {
			t.Errorf("param %q: members %q, want %q", param, got, want)
		}
	}
	for _, body := range []string{``, `<html>`, `[]`, `null`, `{"error":null}`, `{"error":{"message":{"detail":[]}}}`, `{"error":`} {
		if r := codec.Refuse(502, nil, []byte(body)); r == nil || r.Status != 502 || r.Kind != model.KindStatus {
			t.Errorf("%s: %+v", body, r)
		}
	}
}
