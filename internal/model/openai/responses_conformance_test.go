package openai

import (
	"fmt"
	"testing"

	"sluice/internal/model"
	"sluice/internal/model/modeltest"
)

func TestResponsesConformance(t *testing.T) {
	t.Parallel()
	half := 0.5
	modeltest.Run(t, modeltest.Protocol{
		Spec: model.Spec{
			Provider: "openai", API: "responses", Endpoint: "https://service.test/v1/responses", Model: "m", Generation: model.Generation{Temperature: &half},
		},
		New:    New,
		Open:   sse(`{"type":"response.created","response":{"status":"in_progress"}}`),
		Text:   func(s string) string { return sse(fmt.Sprintf(`{"type":"response.output_text.delta","delta":%q}`, s)) },
		Finish: sse(responsesEnded),
		End: func(word string) string {
			return sse(fmt.Sprintf(`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":%q}}}`, word))
		},
		Call:       sse(`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"call_1","name":"lookup","arguments":"{}"}}`),
		Idle:       []string{sse(`{"type":"response.output_text.delta","delta":""}`), sse(`{"type":"response.in_progress"}`), "event: ping\n\n"},
		Pings:      []string{sse(`{"type":"keepalive","sequence_number":3}`)},
		Unreadable: sse(`{"type":`),
		Error:      chatError,
		ErrorEvent: func(kind model.Kind, message string) string {
			return sse(`{"type":"error",` + chatError(kind, message)[1:])
		},
		BadTool: `{"error":{"message":"Invalid schema for function 'bad_tool': it is no schema.","type":"invalid_request_error","param":null,"code":null}}`,
		Member:  "temperature",
		Unknown: `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","type":"invalid_request_error","param":"temperature","code":null}}`,
	})
}
