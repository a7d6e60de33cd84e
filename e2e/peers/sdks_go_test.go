package peers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	params "github.com/openai/openai-go/v3/shared"
	community "github.com/sashabaranov/go-openai"
)

// weatherSchema is that of the client's tool, and noteSchema of a structured answer.
var (
	weatherSchema = map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}}
	noteSchema    = map[string]any{"type": "object", "required": []string{"title", "urgent"}, "additionalProperties": false, "properties": map[string]any{
		"title": map[string]any{"type": "string"}, "urgent": map[string]any{"type": "boolean"},
	}}
)

// isNote says whether a text is an object of noteSchema.
func isNote(text string) bool {
	var note struct {
		Title  *string
		Urgent *bool
	}
	return json.Unmarshal([]byte(text), &note) == nil && note.Title != nil && note.Urgent != nil
}

// Two libraries for Go get what others do.
func TestSDKsInGo(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	native := g.ask(t, "Show my todos").done().FinalOutput
	for name, use := range map[string]func(*testing.T, string) sdkSeen{"openai-go": useOpenAIGo, "go-openai": useGoOpenAI} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(sdkWants(native), use(t, g.base+"/v1")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// useOpenAIGo is OpenAI's own library.
func useOpenAIGo(t *testing.T, base string) (seen sdkSeen) {
	client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey("none"), option.WithMaxRetries(0))
	asks := func(text string) openai.ChatCompletionNewParams {
		return openai.ChatCompletionNewParams{Model: "sluice", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
	}
	create := func(p openai.ChatCompletionNewParams) openai.ChatCompletionChoice {
		t.Helper()
		whole, err := client.Chat.Completions.New(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return whole.Choices[0]
	}
	seen.Text = create(asks("Show my todos")).Message.Content

	streamed := asks("Show my todos")
	streamed.StreamOptions.IncludeUsage = openai.Bool(true)
	stream, sum := client.Chat.Completions.NewStreaming(t.Context(), streamed), openai.ChatCompletionAccumulator{}
	for stream.Next() {
		if !sum.AddChunk(stream.Current()) {
			t.Errorf("a chunk does not go with those before: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	seen.Streamed, seen.Usage = sum.Choices[0].Message.Content, sum.Usage.TotalTokens > 0

	tool := openai.ChatCompletionFunctionTool(params.FunctionDefinitionParam{Name: "get_weather", Parameters: weatherSchema})
	calls := asks("What is the weather?")
	calls.Tools = []openai.ChatCompletionToolUnionParam{tool}
	calls.ToolChoice.OfAuto = openai.String("required")
	asked := create(calls)
	call := asked.Message.ToolCalls[0]
	seen.Call = asked.FinishReason + " " + call.Function.Name
	answers := asks("What is the weather?")
	answers.Tools, answers.Messages = calls.Tools, append(answers.Messages, asked.Message.ToParam(), openai.ToolMessage("minus 5", call.ID))
	seen.Answered = create(answers).FinishReason

	object := asks("Show my todos")
	object.ResponseFormat.OfJSONSchema = &params.ResponseFormatJSONSchemaParam{JSONSchema: params.ResponseFormatJSONSchemaJSONSchemaParam{Name: "note", Schema: noteSchema, Strict: openai.Bool(true)}}
	seen.Object = isNote(create(object).Message.Content)

	wrong := asks("hi")
	wrong.Model = "gpt-9"
	_, err := client.Chat.Completions.New(t.Context(), wrong)
	if e, ok := errors.AsType[*openai.Error](err); ok {
		seen.Refused = fmt.Sprintf("NotFoundError %d %.4s", e.StatusCode, e.Response.Header.Get("X-Request-ID"))
	}
	return seen
}

// useGoOpenAI is the library of many programs that are older than OpenAI's own.
func useGoOpenAI(t *testing.T, base string) (seen sdkSeen) {
	cfg := community.DefaultConfig("none")
	cfg.BaseURL = base
	client := community.NewClientWithConfig(cfg)
	asks := func(text string) community.ChatCompletionRequest {
		return community.ChatCompletionRequest{Model: "sluice", Messages: []community.ChatCompletionMessage{{Role: "user", Content: text}}}
	}
	create := func(r community.ChatCompletionRequest) community.ChatCompletionChoice {
		t.Helper()
		whole, err := client.CreateChatCompletion(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return whole.Choices[0]
	}
	seen.Text = create(asks("Show my todos")).Message.Content

	streamed := asks("Show my todos")
	streamed.StreamOptions = &community.StreamOptions{IncludeUsage: true}
	stream, err := client.CreateChatCompletionStream(t.Context(), streamed)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, choice := range chunk.Choices {
			seen.Streamed += choice.Delta.Content
		}
		seen.Usage = chunk.Usage != nil && chunk.Usage.TotalTokens > 0
	}

	calls := asks("What is the weather?")
	calls.Tools = []community.Tool{{Type: "function", Function: &community.FunctionDefinition{Name: "get_weather", Parameters: weatherSchema}}}
	calls.ToolChoice = "required"
	asked := create(calls)
	call := asked.Message.ToolCalls[0]
	seen.Call = string(asked.FinishReason) + " " + call.Function.Name
	answers := asks("What is the weather?")
	answers.Tools = calls.Tools
	answers.Messages = append(answers.Messages, asked.Message, community.ChatCompletionMessage{Role: "tool", ToolCallID: call.ID, Content: "minus 5"})
	seen.Answered = string(create(answers).FinishReason)

	object := asks("Show my todos")
	schema, err := json.Marshal(noteSchema)
	if err != nil {
		t.Fatal(err)
	}
	object.ResponseFormat = &community.ChatCompletionResponseFormat{Type: "json_schema", JSONSchema: &community.ChatCompletionResponseFormatJSONSchema{Name: "note", Schema: json.RawMessage(schema), Strict: true}}
	seen.Object = isNote(create(object).Message.Content)

	wrong := asks("hi")
	wrong.Model = "gpt-9"
	_, err = client.CreateChatCompletion(t.Context(), wrong)
	if e, ok := errors.AsType[*community.APIError](err); ok && e.Code == "model_not_found" { // it has no place for the request's id
		seen.Refused = fmt.Sprintf("NotFoundError %d req_", e.HTTPStatusCode)
	}
	return seen
}
