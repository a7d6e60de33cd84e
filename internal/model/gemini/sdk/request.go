package sdk

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/generative-ai-go/genai"

	"sluice/internal/turn/chat"
)

// Request is the request of a call, as far as the SDK's types hold it. The SDK renders it
// and Transport drops it: the Upstream sends the real one.
type Request struct {
	Model    string // without "models/"
	System   string
	Tools    []Tool
	NoTools  bool // no tool may be called
	Contents []Content
}

// Tool declares a tool without its parameters: a genai.Schema knows a fraction of JSON Schema.
type Tool struct{ Name, Description string }

// Content is a message of a role.
type Content struct {
	Role  chat.Role
	Parts []*chat.Part
}

// sendRequest makes the call in the way of the SDK: a model with its instruction and its
// tools, and a chat session whose history ends before the message that it sends.
func (c *Client) sendRequest(ctx context.Context, req *Request) *genai.GenerateContentResponseIterator {
	m := c.genai.GenerativeModel("models/" + validUTF8(req.Model))
	if req.System != "" {
		m.SystemInstruction = &genai.Content{Parts: []genai.Part{textOf(req.System)}}
	}
	if len(req.Tools) > 0 {
		m.Tools = []*genai.Tool{declareTools(req.Tools)}
		if req.NoTools {
			m.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingNone}}
		}
	}
	session := m.StartChat()
	contents := convertContents(req.Contents)
	if n := len(contents) - 1; n >= 0 && contents[n].Role == string(chat.RoleUser) {
		session.History = contents[:n]
		return session.SendMessageStream(ctx, contents[n].Parts...)
	}
	session.History = contents
	return session.SendMessageStream(ctx)
}

// declareTools returns the SDK's form of tools.
func declareTools(tools []Tool) *genai.Tool {
	t := &genai.Tool{FunctionDeclarations: make([]*genai.FunctionDeclaration, len(tools))}
	for i := range tools {
		t.FunctionDeclarations[i] = &genai.FunctionDeclaration{Name: tools[i].Name, Description: validUTF8(tools[i].Description)}
	}
	return t
}

// convertContents returns the SDK's form of contents.
func convertContents(contents []Content) []*genai.Content {
	converted := make([]*genai.Content, len(contents))
	for i := range contents {
		converted[i] = &genai.Content{Role: validUTF8(string(contents[i].Role))}
		for _, p := range contents[i].Parts {
			converted[i].Parts = append(converted[i].Parts, convertPart(p))
		}
	}
	return converted
}

// convertPart returns the SDK's form of a part. Arguments travel as a map there, so their
// order gets lost. The service accepts any order.
func convertPart(p *chat.Part) genai.Part {
	switch {
	case p.Call != nil:
		args := map[string]any{}
		if json.Unmarshal(p.Call.Arguments, &args) != nil {
			args = nil
		}
		return genai.FunctionCall{Name: validUTF8(p.Call.Name), Args: args}
	case p.Result != nil:
		member := "output"
		if p.Result.IsError {
			member = "error"
		}
		return genai.FunctionResponse{Name: validUTF8(p.Result.Name), Response: map[string]any{member: validUTF8(p.Result.Text)}}
	}
	return textOf(p.Text)
}

// textOf returns the SDK's form of a text.
func textOf(s string) genai.Text { return genai.Text(validUTF8(s)) }

// validUTF8 replaces bytes that are not UTF-8: the SDK would refuse the whole request.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
