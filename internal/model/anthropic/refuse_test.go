package anthropic

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

func errorBody(typ, message string) string {
	return `{"type":"error","error":{"type":"` + typ + `","message":` + strconv.Quote(message) + `},"request_id":"req_1"}`
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		want   model.Refusal // but for the message
	}{
		{401, errorBody("authentication_error", "invalid x-api-key"), model.Refusal{Status: 401, Kind: model.KindMisconfigured, Type: "authentication_error"}},
		{403, errorBody("permission_error", ""), model.Refusal{Status: 403, Kind: model.KindMisconfigured, Type: "permission_error"}},
		{404, errorBody("not_found_error", "model: claude-9"), model.Refusal{Status: 404, Kind: model.KindMisconfigured, Type: "not_found_error"}},
		{402, errorBody("billing_error", ""), model.Refusal{Status: 402, Kind: model.KindQuota, Type: "billing_error"}},
		{429, errorBody("rate_limit_error", ""), model.Refusal{Status: 429, Kind: model.KindRateLimited, Type: "rate_limit_error"}},
		{529, errorBody("overloaded_error", "Overloaded"), model.Refusal{Status: 529, Kind: model.KindServer, Type: "overloaded_error"}},
		{0, errorBody("overloaded_error", "Overloaded"), model.Refusal{Status: 529, Kind: model.KindServer, Type: "overloaded_error"}},
		{0, errorBody("timeout_error", ""), model.Refusal{Status: 504, Kind: model.KindServer, Type: "timeout_error"}},
		{0, errorBody("new_error", ""), model.Refusal{Kind: model.KindServer, Type: "new_error"}},
		{503, errorBody("invalid_request_error", ""), model.Refusal{Status: 503, Type: "invalid_request_error"}},
		{400, errorBody("invalid_request_error", "x"), model.Refusal{Status: 400, Kind: model.KindRejected, Type: "invalid_request_error"}},
		{400, errorBody("invalid_request_error", "prompt is too long: 3333404 tokens > 200000 maximum"), model.Refusal{Status: 400, Kind: model.KindOverflow, Type: "invalid_request_error"}},
		{400, errorBody("invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens` and try again"), model.Refusal{Status: 400, Kind: model.KindOverflow, Type: "invalid_request_error"}},
		{413, errorBody("request_too_large", ""), model.Refusal{Status: 413, Kind: model.KindOverflow, Type: "request_too_large"}},
		{413, `<html>`, model.Refusal{Status: 413, Kind: model.KindOverflow}},
		{400, errorBody("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), model.Refusal{Status: 400, Kind: model.KindQuota, Type: "invalid_request_error"}},
		{400, errorBody("invalid_request_error", "Output blocked by content filtering policy"), model.Refusal{Status: 400, Kind: model.KindBlocked, Type: "invalid_request_error"}},
		{500, `<html>SECRET</html>`, model.Refusal{Status: 500}},
		{500, ``, model.Refusal{Status: 500}},
		{500, `{"error":"SECRET"}`, model.Refusal{Status: 500}},
		{500, `{"error":{"type":"SECRET word","code":7}}`, model.Refusal{Status: 500}},
		{500, `{"type":"overloaded_error","message":"m"}`, model.Refusal{Status: 500, Type: "overloaded_error"}},
	} {
		got := testCodec(nil).Refuse(tt.status, nil, []byte(tt.body))
		if strings.Contains(got.Brief(), "SECRET") {
			t.Errorf("a text of the provider's in %s", got.Brief())
		}
		got.Message = ""
		if *got != tt.want {
			t.Errorf("%d %s: %+v, want %+v", tt.status, tt.body, *got, tt.want)
		}
	}
	if r := testCodec(nil).Refuse(500, http.Header{"X-Should-Retry": {"false"}}, nil); !r.NoRetry {
		t.Error("asked again though the API said no")
	}
}

// Messages of the API's that name a member that we sent of our own accord.
func TestLearnedMembers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ message, want string }{
		{`adaptive thinking is not supported on this model`, memberThinking},
		{`"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, memberThinking},
		{`thinking: Extra inputs are not permitted`, memberThinking},
		{`thinking.display: Extra inputs are not permitted`, memberThinking},
		{`This model does not support the effort parameter.`, memberEffort},
		{`output_config.effort: Extra inputs are not permitted`, memberEffort},
		{`output_config.format: Extra inputs are not permitted`, memberFormat},
		{`output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false`, memberFormat},
		{`output_config: Extra inputs are not permitted`, memberFormat},
		{"`temperature` is deprecated for this model.", memberTemperature},
		{"`temperature` may only be set to 1 when thinking is enabled.", memberTemperature},
		{`tool_choice: Input tag 'none' found using 'type' does not match any of the expected tags`, memberToolChoice},
		{`system.0.cache_control: Extra inputs are not permitted`, memberCacheControl},
		{`tools.3.custom.cache_control: Extra inputs are not permitted`, memberCacheControl},

		{`messages.1.content.0.type: Expected 'thinking' or 'redacted_thinking', but found 'tool_use'.`, ""},
		{"messages.1.content.0: Invalid `signature` in `thinking` block", ""},
		{`tools.0.custom.input_schema: the property temperature is of no type`, ""},
		{`max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens`, ""},
		{`prompt is too long: 9 tokens > 8 maximum, thinking included`, ""},
		{`rethinking_temperatures`, ""},
		{``, ""},
	} {
		for _, status := range []int{400, 422} {
			got := testCodec(nil).Refuse(status, nil, []byte(errorBody("invalid_request_error", tt.message)))
			if got.Member != tt.want && (status == 400 || tt.want != "") {
				t.Errorf("%d %s: member %q, want %q", status, tt.message, got.Member, tt.want)
			}
		}
		for _, status := range []int{0, 401, 429, 500} {
			if got := testCodec(nil).Refuse(status, nil, []byte(errorBody("invalid_request_error", tt.message))); got.Member != "" {
				t.Errorf("%d %s: member %q", status, tt.message, got.Member)
			}
		}
	}
	c := testCodec(func(s *model.Spec) {
		s.Extra = jsontext.Value(`{"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}`)
	})
	for message, want := range map[string]string{
		"adaptive thinking is not supported on this model": "", "This model does not support the effort parameter.": "", "output_config.format: no": memberFormat,
	} {
		if got := c.Refuse(400, nil, []byte(errorBody("invalid_request_error", message))); got.Member != want {
			t.Errorf("extra: %s: member %q, want %q", message, got.Member, want)
		}
	}
}
