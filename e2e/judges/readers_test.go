package judges

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"sluice/e2e/replay"
)

// reader reads one answer from the API below base, as the library's users do.
type reader func(ctx context.Context, base string) (replay.Answer, error)

// readers are by protocol.
var readers = map[string]reader{
	replay.Chat:      readChat,
	replay.Responses: readResponses,
	replay.Messages:  readMessages,
}

var errNotAccepted = errors.New("the library's accumulator does not take a chunk")

func openAI(base string, opts ...openaioption.RequestOption) openai.Client {
	return openai.NewClient(append(opts, openaioption.WithBaseURL(base), openaioption.WithAPIKey("sk-test"), openaioption.WithMaxRetries(0))...)
}

func chatParams() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "judged", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")}}
}

func readChat(ctx context.Context, base string) (a replay.Answer, err error) {
	client := openAI(base)
	stream := client.Chat.Completions.NewStreaming(ctx, chatParams())
	defer stream.Close()
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			return a, errNotAccepted
		}
	}
	if len(acc.Choices) > 0 {
		said := acc.Choices[0].Message
		a.Text = said.Content + said.Refusal
		for _, c := range said.ToolCalls {
			a.Calls = append(a.Calls, call(c.ID, c.Function.Name, c.Function.Arguments))
		}
	}
	return a, stream.Err()
}

func responsesParams() responses.ResponseNewParams {
	return responses.ResponseNewParams{Model: "judged", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hello")}}
}

func readResponses(ctx context.Context, base string) (a replay.Answer, err error) {
	client := openAI(base)
	stream := client.Responses.NewStreaming(ctx, responsesParams())
	defer stream.Close()
	var thoughts strings.Builder
	for stream.Next() {
		switch e := stream.Current(); e.Type {
		case "response.output_text.delta", "response.refusal.delta":
			a.Text += e.Delta
		case "response.reasoning_summary_text.delta":
			thoughts.WriteString(e.Delta)
		case "response.output_item.done":
			if e.Item.Type == "function_call" {
				c := e.Item.AsFunctionCall()
				a.Calls = append(a.Calls, call(c.CallID, c.Name, c.Arguments))
			}
		case "response.failed", "error":
			return a, errors.New("the stream tells an error")
		}
	}
	return a, stream.Err()
}

func anthropicClient(base string, opts ...anthropicoption.RequestOption) anthropic.Client {
	opts = append(opts, anthropicoption.WithBaseURL(strings.TrimSuffix(base, "/v1")), anthropicoption.WithAPIKey("sk-test"), anthropicoption.WithMaxRetries(0))
	return anthropic.NewClient(opts...)
}

func messagesParams() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: "judged", MaxTokens: 1000, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))}}
}

func readMessages(ctx context.Context, base string) (a replay.Answer, err error) {
	client := anthropicClient(base)
	stream := client.Messages.NewStreaming(ctx, messagesParams())
	defer stream.Close()
	var said anthropic.Message
	for stream.Next() {
		if err := said.Accumulate(stream.Current()); err != nil {
			return a, err
		}
	}
	for _, block := range said.Content {
		switch block.Type {
		case "text":
			a.Text += block.Text
		case "thinking":
			a.Thoughts += block.Thinking
		case "tool_use":
			a.Calls = append(a.Calls, call(block.ID, block.Name, string(block.Input)))
		}
	}
	if said.StopReason == "refusal" {
		return a, errors.New("the model refused")
	}
	return a, stream.Err()
}

// call returns a call with its arguments decoded; none mean an empty object.
func call(id, name, arguments string) replay.Call {
	c := replay.Call{ID: id, Name: name}
	if arguments == "" {
		arguments = "{}"
	}
	if err := json.Unmarshal([]byte(arguments), &c.Arguments); err != nil {
		c.Arguments = "unreadable: " + arguments
	}
	return c
}
