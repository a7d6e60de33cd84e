package gemini

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/generative-ai-go/genai"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// send makes the call in the way of the SDK: a model with its instruction and its
// tools, and a chat session whose history ends before the message that it sends.
// What of req the SDK's types cannot hold is left out; the transport sends it.
func (s *sdk) send(ctx context.Context, req *chat.ModelRequest) *genai.GenerateContentResponseIterator {
	m := s.client.GenerativeModel("models/" + validUTF8(s.model))
	if req.System != "" {
		m.SystemInstruction = &genai.Content{Parts: []genai.Part{sdkText(req.System)}}
	}
	if req.Tools != nil && len(req.Tools.Specs) > 0 {
		m.Tools = []*genai.Tool{sdkTool(req.Tools.Specs)}
		if req.NoTools {
			m.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingNone}}
		}
	}
	session := m.StartChat()
	contents := sdkContents(req.Messages) // whose names the transport fits
	if n := len(contents) - 1; n >= 0 && contents[n].Role == string(chat.RoleUser) {
		session.History = contents[:n]
		return session.SendMessageStream(ctx, contents[n].Parts...)
	}
	session.History = contents
	return session.SendMessageStream(ctx)
}

// sdkTool declares the tools without their parameters: a genai.Schema knows a
// fraction of JSON Schema.
func sdkTool(specs []tool.Spec) *genai.Tool {
	t := &genai.Tool{FunctionDeclarations: make([]*genai.FunctionDeclaration, len(specs))}
	for i := range specs {
		t.FunctionDeclarations[i] = &genai.FunctionDeclaration{Name: fitName(specs[i].Name), Description: validUTF8(specs[i].Description)}
	}
	return t
}

// sdkContents returns the messages by the rules of appendContents.
func sdkContents(messages []chat.Message) (contents []*genai.Content) {
	var last *chat.Message
	for i := range messages {
		msg := &messages[i]
		if !hasParts(msg) {
			continue
		}
		if !continues(last, msg) {
			contents = append(contents, &genai.Content{Role: validUTF8(string(msg.Role))})
		}
		c := contents[len(contents)-1]
		for j := range msg.Parts {
			if !omitted(&msg.Parts[j]) {
				c.Parts = append(c.Parts, sdkPart(&msg.Parts[j]))
			}
		}
		last = msg
	}
	return contents
}

// sdkPart makes the SDK's form of a part. Arguments travel as a map there, so
// their order gets lost; the service does not mind.
func sdkPart(p *chat.Part) genai.Part {
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
	return sdkText(p.Text)
}

// sdkText makes text valid, because the SDK's encoder refuses the whole request
// otherwise.
func sdkText(s string) genai.Text { return genai.Text(validUTF8(s)) }

// validUTF8 replaces what is not UTF-8, which the SDK refuses to send.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
