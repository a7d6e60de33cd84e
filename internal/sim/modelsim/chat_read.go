// This file checks a request of Chat Completions and makes a geminisim.Question of it. It is a
// judge: it refuses the requests that real endpoints refuse, in their words. The message of its own
// rules says so.

package modelsim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

// chatProtocol is Chat Completions as OpenAI documents it; scripts make it one
// of the many that differ.
func chatProtocol() protocol {
	return protocol{
		key:     bearerKey,
		members: chatMembers(),
		read:    readChat,
		write:   writeChat,
		errors:  openAIError,
		forms:   chatFaults(),
		done:    "[DONE]",
		stamp:   func(h http.Header) { h.Set("X-Request-Id", "req_modelsim") },
	}
}

// bearerKey returns the key: behind Bearer, or in Azure's header.
func bearerKey(h http.Header) string {
	if key, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer "); ok {
		return key
	}
	return h.Get("Api-Key")
}

// chatMembers returns the members that OpenAI takes, and members for reasoning that other servers
// send or take.
//
// The table is that of OpenAI's API reference; an endpoint that takes less is made by the
// directives strict and refuse.
func chatMembers() map[string]string {
	return map[string]string{
		"": "messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata modalities n " +
			"parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop " +
			"store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options",
		"messages[]":                       "role content name tool_calls tool_call_id refusal reasoning_content reasoning reasoning_details",
		"messages[].content[]":             "type text refusal image_url input_audio file thinking cache_control prompt_cache_breakpoint",
		"prompt_cache_options":             "mode",
		"messages[].tool_calls[]":          "id type function index extra_content",
		"messages[].tool_calls[].function": "name arguments",
		"tools[]":                          "type function",
		"tools[].function":                 "name description parameters strict",
		"stream_options":                   "include_usage include_obfuscation",
		"response_format":                  "type json_schema",
		"response_format.json_schema":      "name description schema strict",
	}
}

// chatRequest holds the used members of a request. chatMembers lists the others.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	} `json:"tools"`
	ToolChoice     jsontext.Value `json:"tool_choice"`
	ResponseFormat struct {
		Type       string `json:"type"`
		JSONSchema format `json:"json_schema"`
	} `json:"response_format"`
	MaxTokens           *int `json:"max_tokens"`
	MaxCompletionTokens *int `json:"max_completion_tokens"`
}

// chatMessage is a message, with the members in which servers want reasoning
// back.
type chatMessage struct {
	Role             string            `json:"role"`
	Content          jsontext.Value    `json:"content"`
	ToolCalls        []chatCall        `json:"tool_calls"`
	ToolCallID       string            `json:"tool_call_id"`
	ReasoningContent *string           `json:"reasoning_content"`
	Reasoning        *string           `json:"reasoning"`
	ReasoningDetails []reasoningDetail `json:"reasoning_details"`
}

// chatCall is a call. Arguments are JSON within a string. Gemini's signature
// travels in extra_content.
type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	ExtraContent struct {
		Google struct {
			ThoughtSignature string `json:"thought_signature"`
		} `json:"google"`
	} `json:"extra_content"`
}

// reasoningDetail is an element of OpenRouter's reasoning_details.
type reasoningDetail struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Signature string `json:"signature"`
}

// decodeBody reads a body and checks the types of its members.
//
// Members of other names are ignored here: checkMembers has seen them.
func (t *turn) decodeBody(into any) *refusal {
	if err := json.Unmarshal(t.body, into); err != nil {
		return &refusal{Status: 400, Code: "invalid_type", Message: fmt.Sprintf("Invalid type in the request: %v", err)}
	}
	return nil
}

// readChat checks a request, and makes the question of it that the plan
// answers. The first rule that is broken is reported, as real servers do.
//
// It fills in the turn even where it fails later, so that nothing may be answered after an
// error.
func readChat(t *turn) *refusal {
	var r chatRequest
	if err := t.decodeBody(&r); err != nil {
		return err
	}
	t.model, t.stream, t.thinks = r.Model, r.Stream, t.reasoning != ""
	t.includeUsage = r.StreamOptions != nil && r.StreamOptions.IncludeUsage
	for _, rule := range []func() *refusal{
		r.checkHead,
		t.checkCache,
		func() *refusal { return t.readChatMessages(r.Messages) },
		func() *refusal { return t.readChatTools(&r) },
		func() *refusal { return t.choose(r.ToolChoice) },
	} {
		if err := rule(); err != nil {
			return err
		}
	}
	f := r.ResponseFormat.JSONSchema
	f.Type = r.ResponseFormat.Type
	path := "response_format"
	if f.Type == "json_schema" {
		path += ".json_schema"
	}
	return t.want(path, f)
}

// checkHead checks the members next to the conversation.
func (r *chatRequest) checkHead() *refusal {
	switch {
	case r.Model == "":
		return invalidMember("model", "you must provide a model parameter")
	case len(r.Messages) == 0:
		return &refusal{Status: 400, Code: "empty_array", Param: "messages", Message: "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."}
	case r.StreamOptions != nil && !r.Stream:
		return invalidMember("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case r.MaxTokens != nil && r.MaxCompletionTokens != nil:
		return invalidMember("max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	return nil
}

// readChatMessages reads the conversation. The current turn begins with the last message of the user.
func (t *turn) readChatMessages(all []chatMessage) *refusal {
	lastUser := 0
	for i, m := range all {
		if m.Role == "user" {
			lastUser = i
		}
	}
	for i := range all {
		if err := t.readChatMessage(all, i, i > lastUser); err != nil {
			return err
		}
	}
	if open := t.open(); len(open) > 0 {
		return unansweredCalls(open)
	}
	if all[len(all)-1].Role == "assistant" {
		return invalidMember("messages", "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
	}
	return nil
}

// readChatTools declares the functions of a request.
func (t *turn) readChatTools(r *chatRequest) *refusal {
	for i, tool := range r.Tools {
		if tool.Type != "function" {
			return &refusal{Status: 400, Code: "invalid_value", Param: fmt.Sprintf("tools[%d].type", i), Message: fmt.Sprintf("Invalid value: '%s'. Supported values are: 'function' and 'custom'.", tool.Type)}
		}
		if err := t.declare(fmt.Sprintf("tools[%d].function", i), tool.Function); err != nil {
			return err
		}
	}
	return nil
}

// unansweredCalls refuses a conversation that continues before all calls have results.
func unansweredCalls(open []geminisim.Call) *refusal {
	var ids []string
	for _, c := range open {
		ids = append(ids, clipped(c.ID))
	}
	return invalidMember("messages", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: "+strings.Join(ids, ", "))
}

// readChatMessage checks message i and adds it to the question. current says that it
// belongs to the current turn.
//
// System messages are joined into one prompt, because plans have only one.
func (t *turn) readChatMessage(all []chatMessage, i int, current bool) *refusal {
	m, at := all[i], fmt.Sprintf("messages[%d]", i)
	if m.Role != "tool" {
		if open := t.open(); len(open) > 0 {
			return unansweredCalls(open)
		}
	}
	text, err := t.checkChatMessage(all, i, at)
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		if len(t.question.Messages) > 0 {
			return invalidMember(at+".role", "System messages must stand before all others. (a rule of the simulator)")
		}
		t.question.System += text
	case "user":
		t.addUserText(text)
	case "assistant":
		return t.readChatAnswer(m, at, text, current)
	case "tool":
		if len(t.open()) == 0 {
			return invalidMember(fmt.Sprintf("messages.[%d].role", i), "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
		}
		if !t.result(m.ToolCallID, text, false) {
			return invalidMember(at+".tool_call_id", "Tool messages must come in the order of the calls. (a rule of the simulator)")
		}
	default:
		return &refusal{Status: 400, Code: "invalid_value", Param: at + ".role", Message: fmt.Sprintf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role)}
	}
	return nil
}

// repeatsRole reports whether a message of this role may not follow one of the role before: a result of
// a tool counts as the user's.
func (m *chatMessage) repeatsRole(before string) bool {
	return m.Role == "user" && (before == "user" || before == "tool") || m.Role == "assistant" && before == "assistant"
}

// isOfModel reports whether a message has members that only a model's answer has.
func (m *chatMessage) isOfModel() bool {
	return len(m.ToolCalls) > 0 || m.ReasoningContent != nil || m.Reasoning != nil || m.ReasoningDetails != nil
}

// checkChatMessage checks the rules for messages of every role, and returns the text of message i.
//
// Content may be missing only next to calls.
func (t *turn) checkChatMessage(all []chatMessage, i int, at string) (string, *refusal) {
	m := all[i]
	text, bad := textOf(m.Content, "text", "refusal", "thinking")
	if bad != "" && !(m.Role == "assistant" && absent(m.Content) && len(m.ToolCalls) > 0) {
		return "", &refusal{Status: 400, Code: "invalid_type", Param: at + ".content", Message: "Invalid value for 'content': expected a string, got null."}
	}
	if t.alternate && i > 0 && m.repeatsRole(all[i-1].Role) {
		return "", &refusal{Status: 400, Code: "3230", Param: at, Message: fmt.Sprintf("Unexpected role '%s' after role '%s'", m.Role, all[i-1].Role)}
	}
	if m.Role != "assistant" && m.isOfModel() {
		return "", invalidMember(at, "Only assistant messages may have tool_calls and reasoning.")
	}
	return text, nil
}

// readChatAnswer reads an earlier answer of the model, with its calls. current
// says that it belongs to the turn that runs, whose reasoning must come back.
//
// With the directive signed only the first call of an answer carries a signature, as with
// Gemini.
func (t *turn) readChatAnswer(m chatMessage, at, text string, current bool) *refusal {
	if err := t.checkReasoning(m, at, current); err != nil {
		return err
	}
	answer := geminisim.Message{Model: true, Text: text}
	for k, c := range m.ToolCalls {
		path := fmt.Sprintf("%s.tool_calls[%d]", at, k)
		if fault := t.idFault(c.ID); fault != "" {
			return invalidMember(path+".id", fault)
		}
		if slices.ContainsFunc(answer.Calls, func(o geminisim.Call) bool { return o.ID == c.ID }) {
			return invalidMember(path+".id", "Tool call ids must be unique.")
		}
		if c.Type != "function" || !isWord(c.Function.Name, 64) {
			return invalidMember(path+".function.name", "Invalid function name or type of a tool call.")
		}
		args := jsontext.Value(c.Function.Arguments)
		if !args.IsValid() || args.Kind() != '{' {
			return invalidMember(path+".function.arguments", "Invalid arguments: not a JSON object. (a rule of the simulator)")
		}
		signature := c.ExtraContent.Google.ThoughtSignature
		if err := t.checkCallSignature(signature, t.signed && current && k == 0, c.Function.Name+c.Function.Arguments); err != nil {
			return err
		}
		answer.Calls = append(answer.Calls, geminisim.Call{ID: c.ID, Name: c.Function.Name, Args: args})
	}
	t.question.Messages = append(t.question.Messages, answer)
	return nil
}

// standIn replaces the signature of another model's call for Gemini's endpoint.
const standIn = "skip_thought_signature_validator"

// checkCallSignature wants Gemini's signature with a call, or the value that stands in for
// one of another provider (its documentation names it).
//
// must says that it may not be missing: of calls of the current turn.
func (t *turn) checkCallSignature(signature string, must bool, call string) *refusal {
	if signature == "" && must {
		return invalidMember("", "Function call is missing a thought_signature in functionCall parts.")
	}
	if signature == standIn {
		return nil
	}
	if payload, ok := t.unseal("call", signature); signature != "" && (!ok || payload != letters(call, 16)) {
		return invalidMember("", "Corrupted thought signature.")
	}
	return nil
}

// checkDetails checks the signatures of reasoning that has some.
func (t *turn) checkDetails(m chatMessage, at string) *refusal {
	for i, d := range m.ReasoningDetails {
		if payload, ok := t.unseal("detail", d.Signature); !ok || payload != letters(d.Text, 16) {
			return invalidMember(fmt.Sprintf("%s.reasoning_details[%d]", at, i), "Invalid `signature` in `thinking` block")
		}
	}
	return nil
}

// checkReasoning requires that this server sent the returned reasoning, for this model.
//
// The server remembers the text of reasoning without a signature.
func (t *turn) checkReasoning(m chatMessage, at string, current bool) *refusal {
	for _, text := range []*string{m.ReasoningContent, m.Reasoning} {
		if text != nil && t.foreign(*text) {
			return invalidMember(at, "The reasoning is not what this model sent. (a rule of the simulator)")
		}
	}
	if err := t.checkDetails(m, at); err != nil {
		return err
	}
	if t.needReasoning && current && len(m.ToolCalls) > 0 && m.ReasoningContent == nil {
		return invalidMember(at, "Missing `reasoning_content` field in the assistant message at message index. The reasoning_content in the thinking mode must be passed back to the API.")
	}
	return nil
}
