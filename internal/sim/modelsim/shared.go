package modelsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

// Helpers of all protocols: text, tools, schemas, calls and results.

// absent reports whether a raw member is not given; null counts as that.
func absent(v jsontext.Value) bool { return len(v) == 0 || string(v) == "null" }

// checkCache checks the members of OpenAI's cache: exact marks exclude the retention, and a mark is
// explicit. A request may look for 80 prefixes.
func (t *turn) checkCache() *refusal {
	const mark, most = `"prompt_cache_breakpoint":`, 80
	body := string(t.body)
	switch n := strings.Count(body, mark); {
	case strings.Contains(body, `"prompt_cache_options"`) && strings.Contains(body, `"prompt_cache_retention"`):
		return invalidMember("prompt_cache_retention", "'prompt_cache_retention' cannot be used with 'prompt_cache_options'.")
	case n != strings.Count(body, mark+`{"mode":"explicit"}`):
		return invalidMember("prompt_cache_breakpoint.mode", "Supported values are: 'explicit'.")
	case n > most:
		return invalidMember("prompt_cache_breakpoint", fmt.Sprintf("At most %d breakpoints are looked for, got %d.", most, n))
	}
	return nil
}

// textOf returns a content's text: a string, or the parts of the given types. bad is the type of a
// part with another type.
//
// bad is "no content" for null, a missing member, and another type than string or list.
func textOf(content jsontext.Value, types ...string) (text, bad string) {
	return joinedText(content, "", types...)
}

// joinedText is textOf with something between two parts.
func joinedText(content jsontext.Value, between string, types ...string) (text, bad string) {
	if absent(content) {
		return "", "no content"
	}
	if json.Unmarshal(content, &text) == nil {
		return text, ""
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return "", "no content"
	}
	for _, p := range parts {
		if !slices.Contains(types, p.Type) {
			return "", p.Type
		}
		if text != "" {
			text += between
		}
		text += p.Text + p.Refusal
	}
	return text, ""
}

// response is a tool's result as the plans read it: an object with output or error.
//
// A text that is such an object already is taken as it is.
func response(text string, failed bool) jsontext.Value {
	var node map[string]any
	if json.Unmarshal([]byte(text), &node) == nil && len(node) == 1 && (node["output"] != nil || node["error"] != nil) {
		return jsontext.Value(text)
	}
	name := "output"
	if failed {
		name = "error"
	}
	return encodeJSON(object{name: text})
}

// isWord reports whether s is 1 to most letters, digits, _ and -.
func isWord(s string, most int) bool {
	const allowed = "_-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return s != "" && len(s) <= most && strings.Trim(s, allowed) == ""
}

// isNine reports whether s is nine letters and digits.
func isNine(s string) bool { return len(s) == 9 && isWord(s, 9) && !strings.ContainsAny(s, "_-") }

// function is a declared tool.
type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters"`
	Strict      bool           `json:"strict"`
}

// declare checks a tool as OpenAI does and adds it to the question. path is that of
// the object with the name.
//
// The words are OpenAI's also where Anthropic's API is asked.
func (t *turn) declare(path string, f function) *refusal {
	name := path + ".name"
	if !isWord(f.Name, 64) {
		return &refusal{Status: 400, Code: "invalid_value", Param: name,
			Message: fmt.Sprintf("Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]{1,64}$'.", name)}
	}
	if slices.ContainsFunc(t.question.Functions, func(g geminisim.Function) bool { return g.Name == f.Name }) {
		return invalidMember(name, fmt.Sprintf("Tool names must be unique: '%s'.", f.Name))
	}
	if fault := objectFault(f.Parameters); !absent(f.Parameters) && fault != "" {
		return &refusal{Status: 400, Code: "invalid_function_parameters", Param: path + ".parameters",
			Message: fmt.Sprintf("Invalid schema for function '%s': %s", f.Name, fault)}
	}
	if fault := strictFault(f.Parameters); f.Strict && fault != "" {
		return &refusal{Status: 400, Code: "invalid_function_parameters", Param: path + ".parameters",
			Message: fmt.Sprintf("Invalid schema for function '%s': %s", f.Name, fault)}
	}
	t.question.Functions = append(t.question.Functions, geminisim.Function{Name: f.Name, Parameters: f.Parameters})
	return nil
}

// objectFault returns the fault of a tool's parameters, or "".
func objectFault(schema jsontext.Value) string {
	var node map[string]any
	if json.Unmarshal(schema, &node) != nil {
		return "schema must be an object."
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "not", "enum"} {
		if node[key] != nil {
			return fmt.Sprintf("schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level (%s).", key)
		}
	}
	if node["type"] != "object" {
		return fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%v\"'.", node["type"])
	}
	if _, ok := node["properties"].(map[string]any); !ok {
		return "In context=(), object schema missing properties."
	}
	return ""
}

// strictFault returns why a schema cannot be strict, or "". Each object must list all of its
// members as required and allow no others.
func strictFault(schema jsontext.Value) string {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return "schema must be an object."
	}
	return strictNode("", v)
}

// strictNode returns why strict mode refuses a schema, in the words of the API, or "".
func strictNode(path string, v any) string {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if fault := strictNode(fmt.Sprintf("%s, '%d'", path, i), e); fault != "" {
				return fault
			}
		}
	case map[string]any:
		properties, isObject := v["properties"].(map[string]any)
		if (isObject || v["type"] == "object") && v["additionalProperties"] != false {
			return fmt.Sprintf("In context=(%s), 'additionalProperties' is required to be supplied and to be false.", path)
		}
		required, _ := v["required"].([]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if !slices.Contains(required, any(name)) {
				return fmt.Sprintf("In context=(%s), 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", path, name)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key == "enum" || key == "const" || key == "required" {
				continue
			}
			if fault := strictNode(fmt.Sprintf("%s, '%s'", path, key), v[key]); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// format is response_format.json_schema, or text.format.
type format struct {
	Type   string         `json:"type"`
	Name   string         `json:"name"`
	Schema jsontext.Value `json:"schema"`
	Strict bool           `json:"strict"`
}

// want asks for structured output as OpenAI's protocols do.
func (t *turn) want(path string, f format) *refusal {
	switch f.Type {
	case "", "text":
		return nil
	case "json_object":
		if !strings.Contains(strings.ToLower(t.prompt()), "json") {
			return invalidMember(path, "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
		}
		t.question.Schema = jsontext.Value("{}")
		return nil
	case "json_schema":
		return t.wantSchema(path, f)
	}
	return &refusal{Status: 400, Code: "invalid_value", Param: path + ".type", Message: fmt.Sprintf("Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'.", f.Type)}
}

// wantSchema asks for an object of a schema.
func (t *turn) wantSchema(path string, f format) *refusal {
	if !isWord(f.Name, 64) {
		return &refusal{Status: 400, Code: "missing_required_parameter", Param: path + ".name", Message: fmt.Sprintf("Missing required parameter: '%s.name'.", path)}
	}
	if fault := strictFault(f.Schema); f.Strict && fault != "" {
		return &refusal{Status: 400, Param: path, Message: fmt.Sprintf("Invalid schema for response_format '%s': %s", f.Name, fault)}
	}
	if absent(f.Schema) {
		return &refusal{Status: 400, Code: "missing_required_parameter", Param: path + ".schema", Message: fmt.Sprintf("Missing required parameter: '%s.schema'.", path)}
	}
	t.question.Schema = f.Schema
	return nil
}

// prompt is all that was said to the model.
func (t *turn) prompt() string {
	text := t.question.System
	for _, m := range t.question.Messages {
		text += "\n" + m.Text
	}
	return text
}

// choose reads tool_choice: a word, or an object that names a function.
//
// "any" and "required" force the first function that was declared.
func (t *turn) choose(choice jsontext.Value) *refusal {
	t.question.MayCall = len(t.question.Functions) > 0
	if absent(choice) {
		return nil
	}
	if !t.question.MayCall {
		return invalidMember("tool_choice", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	}
	var word string
	if json.Unmarshal(choice, &word) != nil {
		var named struct {
			Type     string   `json:"type"`
			Name     string   `json:"name"`
			Function function `json:"function"`
		}
		_ = json.Unmarshal(choice, &named) // what cannot be read names nothing
		if word = named.Type; word == "function" || word == "tool" {
			t.question.Forced = named.Name + named.Function.Name
			if !slices.ContainsFunc(t.question.Functions, func(f geminisim.Function) bool { return f.Name == t.question.Forced }) {
				return invalidMember("tool_choice", fmt.Sprintf("Tool choice '%s' not found in 'tools' parameter.", t.question.Forced))
			}
			return nil
		}
	}
	switch word {
	case "auto":
	case "none":
		t.question.MayCall = false
	case "required", "any":
		t.question.Forced = t.question.Functions[0].Name
	default:
		return &refusal{Status: 400, Code: "invalid_value", Param: "tool_choice", Message: fmt.Sprintf("Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", word)}
	}
	return nil
}

// last returns the newest message, made if it is not of that kind: results answer the
// calls of the message before, so they stand alone.
func (t *turn) last(fits func(geminisim.Message) bool) *geminisim.Message {
	all := &t.question.Messages
	if len(*all) == 0 || !fits((*all)[len(*all)-1]) {
		*all = append(*all, geminisim.Message{})
	}
	return &(*all)[len(*all)-1]
}

// addUserText adds a text of the user. Behind another message of the user's it continues that.
func (t *turn) addUserText(text string) {
	all := t.question.Messages
	if n := len(all); n > 0 && !all[n-1].Model && len(all[n-1].Results) == 0 {
		all[n-1].Text += "\n" + text
		return
	}
	t.question.Messages = append(all, geminisim.Message{Text: text})
}

// open returns the calls that still wait for a result.
//
// Results are counted and not compared: result has seen to their order.
func (t *turn) open() []geminisim.Call {
	all := t.question.Messages
	if n := len(all); n > 0 && len(all[n-1].Calls) > 0 {
		return all[n-1].Calls
	}
	if n := len(all); n > 1 && len(all[n-1].Results) > 0 {
		return all[n-2].Calls[min(len(all[n-1].Results), len(all[n-2].Calls)):]
	}
	return nil
}

// result adds the result of the next open call. ok is false when it is not its.
func (t *turn) result(id, text string, failed bool) (ok bool) {
	open := t.open()
	if len(open) == 0 || open[0].ID != id {
		return false
	}
	m := t.last(func(m geminisim.Message) bool { return len(m.Results) > 0 })
	m.Results = append(m.Results, geminisim.Result{ID: id, Name: open[0].Name, Response: response(text, failed)})
	return true
}

// idFault returns the fault of a call's id, or "".
func (t *turn) idFault(id string) string {
	switch {
	case t.acceptsIDs == "nine" && !isNine(id):
		return fmt.Sprintf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", clipped(id))
	case id == "":
		return "Tool call ids must not be empty."
	case len(id) > 64:
		return fmt.Sprintf("Invalid id: string too long. Expected a string with maximum length 64, but got a string with length %d instead.", len(id))
	}
	return ""
}

// clipped cuts a text of the request for a message.
func clipped(s string) string { return s[:min(len(s), 80)] }
