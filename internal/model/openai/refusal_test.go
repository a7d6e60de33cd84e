package openai

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		body   string
		want   model.Refusal // without the message
	}{
		{500, `<html>`, model.Refusal{Status: 500}},
		{0, `<html>`, model.Refusal{}},
		{0, `{}`, model.Refusal{}},
		{0, `{"error":"overloaded"}`, model.Refusal{Kind: model.KindServer}},
		{429, `{"error":{"code":503}}`, model.Refusal{Status: 429, Code: "503"}},
		{0, `{"error":{"code":"401"}}`, model.Refusal{Status: 401, Code: "401"}},
		{0, `{"error":{"code":1302,"type":"rate_limit_error"}}`, model.Refusal{Kind: model.KindRateLimited, Type: "rate_limit_error", Code: "1302"}},
		{0, `{"error":{"type":"authentication_error"}}`, model.Refusal{Kind: model.KindMisconfigured, Type: "authentication_error"}},
		{0, `{"error":{"type":"invalid_request_error","code":null}}`, model.Refusal{Kind: model.KindRejected, Type: "invalid_request_error"}},
		{400, `{"error":{"type":"invalid_request_error","code":"content_filter","innererror":{}}}`, model.Refusal{Status: 400, Kind: model.KindBlocked, Type: "invalid_request_error", Code: "content_filter"}},
		{400, `{"error":{"code":"context_length_exceeded"}}`, model.Refusal{Status: 400, Kind: model.KindOverflow, Code: "context_length_exceeded"}},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, model.Refusal{Status: 400, Kind: model.KindOverflow, Type: "exceed_context_size_error", Code: "400"}},
		{400, `{"error":{"message":"prompt is too long: 250000 tokens > 200000 maximum"}}`, model.Refusal{Status: 400, Kind: model.KindOverflow}},
		{400, `{"error":{"type":"a sentence with the user's words","code":"` + strings.Repeat("x", 65) + `"}}`, model.Refusal{Status: 400}},
		{429, `{"error":{"message":"Please try again in 6.2s. Visit"}}`, model.Refusal{Status: 429, RetryAfter: 6200 * time.Millisecond}},
		{429, `{"error":{"message":"try again in 1m2.5s"}}`, model.Refusal{Status: 429, RetryAfter: 62500 * time.Millisecond}},
		{429, `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Please retry in 3s","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"4s"},5]}}]`,
			model.Refusal{Status: 429, Type: "RESOURCE_EXHAUSTED", Code: "429", RetryAfter: 4 * time.Second}},
		{429, `{"error":{"message":"try again in 9999h"}}`, model.Refusal{Status: 429, RetryAfter: 24 * time.Hour}},
		{429, `{"error":{"message":"try again in ...s"}}`, model.Refusal{Status: 429}},
		{500, strings.Repeat(`[`, 10001), model.Refusal{Status: 500}},
	}
	codec := testChat(t, model.Spec{})
	for _, tt := range tests {
		got := *codec.Refuse(tt.status, nil, []byte(tt.body))
		got.Message = ""
		if got != tt.want {
			t.Errorf("%d %.100s:\ngot  %+v\nwant %+v", tt.status, tt.body, got, tt.want)
		}
	}
}

// An error names the member that the provider does not take in one of many ways.
func TestRefusedMembers(t *testing.T) {
	t.Parallel()
	quoted := func(message string) string {
		return `{"error":{"message":` + string(model.AppendString(nil, message)) + `}}`
	}
	tests := []struct{ body, want string }{
		{`{"error":{"code":"unsupported_value","param":"temperature","message":"'temperature' does not support 0.3 with this model. Only the default (1) value is supported."}}`, "temperature"},
		{`{"error":{"code":"unsupported_parameter","param":"max_tokens","message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`, "max_tokens"},
		{`{"error":{"param":"max_tokens","message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens"}}`, ""},
		{`{"error":{"code":"unknown_parameter","param":"stream_options.include_usage","message":"Unknown parameter"}}`, "stream_options"},
		{`{"error":{"param":"response_format","message":"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."}}`, "response_format"},
		{`{"error":{"param":"response_format.json_schema.strict","message":"not permitted"}}`, "strict"},
		{`{"error":{"param":"messages[0].role","message":"temperature is not supported"}}`, ""},
		{`{"error":{"param":"tools[0].function.parameters","message":"Invalid schema for function 'temperature'"}}`, ""},
		{quoted(`Invalid JSON payload received. Unknown name "stream_options": Cannot find field.`), "stream_options"},
		{quoted("Failed to deserialize the JSON body into the target type: unknown field `tool_choice`, expected one of `model`, `messages`"), "tool_choice"},
		{quoted("Unrecognized request argument supplied: reasoning_effort"), "reasoning_effort"},
		{quoted("Argument not supported on this model: reasoningEffort"), "reasoning_effort"},
		{quoted("This response_format type is unavailable now"), "response_format"},
		{quoted("property 'max_completion_tokens' is unsupported"), "max_completion_tokens"},
		{quoted("The model does not support strict mode of anything"), ""},
		{quoted("temperature must be at most 1"), ""},
		{quoted("messages: roles must alternate"), memberRoles},
		{quoted("Unexpected role 'user' after role 'tool'"), memberRoles},
		{`{"detail":[{"type":"extra_forbidden","loc":["body","temperature"],"msg":"Extra inputs are not permitted"}]}`, "temperature"},
		{`{"detail":[{"type":"missing","loc":["body","temperature"],"msg":"Field required"}]}`, ""},
		{`{"error":{"message":{"detail":[{"type":"extra_forbidden","loc":["body","tools",0,"function","strict"]}]}}}`, "strict"},
	}
	codec := testChat(t, model.Spec{})
	for _, tt := range tests {
		for _, status := range []int{400, 422} {
			if got := codec.Refuse(status, nil, []byte(tt.body)).Member; got != tt.want {
				t.Errorf("%d %s: names %q, want %q", status, tt.body, got, tt.want)
			}
		}
		if got := codec.Refuse(500, nil, []byte(tt.body)).Member; got != "" {
			t.Errorf("500 %s: names %q", tt.body, got)
		}
	}
	set := testChat(t, model.Spec{Extra: jsontext.Value(`{"temperature":1}`)})
	if got := set.Refuse(400, nil, []byte(tests[0].body)).Member; got != "" {
		t.Errorf("%q is learned although extra sets it", got)
	}
}
