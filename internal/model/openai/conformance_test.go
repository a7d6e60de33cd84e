package openai

import (
	"fmt"
	"testing"

	"sluice/internal/model"
	"sluice/internal/model/modeltest"
)

// chatError returns an error of a kind as OpenAI words it.
func chatError(kind model.Kind, message string) string {
	word := map[model.Kind]string{
		model.KindServer:        "server_error",
		model.KindRateLimited:   "rate_limit_exceeded",
		model.KindQuota:         "insufficient_quota",
		model.KindMisconfigured: "authentication_error",
		model.KindRejected:      "invalid_request_error",
		model.KindOverflow:      "context_length_exceeded",
		model.KindBlocked:       "content_filter",
		model.KindMalformed:     "tool_use_failed",
	}[kind]
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%[2]q}}`, message, word)
}

func sse(data string) string { return "data: " + data + "\n\n" }

func TestChatConformance(t *testing.T) {
	t.Parallel()
	half := 0.5
	modeltest.Run(t, modeltest.Protocol{
		Spec: model.Spec{
			Provider: "openai", API: "chat", Endpoint: "https://service.test/v1/chat/completions", Model: "m",
			Generation: model.Generation{Temperature: &half, ThinkTags: "auto"},
		},
		New:          New,
		Open:         sse(says(`"role":"assistant","content":""`)),
		Text:         func(s string) string { return sse(says(fmt.Sprintf(`"content":%q`, s))) },
		Finish:       sse(stop) + sse(`{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":7}}`) + sse(done),
		FinishEvents: sse(stop),
		End: func(word string) string {
			return sse(fmt.Sprintf(`{"choices":[{"delta":{},"finish_reason":%q}]}`, word)) + sse(done)
		},
		Call:       sse(says(`"tool_calls":[{"index":0,"id":"call_1","function":{"name":"lookup","arguments":"{}"}}]`)),
		Idle:       []string{sse(says(`"content":""`)), sse(`{"choices":[]}`), sse(says(`"content":null,"tool_calls":[]`)), "event: ping\n\n"},
		Unreadable: sse(`{"choices":`),
		Error:      chatError,
		ErrorEvent: func(kind model.Kind, message string) string { return sse(chatError(kind, message)) },
		BadTool:    `{"error":{"message":"Invalid schema for function 'bad_tool': In context=(), array schema missing items.","type":"invalid_request_error","param":"tools[1].function.parameters","code":"invalid_function_parameters"}}`,
		Member:     "temperature",
		Unknown:    `{"error":{"message":"Unsupported value: 'temperature' does not support 0.5 with this model.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`,
	})
}
