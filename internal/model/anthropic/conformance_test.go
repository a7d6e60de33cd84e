package anthropic

import (
	"fmt"
	"testing"

	"sluice/internal/model"
	"sluice/internal/model/modeltest"
)

// kindBody returns an error of a kind as the API words it; empty: it has no such error.
func kindBody(kind model.Kind, message string) string {
	typ := map[model.Kind]string{
		model.KindServer: "overloaded_error", model.KindRateLimited: "rate_limit_error", model.KindMisconfigured: "authentication_error",
		model.KindRejected: "invalid_request_error", model.KindOverflow: "request_too_large",
	}[kind]
	if typ == "" {
		return ""
	}
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q}}`, typ, message)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	half := 0.5
	sse := func(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }
	delta := func(s string) string {
		return sse("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, s))
	}
	ended := sse("content_block_stop", `{"type":"content_block_stop","index":0}`) +
		sse("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`)
	modeltest.Run(t, modeltest.Protocol{
		Spec: model.Spec{Provider: "anthropic", Endpoint: "https://service.test/v1/messages", Model: "m", Generation: model.Generation{MaxTokens: 100, Temperature: &half, Thinking: model.Thinking{Word: "off"}}},
		New:  New,
		Open: sse("message_start", `{"type":"message_start","message":{"type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":3}}}`) +
			sse("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
		Text: delta, FinishEvents: ended, Finish: ended + sse("message_stop", `{"type":"message_stop"}`),
		End: func(word string) string {
			return sse("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":7}}`, word)) + sse("message_stop", `{"type":"message_stop"}`)
		},
		Call: sse("content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"lookup","input":{"a":1}}}`) +
			sse("content_block_stop", `{"type":"content_block_stop","index":1}`),
		Idle:       []string{delta(""), sse("new", `{"type":"new"}`)},
		Pings:      []string{sse("ping", `{"type":"ping"}`), "event: ping\ndata: {}\n\n"},
		Unreadable: sse("content_block_delta", `{"type":`),
		Error:      kindBody,
		ErrorEvent: func(kind model.Kind, message string) string {
			if body := kindBody(kind, message); body != "" {
				return sse("error", body)
			}
			return ""
		},
		BadTool: kindBody(model.KindRejected, "tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"),
		Member:  memberTemperature,
		Unknown: kindBody(model.KindRejected, "`temperature` is deprecated for this model."),
	})
}
