package protocols

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/model/modeltest"
	"sluice/internal/turn/chat"
)

// A limit has room for thoughts unless the request asks the model not to think, or the operator
// has said that it does not. That a caller wants no thoughts is not enough: where the protocol
// cannot say so the model may think all the same.
func TestRoomForThoughts(t *testing.T) {
	t.Parallel()
	const openAI = "https://api.openai.com"
	budget := `{"error":{"code":400,"message":"Budget 0 is invalid. This model only works in thinking mode.","status":"INVALID_ARGUMENT"}}`
	for _, tt := range []struct {
		name    string
		spec    model.Spec
		own     string // the key's own setting
		limit   string // the member
		room    bool
		refusal string // of the first request
	}{
		{"Chat Completions", model.Spec{Provider: "openai", API: "chat"}, "summary", "max_tokens", true, ""},
		{"Chat Completions, off by the operator", model.Spec{Provider: "openai", API: "chat"}, "off", "max_tokens", false, ""},
		{"OpenAI's host", model.Spec{Provider: "openai", API: "chat", Endpoint: openAI}, "summary", "max_completion_tokens", false, ""},
		{"OpenAI's host, refused", model.Spec{Provider: "openai", API: "chat", Endpoint: openAI}, "summary", "max_completion_tokens", true, `{"error":{"param":"reasoning_effort","code":"unsupported_parameter"}}`},
		{"Responses", model.Spec{Provider: "openai", API: "responses"}, "summary", "max_output_tokens", false, ""},
		{"Responses, refused", model.Spec{Provider: "openai", API: "responses"}, "high", "max_output_tokens", true, `{"error":{"param":"reasoning.effort","code":"unsupported_parameter"}}`},
		{"Messages", model.Spec{Provider: "anthropic", Generation: model.Generation{MaxTokens: 8192}}, "summary", "max_tokens", false, ""},
		{"Gemini 2", model.Spec{Provider: "gemini", Model: "gemini-2.5-flash"}, "summary", "maxOutputTokens", false, ""},
		{"Gemini 2 that always thinks", model.Spec{Provider: "gemini", Model: "gemini-2.5-pro"}, "summary", "maxOutputTokens", true, budget},
		{"Gemini 3", model.Spec{Provider: "gemini", Model: "gemini-3-pro"}, "summary", "maxOutputTokens", true, ""},
		{"Gemini 3, off by the operator", model.Spec{Provider: "gemini", Model: "gemini-3-pro"}, "off", "maxOutputTokens", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := tt.spec
			spec.Key, spec.Thinking = "k", model.Thinking{Word: tt.own}
			if spec.Endpoint == "" {
				spec.Endpoint = "http://provider.test"
			}
			if spec.Model == "" {
				spec.Model = "m"
			}
			service := &modeltest.Service{Replies: []modeltest.Reply{{Status: 400, Pieces: []string{tt.refusal}}}}
			m, err := connectOver(spec, service)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			req := chat.ModelRequest{MaxTokens: 100, Thinking: "off", Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "hi"}}}}}
			_ = m.Stream(t.Context(), &req, func(*chat.Chunk) error { return nil })
			sent := service.Requests()
			body := model.Members(jsontext.Value(sent[len(sent)-1].Body))
			if config := body.Get("generationConfig"); config != nil {
				body = model.Members(config)
			}
			want := "100"
			if tt.room {
				want = "2148"
			}
			if got := string(body.Get(tt.limit)); got != want || (tt.refusal != "") != (len(sent) == 2) {
				t.Errorf("%s %s after %d requests, want %s: %s", tt.limit, got, len(sent), want, sent[len(sent)-1].Body)
			}
		})
	}
}
