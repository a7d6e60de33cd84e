// This file checks a request of the Responses API. The server stores nothing: an id alone refers to
// nothing, and reasoning must come back encrypted, complete, and in front of the item behind it.

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

// responsesProtocol is OpenAI's Responses API. It refuses members that it does
// not know.
func responsesProtocol() protocol {
	return protocol{
		key:     bearerKey,
		members: responsesMembers(),
		strict:  true,
		read:    readResponses,
		write:   writeResponses,
		errors:  openAIError,
		forms:   responsesFaults(),
		stamp:   func(h http.Header) { h.Set("X-Request-Id", "req_modelsim") },
	}
}

// responsesMembers lists the members that each object may have, by where it
// stands and its type.
func responsesMembers() map[string]string {
	return map[string]string{
		"": "background conversation include input instructions max_output_tokens max_tool_calls metadata model parallel_tool_calls previous_response_id " +
			"prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text " +
			"tool_choice tools top_logprobs top_p truncation user",
		"input[]":                              "type role content id status phase",
		"input[].content[]":                    "type text annotations logprobs refusal image_url file_id detail prompt_cache_breakpoint",
		"input[function_call_output].output[]": "type text prompt_cache_breakpoint",
		"prompt_cache_options":                 "mode",
		"input[function_call]":                 "type id call_id name arguments status",
		"input[function_call_output]":          "type id call_id output status",
		"input[reasoning]":                     "type id summary content encrypted_content status",
		"input[reasoning].summary[]":           "type text",
		"reasoning":                            "effort summary generate_summary context",
		"text":                                 "format verbosity",
		"text.format":                          "type name description schema strict",
		"tools[]":                              "type name description parameters strict",
	}
}

// responsesRequest holds the used members of a request.
type responsesRequest struct {
	Model        string          `json:"model"`
	Instructions string          `json:"instructions"`
	Input        jsontext.Value  `json:"input"`
	Stream       bool            `json:"stream"`
	Include      []string        `json:"include"`
	Tools        []responsesTool `json:"tools"`
	ToolChoice   jsontext.Value  `json:"tool_choice"`
	Reasoning    struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Text struct {
		Format format `json:"format"`
	} `json:"text"`
	MaxOutputTokens *int   `json:"max_output_tokens"`
	PreviousID      string `json:"previous_response_id"`
}

// responsesTool is a tool: unlike in Chat Completions the function's members
// stand at its top.
type responsesTool struct {
	Type     string `json:"type"`
	function `json:",inline"`
}

// responsesItem is an item of the input, of any type that a client may send.
type responsesItem struct {
	Type      string         `json:"type"`
	Role      string         `json:"role"`
	Content   jsontext.Value `json:"content"`
	ID        string         `json:"id"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Arguments string         `json:"arguments"`
	Output    jsontext.Value `json:"output"`
	Summary   []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"summary"`
	EncryptedContent string `json:"encrypted_content"`
}

// readResponses checks a request, and makes the question of it.
func readResponses(t *turn) *refusal {
	var r responsesRequest
	if err := t.decodeBody(&r); err != nil {
		return err
	}
	t.model, t.stream, t.question.System = r.Model, r.Stream, r.Instructions
	t.thinks = r.Reasoning.Summary != ""
	t.encrypted = slices.Contains(r.Include, "reasoning.encrypted_content")
	t.unreasoned = r.Reasoning.Effort == "none"
	switch {
	case r.Model == "":
		return &refusal{Status: 400, Code: "missing_required_parameter", Param: "model", Message: "Missing required parameter: 'model'."}
	case r.PreviousID != "":
		return &refusal{Status: 400, Code: "previous_response_not_found", Param: "previous_response_id", Message: "Previous response with id '" + clipped(r.PreviousID) + "' not found."}
	case r.MaxOutputTokens != nil && *r.MaxOutputTokens < 16:
		return &refusal{Status: 400, Code: "integer_below_min_value", Param: "max_output_tokens", Message: fmt.Sprintf("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *r.MaxOutputTokens)}
	case r.Reasoning.Summary != "" && !slices.Contains([]string{"auto", "concise", "detailed"}, r.Reasoning.Summary):
		return &refusal{Status: 400, Code: "invalid_value", Param: "reasoning.summary", Message: "Invalid value. Supported values are: 'concise', 'detailed', and 'auto'."}
	}
	if err := t.checkCache(); err != nil {
		return err
	}
	if err := t.readInput(r.Input); err != nil {
		return err
	}
	for i, tool := range r.Tools {
		if tool.Type != "function" {
			return &refusal{Status: 400, Code: "invalid_value", Param: fmt.Sprintf("tools[%d].type", i), Message: fmt.Sprintf("Invalid value: '%s'.", tool.Type)}
		}
		if err := t.declare(fmt.Sprintf("tools[%d]", i), tool.function); err != nil {
			return err
		}
	}
	if err := t.choose(r.ToolChoice); err != nil {
		return err
	}
	return t.want("text.format", r.Text.Format)
}

// readInput reads the conversation: one text, or items.
//
// The call's id shows whether the call needs its reasoning, because this server made the id. So it
// remembers no answers.
func (t *turn) readInput(input jsontext.Value) *refusal {
	var text string
	if json.Unmarshal(input, &text) == nil {
		t.question.Messages = []geminisim.Message{{Text: text}}
		return nil
	}
	var items []responsesItem
	if err := json.Unmarshal(input, &items); err != nil || len(items) == 0 {
		return &refusal{Status: 400, Code: "invalid_type", Param: "input", Message: fmt.Sprintf("Invalid type for 'input': expected a string or a list of items (%v).", err)}
	}
	lastUser := 0
	for i, item := range items {
		if item.Role == "user" {
			lastUser = i
		}
	}
	reasoned := map[string]bool{} // nonces of the answers whose reasoning came back
	for i, item := range items {
		at := fmt.Sprintf("input[%d]", i)
		if err := t.readItem(items, i, at, reasoned); err != nil {
			return err
		}
		if item.Type != "function_call" || i < lastUser {
			continue
		}
		if nonce, ok := t.reasonedID("call_", item.CallID); ok && !reasoned[nonce] {
			return invalidMember("input", fmt.Sprintf("Item '%s' of type 'function_call' was provided without its required 'reasoning' item: 'rs_%s'.", clipped(item.CallID), nonce))
		}
	}
	if open := t.open(); len(open) > 0 {
		return invalidMember("input", fmt.Sprintf("No tool output found for function call %s.", clipped(open[0].ID)))
	}
	return nil
}

// readItem checks one item and adds it to the question.
//
// reasoned collects the answers whose reasoning was seen.
func (t *turn) readItem(items []responsesItem, i int, at string, reasoned map[string]bool) *refusal {
	item := items[i]
	open := t.open()
	answered := len(open) > 0 && len(t.question.Messages[len(t.question.Messages)-1].Results) > 0
	if len(open) > 0 && item.Type != "function_call_output" && (answered || item.Type != "function_call") {
		return invalidMember("input", fmt.Sprintf("No tool output found for function call %s.", clipped(open[0].ID)))
	}
	switch item.Type {
	case "", "message":
		return t.readItemMessage(item, at)
	case "function_call":
		return t.readItemCall(item, at)
	case "function_call_output":
		text, bad := textOf(item.Output, "input_text")
		if bad != "" {
			return &refusal{Status: 400, Code: "invalid_type", Param: at + ".output", Message: "Invalid type for '" + at + ".output'."}
		}
		if !slices.ContainsFunc(open, func(c geminisim.Call) bool { return c.ID == item.CallID }) {
			return invalidMember("input", fmt.Sprintf("No tool call found for function call output with call_id %s.", clipped(item.CallID)))
		}
		if !t.result(item.CallID, text, false) {
			return invalidMember("input", "Outputs must come in the order of the calls. (a rule of the simulator)")
		}
	case "reasoning":
		return t.readReasoning(items, i, at, reasoned)
	default:
		return &refusal{Status: 400, Code: "invalid_value", Param: at + ".type", Message: fmt.Sprintf("Invalid value: '%s'.", clipped(item.Type))}
	}
	return nil
}

// readItemMessage reads a message. The allowed content depends on the role.
func (t *turn) readItemMessage(item responsesItem, at string) *refusal {
	types, want := []string{"input_text"}, "'input_text'"
	switch item.Role {
	case "assistant":
		types, want = []string{"output_text", "refusal"}, "'output_text' and 'refusal'"
	case "user", "system", "developer":
	default:
		return &refusal{Status: 400, Code: "invalid_value", Param: at + ".role", Message: fmt.Sprintf("Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", clipped(item.Role))}
	}
	between := ""
	if item.Role == "user" {
		between = "\n"
	}
	text, bad := joinedText(item.Content, between, types...)
	if bad != "" {
		return &refusal{Status: 400, Code: "invalid_value", Param: at + ".content[0]", Message: fmt.Sprintf("Invalid value: '%s'. Supported values are: %s.", clipped(bad), want)}
	}
	if item.Role == "system" || item.Role == "developer" {
		t.question.System += text
		return nil
	}
	if item.Role == "user" {
		t.addUserText(text)
		return nil
	}
	t.question.Messages = append(t.question.Messages, geminisim.Message{Model: true, Text: text})
	return nil
}

// readItemCall reads an earlier call. Its arguments must be an object in a
// string.
//
// Calls that follow each other are calls of one answer.
func (t *turn) readItemCall(item responsesItem, at string) *refusal {
	args := jsontext.Value(item.Arguments)
	switch fault := t.idFault(item.CallID); {
	case fault != "":
		return invalidMember(at+".call_id", fault)
	case item.ID != "" && !strings.HasPrefix(item.ID, "fc"):
		return &refusal{Status: 400, Code: "invalid_value", Param: at + ".id", Message: fmt.Sprintf("Invalid '%s.id': '%s'. Expected an ID that begins with 'fc'.", at, clipped(item.ID))}
	case !isWord(item.Name, 64):
		return &refusal{Status: 400, Code: "invalid_value", Param: at + ".name", Message: fmt.Sprintf("Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)}
	case !args.IsValid() || args.Kind() != '{':
		return invalidMember(at+".arguments", "Invalid arguments: not a JSON object. (a rule of the simulator)")
	}
	m := t.last(func(m geminisim.Message) bool { return m.Model })
	if slices.ContainsFunc(m.Calls, func(c geminisim.Call) bool { return c.ID == item.CallID }) {
		return invalidMember(at+".call_id", "Call ids must be unique.")
	}
	m.Model = true
	m.Calls = append(m.Calls, geminisim.Call{ID: item.CallID, Name: item.Name, Args: args})
	return nil
}

// summaryText returns the text of the summary.
func (item *responsesItem) summaryText() (text string) {
	for _, s := range item.Summary {
		text += s.Text
	}
	return text
}

// isOfModel reports whether an item is one that the model made.
func (item *responsesItem) isOfModel() bool {
	return item.Type == "function_call" || item.Type == "reasoning" || item.Role == "assistant"
}

// readReasoning requires that an item comes back unchanged, right before the item that it led to.
func (t *turn) readReasoning(items []responsesItem, i int, at string, reasoned map[string]bool) *refusal {
	item := items[i]
	if !strings.HasPrefix(item.ID, "rs") {
		return &refusal{Status: 400, Code: "invalid_value", Param: at + ".id", Message: fmt.Sprintf("Invalid '%s.id': '%s'. Expected an ID that begins with 'rs'.", at, clipped(item.ID))}
	}
	if item.EncryptedContent == "" {
		return &refusal{Status: 404, Param: "input", Message: fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", clipped(item.ID))}
	}
	if payload, ok := t.unseal("reasoning", item.EncryptedContent); !ok || payload != item.ID+letters(item.summaryText(), 16) {
		return &refusal{Status: 400, Code: "invalid_encrypted_content", Message: fmt.Sprintf("The encrypted content %s... could not be verified.", item.EncryptedContent[:min(len(item.EncryptedContent), 4)])}
	}
	if i+1 == len(items) || !items[i+1].isOfModel() {
		return invalidMember("input", fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", item.ID))
	}
	reasoned[strings.TrimPrefix(item.ID, "rs_")] = true
	return nil
}
