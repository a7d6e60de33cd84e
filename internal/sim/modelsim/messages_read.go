// This file checks a request of the Messages API. Anthropic's rules are about order: roles
// alternate, results come first in the message behind their calls, and thinking comes back
// first in its message with its signature. Texts of errors are the API's own, as a client
// may look at them.

package modelsim

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

// messagesProtocol is Anthropic's Messages API. It refuses members that it does
// not know.
func messagesProtocol() protocol {
	return protocol{
		key:     func(h http.Header) string { return h.Get("X-Api-Key") },
		members: messagesMembers(),
		strict:  true,
		read:    readMessages,
		write:   writeMessages,
		errors:  anthropicError,
		forms:   messagesFaults(),
		stamp:   func(h http.Header) { h.Set("Request-Id", "req_modelsim") },
	}
}

// messagesMembers lists the members that each object may have, by where it
// stands and its type, as the API reference lists them.
func messagesMembers() map[string]string {
	return map[string]string{
		"":                                      "cache_control container context_management inference_geo max_tokens mcp_servers messages metadata model output_config output_format service_tier stop_sequences stream system temperature thinking tool_choice tools top_k top_p",
		"system[]":                              "type text cache_control citations",
		"messages[]":                            "role content",
		"messages[].content[text]":              "type text cache_control citations",
		"messages[].content[tool_use]":          "type id name input cache_control caller",
		"messages[].content[tool_result]":       "type tool_use_id content is_error cache_control",
		"messages[].content[thinking]":          "type thinking signature",
		"messages[].content[redacted_thinking]": "type data",
		"tools[]":                               "type name description input_schema cache_control strict",
		"tool_choice":                           "type name disable_parallel_tool_use",
		"thinking":                              "type budget_tokens display",
		"output_config":                         "effort format task_budget",
		"output_config.format":                  "type schema",
	}
}

// messagesRequest holds the used members of a request.
type messagesRequest struct {
	Model       string            `json:"model"`
	MaxTokens   *int              `json:"max_tokens"`
	Messages    []messagesMessage `json:"messages"`
	System      jsontext.Value    `json:"system"`
	Stream      bool              `json:"stream"`
	Temperature *float64          `json:"temperature"`
	Thinking    struct {
		Type         string `json:"type"`
		BudgetTokens int    `json:"budget_tokens"`
		Display      string `json:"display"`
	} `json:"thinking"`
	Tools []struct {
		Name        string         `json:"name"`
		InputSchema jsontext.Value `json:"input_schema"`
		Strict      bool           `json:"strict"`
	} `json:"tools"`
	ToolChoice   jsontext.Value `json:"tool_choice"`
	OutputConfig struct {
		Format format `json:"format"`
	} `json:"output_config"`
}

// messagesMessage is a message; its content is text or blocks.
type messagesMessage struct {
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"`
}

// block is a content block of any type that a client may send.
//
// Members that its type does not have are empty.
type block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Input     jsontext.Value `json:"input"`
	ToolUseID string         `json:"tool_use_id"`
	Content   jsontext.Value `json:"content"`
	IsError   bool           `json:"is_error"`
	Thinking  string         `json:"thinking"`
	Signature string         `json:"signature"`
	Data      string         `json:"data"`
}

// blocks returns the content of a message: a string is one block of text.
//
// ok is false if it is neither.
func (m messagesMessage) blocks() (blocks []block, ok bool) {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []block{{Type: "text", Text: text}}, true
	}
	return blocks, json.Unmarshal(m.Content, &blocks) == nil
}

// readMessages checks a request rule by rule, and makes the question of it.
func readMessages(t *turn) *refusal {
	var r messagesRequest
	if err := t.decodeBody(&r); err != nil {
		return err
	}
	t.model, t.stream = r.Model, r.Stream
	thinking := r.Thinking.Type == "enabled" || r.Thinking.Type == "adaptive"
	t.unreasoned = !thinking
	t.thinks = thinking && r.Thinking.Display != "omitted"
	for _, rule := range []func() *refusal{
		func() *refusal { return t.checkMessagesHead(&r, thinking) },
		t.checkMessagesCache,
		func() *refusal { return t.readMessagesSystem(r.System) },
		func() *refusal { return t.readMessagesAll(r.Messages, thinking) },
		func() *refusal { return t.readMessagesTools(&r) },
		func() *refusal { return t.choose(r.ToolChoice) },
	} {
		if err := rule(); err != nil {
			return err
		}
	}
	if t.question.Forced != "" && thinking {
		return invalidMember("", "Thinking may not be enabled when tool_choice forces tool use.")
	}
	if f := r.OutputConfig.Format; f.Type != "" {
		if fault := strictFault(f.Schema); f.Type != "json_schema" || fault != "" {
			return invalidMember("output_config.format.schema", cmp.Or(fault, "Input tag '"+f.Type+"' found using 'type' does not match any of the expected tags: 'json_schema'"))
		}
		t.question.Schema = f.Schema
	}
	return nil
}

// checkMessagesHead checks the members next to the conversation. Sampling is limited while the
// model thinks.
func (t *turn) checkMessagesHead(r *messagesRequest, thinking bool) *refusal {
	usual := 1.0
	temperature := *cmp.Or(r.Temperature, &usual)
	switch {
	case t.header.Get("Anthropic-Version") == "":
		return invalidMember("anthropic-version", "header is required")
	case r.Model == "":
		return invalidMember("model", "Field required")
	case r.MaxTokens == nil:
		return invalidMember("max_tokens", "Field required")
	case *r.MaxTokens < 1:
		return invalidMember("max_tokens", "Input should be greater than or equal to 1")
	case len(r.Messages) == 0:
		return invalidMember("messages", "at least one message is required")
	case !slices.Contains([]string{"", "enabled", "disabled", "adaptive"}, r.Thinking.Type):
		return invalidMember("thinking", fmt.Sprintf("Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'", clipped(r.Thinking.Type)))
	case r.Thinking.Type == "enabled" && r.Thinking.BudgetTokens < 1024:
		return invalidMember("thinking.enabled.budget_tokens", "Input should be greater than or equal to 1024")
	case r.Thinking.Type == "enabled" && *r.MaxTokens <= r.Thinking.BudgetTokens:
		return invalidMember("", "`max_tokens` must be greater than `thinking.budget_tokens`.")
	case thinking && temperature != 1:
		return invalidMember("", "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
	case temperature > 1:
		return invalidMember("temperature", "range: 0..1")
	}
	return nil
}

// checkMessagesCache checks the limits of a cache (four blocks). It counts them in the body's text,
// because that suffices for a judge.
func (t *turn) checkMessagesCache() *refusal {
	if n := strings.Count(string(t.body), `"cache_control"`); n > 4 {
		return invalidMember("", fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.", n))
	}
	return nil
}

// readMessagesSystem reads the system prompt, text or blocks of text.
func (t *turn) readMessagesSystem(system jsontext.Value) *refusal {
	if absent(system) {
		return nil
	}
	text, bad := textOf(system, "text")
	if bad != "" || text == "" {
		return invalidMember("system", "text content blocks must be non-empty")
	}
	t.question.System = text
	return nil
}

// readMessagesTools declares the tools.
func (t *turn) readMessagesTools(r *messagesRequest) *refusal {
	for i, tool := range r.Tools {
		if absent(tool.InputSchema) {
			return invalidMember(fmt.Sprintf("tools.%d.custom.input_schema", i), "Field required")
		}
		f := function{Name: tool.Name, Parameters: tool.InputSchema, Strict: tool.Strict}
		if err := t.declare(fmt.Sprintf("tools.%d.custom", i), f); err != nil {
			return err
		}
	}
	return nil
}

// readMessagesAll reads the conversation. Roles alternate, the user begins, and
// every call has its result in the next message.
//
// There is at least one message; checkMessagesHead has seen to that.
func (t *turn) readMessagesAll(all []messagesMessage, thinking bool) *refusal {
	if all[0].Role != "user" {
		return invalidMember("messages", "first message must use the \"user\" role")
	}
	lastCalls := []block(nil) // of the last assistant message with calls, if none but results follow
	for i := range all {
		blocks, err := t.readMessage(all, i)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(blocks, func(b block) bool { return b.Type == "tool_use" }) {
			lastCalls = blocks
		}
	}
	if open := t.open(); len(open) > 0 {
		return withoutResult(fmt.Sprintf("messages.%d", len(all)-1), open)
	}
	if all[len(all)-1].Role == "assistant" {
		return invalidMember("", "This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	if thinking && lastCalls != nil && lastCalls[0].Type != "thinking" && lastCalls[0].Type != "redacted_thinking" {
		return invalidMember("messages.content.0.type", fmt.Sprintf("Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).", lastCalls[0].Type))
	}
	return nil
}

// readMessage checks message i, and reads its blocks.
func (t *turn) readMessage(all []messagesMessage, i int) ([]block, *refusal) {
	m, at := all[i], fmt.Sprintf("messages.%d", i)
	blocks, ok := m.blocks()
	switch {
	case m.Role == "system":
		return nil, invalidMember("messages", "Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.")
	case m.Role != "user" && m.Role != "assistant":
		return nil, invalidMember(at+".role", "Input should be 'user' or 'assistant'")
	case !ok || len(blocks) == 0:
		return nil, invalidMember(at, "all messages must have non-empty content except for the optional final assistant message")
	case t.alternate && i > 0 && all[i-1].Role == m.Role:
		return nil, invalidMember("messages", fmt.Sprintf("roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", m.Role))
	case m.Role == "assistant":
		return blocks, t.readAssistant(at, blocks)
	}
	return blocks, t.readUser(at, blocks)
}

// withoutResult refuses a call whose result is not in the message behind it.
func withoutResult(at string, open []geminisim.Call) *refusal {
	var ids []string
	for _, c := range open {
		ids = append(ids, clipped(c.ID))
	}
	return invalidMember(at, "`tool_use` ids were found without `tool_result` blocks immediately after: "+strings.Join(ids, ", ")+". Each `tool_use` block must have a corresponding `tool_result` block in the next message.")
}

// readUser reads results and text of the user. Results stand before text.
//
// at is the message's place, as the API writes it: messages.2.
func (t *turn) readUser(at string, blocks []block) *refusal {
	text, open := "", t.open()
	for j, b := range blocks {
		here := fmt.Sprintf("%s.content.%d", at, j)
		switch b.Type {
		case "text":
			if b.Text == "" {
				return invalidMember("messages", "text content blocks must be non-empty")
			}
			if text != "" {
				text += "\n"
			}
			text += b.Text
		case "tool_result":
			result, bad := textOf(b.Content, "text")
			known := slices.ContainsFunc(open, func(c geminisim.Call) bool { return c.ID == b.ToolUseID })
			switch {
			case !known:
				return invalidMember(here, fmt.Sprintf("unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", clipped(b.ToolUseID)))
			case text != "":
				return withoutResult(at, open)
			case bad != "" && !absent(b.Content):
				return invalidMember(here+".tool_result.content", "Input should be a valid string or list")
			case !t.result(b.ToolUseID, result, b.IsError):
				return invalidMember(here, "tool_result blocks must come in the order of the calls. (a rule of the simulator)")
			}
		default:
			return invalidMember(here, fmt.Sprintf("Input tag '%s' found using 'type' does not match any of the expected tags for role 'user'", clipped(b.Type)))
		}
	}
	if open := t.open(); len(open) > 0 {
		return withoutResult(at, open)
	}
	if text != "" {
		t.question.Messages = append(t.question.Messages, geminisim.Message{Text: text})
	}
	return nil
}

// readAssistant reads an earlier answer: thinking first, with its signature,
// then text and calls.
func (t *turn) readAssistant(at string, blocks []block) *refusal {
	if open := t.open(); len(open) > 0 {
		return withoutResult(at, open)
	}
	m := geminisim.Message{Model: true}
	for j, b := range blocks {
		here := fmt.Sprintf("%s.content.%d", at, j)
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) == "" {
				return invalidMember("messages", "text content blocks must contain non-whitespace text")
			}
			m.Text += b.Text
		case "thinking", "redacted_thinking":
			if m.Text != "" || m.Calls != nil {
				return invalidMember(here, "thinking blocks must stand first in their message. (a rule of the simulator)")
			}
			if !t.isOurs(b) {
				return invalidMember(here, "Invalid `signature` in `thinking` block")
			}
		case "tool_use":
			switch {
			case !isWord(b.ID, 64) || t.idFault(b.ID) != "":
				return invalidMember(here+".tool_use.id", "String should match pattern '^[a-zA-Z0-9_-]+$'")
			case slices.ContainsFunc(m.Calls, func(c geminisim.Call) bool { return c.ID == b.ID }):
				return invalidMember(here, "`tool_use` ids must be unique")
			case !isWord(b.Name, 64):
				return invalidMember(here+".tool_use.name", "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'")
			case b.Input.Kind() != '{':
				return invalidMember(here+".tool_use.input", "Input should be a valid dictionary")
			}
			m.Calls = append(m.Calls, geminisim.Call{ID: b.ID, Name: b.Name, Args: b.Input})
		default:
			return invalidMember(here, fmt.Sprintf("Input tag '%s' found using 'type' does not match any of the expected tags for role 'assistant'", clipped(b.Type)))
		}
	}
	t.question.Messages = append(t.question.Messages, m)
	return nil
}

// isOurs reports whether a thinking block comes from this server, for this model, unchanged.
func (t *turn) isOurs(b block) bool {
	if b.Type == "redacted_thinking" {
		_, ok := t.unseal("redacted", b.Data)
		return ok
	}
	payload, ok := t.unseal("thinking", b.Signature)
	return ok && payload == letters(b.Thinking, 16)
}
