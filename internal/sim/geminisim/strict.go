package geminisim

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// checkRequest applies the rules by which the API refuses a request, and returns the first fault.
// Sources of the wording: the recorded errors in testdata (pyric-*) and the API's own replies as
// quoted in issue threads. Two rules are the simulator's own, stricter than the API: thought parts
// must not come back, and a signature must belong to the very call that carries it.
func checkRequest(model string, req *request, issued *ledger) *apiError {
	for _, rule := range []func() *apiError{
		func() *apiError { return checkModelField(model, req) },
		func() *apiError { return checkContents(req.Contents) },
		func() *apiError { return checkSystem(req.SystemInstruction) },
		func() *apiError { return checkTurns(req.Contents) },
		func() *apiError { return checkSignatures(req.Contents, issued) },
		func() *apiError { return checkTools(req.Tools) },
		func() *apiError { return checkCallingConfig(req.ToolConfig) },
		func() *apiError { return checkGeneration(model, req.GenerationConfig) },
	} {
		if err := rule(); err != nil {
			return err
		}
	}
	return nil
}

// checkModelField: the path names the model; the body may repeat it.
func checkModelField(model string, req *request) *apiError {
	if req.Model != "" && req.Model != "models/"+model && req.Model != model {
		return invalidRequest("* GenerateContentRequest.model: model of the body and of the path differ\n")
	}
	return nil
}

// checkParts looks at each part of the content at i.
func checkParts(i int, c *content) *apiError {
	if len(c.Parts) == 0 {
		return invalidRequest(fmt.Sprintf("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.\n", i))
	}
	for j := range c.Parts {
		if err := checkPart(fmt.Sprintf("contents[%d].parts[%d]", i, j), c.Role, &c.Parts[j]); err != nil {
			return err
		}
	}
	return nil
}

// hasRole reports whether a content has a valid role. A single content may omit it.
func (c *content) hasRole(alone bool) bool {
	return c.Role == "user" || c.Role == "model" || c.Role == "" && alone
}

// checkContents looks at each content and part by itself.
func checkContents(contents []content) *apiError {
	if len(contents) == 0 {
		return invalidRequest("* GenerateContentRequest.contents: contents is not specified\n")
	}
	for i, c := range contents {
		if !c.hasRole(len(contents) == 1) {
			return invalidRequest(fmt.Sprintf("Role '%s' is not supported. Please use a valid role: SYSTEM, SYSTEM_1, USER, ASSISTANT, DEVELOPER, CONTEXT, USER_CONTEXT, MODEL, USER.", c.Role))
		}
		if err := checkParts(i, &c); err != nil {
			return err
		}
	}
	if contents[len(contents)-1].Role == "model" {
		return invalidRequest("Please ensure that multiturn requests end with a user role or a function response.")
	}
	return nil
}

// checkPart checks one part. The rule against returned thoughts is our own: the service ignores
// them, and they cost tokens.
func checkPart(path, role string, p *part) *apiError {
	at := "* GenerateContentRequest." + path
	switch {
	case p.dataFields() != 1:
		return invalidRequest(at + ".data: required oneof field 'data' must have one initialized field\n")
	case p.Thought:
		return invalidRequest(at + ".thought: thought parts must not be sent back (a rule of the simulator)\n")
	case p.FunctionCall != nil && role != "model":
		return invalidRequest(at + ".function_call: only allowed in a content with role 'model'\n")
	case p.FunctionResponse != nil && role == "model":
		return invalidRequest(at + ".function_response: only allowed in a content with role 'user'\n")
	case p.FunctionCall != nil:
		return checkFunctionCall(path, p.FunctionCall)
	case p.FunctionResponse != nil:
		return checkFunctionResponse(path, p.FunctionResponse)
	}
	return nil
}

// dataFields counts the members of the oneof "data" that are set.
func (p *part) dataFields() int {
	n := 0
	for _, set := range []bool{
		p.Text != nil, p.FunctionCall != nil, p.FunctionResponse != nil,
		!isAbsent(p.InlineData), !isAbsent(p.FileData), !isAbsent(p.ExecutableCode),
		!isAbsent(p.CodeExecutionResult), !isAbsent(p.ToolCall), !isAbsent(p.ToolResponse),
	} {
		if set {
			n++
		}
	}
	return n
}

// isAbsent reports whether a raw member is not given; null counts as that.
func isAbsent(v jsontext.Value) bool { return len(v) == 0 || string(v) == "null" }

// checkFunctionCall wants a name, and an object as arguments.
func checkFunctionCall(path string, c *functionCall) *apiError {
	if c.Name == "" {
		return invalidRequest("* GenerateContentRequest." + path + ".function_call.name: Name cannot be empty.\n")
	}
	if !isAbsent(c.Args) && c.Args.Kind() != '{' {
		return invalidRequest(fmt.Sprintf("Invalid value at '%s.function_call.args' (type.googleapis.com/google.protobuf.Struct)", path))
	}
	return nil
}

// checkFunctionResponse requires an object as response. The service refuses $ref in it, because it
// reads that as a reference to another part.
func checkFunctionResponse(path string, r *functionResponse) *apiError {
	if r.Name == "" {
		return invalidRequest("* GenerateContentRequest." + path + ".function_response.name: Name cannot be empty.\n")
	}
	if r.Response.Kind() != '{' {
		return invalidRequest(fmt.Sprintf("Invalid value at '%s.function_response.response' (type.googleapis.com/google.protobuf.Struct)", path))
	}
	if hasRef(r.Response) {
		return invalidRequest(fmt.Sprintf("* GenerateContentRequest.%s.function_response.response: the key $ref is not allowed\n", path))
	}
	return nil
}

// hasRef reports whether any object in v has the key "$ref". The API reads it as a reference.
func hasRef(v jsontext.Value) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return false
		}
		kind, n := dec.StackIndex(dec.StackDepth())
		if kind == '{' && n%2 == 1 && token.Kind() == '"' && token.String() == "$ref" {
			return true
		}
	}
}

// checkSystem wants text only.
func checkSystem(c *content) *apiError {
	if c == nil {
		return nil
	}
	for i := range c.Parts {
		if c.Parts[i].Text == nil {
			return invalidRequest(fmt.Sprintf("* GenerateContentRequest.system_instruction.parts[%d]: only text is supported\n", i))
		}
	}
	return nil
}

// calls returns the calls of a message, in their order.
func (c content) calls() []*functionCall {
	var calls []*functionCall
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			calls = append(calls, p.FunctionCall)
		}
	}
	return calls
}

// responses returns the results in a message, in their order.
func (c content) responses() []*functionResponse {
	var responses []*functionResponse
	for _, p := range c.Parts {
		if p.FunctionResponse != nil {
			responses = append(responses, p.FunctionResponse)
		}
	}
	return responses
}

// text returns the text parts, one a line.
func (c content) text() string {
	var texts []string
	for _, p := range c.Parts {
		if p.Text != nil && *p.Text != "" {
			texts = append(texts, *p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// checkCallingConfig refuses names of functions where the mode cannot heed
// them.
func checkCallingConfig(cfg toolConfig) *apiError {
	mode := cfg.FunctionCallingConfig.Mode
	if len(cfg.FunctionCallingConfig.AllowedFunctionNames) > 0 && mode != "ANY" && mode != "VALIDATED" {
		return invalidRequest("Function calling config: allowed_function_names is only supported when the mode is ANY or VALIDATED.")
	}
	return nil
}

// checkGeneration checks the settings for the named model, because generations differ in how
// thinking is asked for.
func checkGeneration(model string, cfg generationConfig) *apiError {
	thinking := cfg.ThinkingConfig
	switch {
	case cfg.ResponseMIMEType != "application/json" && (!isAbsent(cfg.ResponseSchema) || !isAbsent(cfg.ResponseJSONSchema)):
		return invalidRequest("A response schema is only allowed with the response mime type application/json (a rule of the simulator)")
	case cfg.CandidateCount > 1:
		return invalidRequest("Multiple candidates is not enabled for this model")
	case thinking.ThinkingBudget != nil && !isAbsent(thinking.ThinkingLevel):
		return invalidRequest("You can only set only one of thinking budget and thinking level.")
	case !isAbsent(thinking.ThinkingLevel) && strings.Contains(model, "gemini-2."):
		return invalidRequest("Thinking level is not supported for this model.")
	}
	return nil
}
