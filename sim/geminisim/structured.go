package geminisim

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Role answers requests for structured output that it knows by their schema or
// their contents: as a router, a critic, a judge would. ok is false for all others.
// It is called from many goroutines at once.
type Role func(schema jsontext.Value, contents Question) (value jsontext.Value, ok bool)

// anyObject is the schema of a request for JSON that names none.
const anyObject = "{}"

// Respond returns the answer to q in any protocol: for a forced function its
// arguments, for a structured answer what the first role that knows the request
// says, else the smallest value that the schema allows, and for the rest what m says.
func Respond(m Model, roles []Role, q Question) Answer {
	if q.Forced != "" {
		for _, f := range q.Functions {
			if f.Name == q.Forced {
				return Answer{Calls: []Call{{Name: f.Name, Args: structured(roles, f.Parameters, q)}}}
			}
		}
	}
	if q.Schema == nil {
		return m.Answer(q)
	}
	return Answer{Text: string(structured(roles, q.Schema, q))}
}

// structured answers a request for JSON: by the first role that knows the
// schema, else with the smallest value. A schema that could not be sent stands
// in the prompt.
func structured(roles []Role, schema jsontext.Value, q Question) jsontext.Value {
	if absent(schema) || string(schema) == anyObject {
		schema = schemaInPrompt(q)
	}
	for _, role := range roles {
		if v, ok := role(schema, q); ok {
			return v
		}
	}
	return smallest(schema)
}

// schemaInPrompt finds the schema that a caller wrote into the prompt because the
// model has no other place for it: the last JSON object that looks like one.
func schemaInPrompt(q Question) jsontext.Value {
	found := jsontext.Value(`{"type":"object"}`)
	texts := []string{q.System}
	for _, m := range q.Messages {
		if !m.Model {
			texts = append(texts, m.Text)
		}
	}
	for _, text := range texts {
		for i := strings.IndexByte(text, '{'); i >= 0; {
			object, rest, err := leadingObject(text[i:])
			if node, ok := members(object); err == nil && ok {
				if node["properties"] != nil || node["$ref"] != nil || node["anyOf"] != nil || node["type"] != nil {
					found = object
				}
			} else {
				rest = text[i+1:]
			}
			next := strings.IndexByte(rest, '{')
			if next < 0 {
				break
			}
			i = len(text) - len(rest) + next
		}
	}
	return found
}

// wanted returns the schema of the structured answer that cfg asks for, or nil.
func (cfg *generationConfig) wanted() jsontext.Value {
	switch {
	case !absent(cfg.ResponseJSONSchema):
		return cfg.ResponseJSONSchema
	case !absent(cfg.ResponseSchema):
		return cfg.ResponseSchema
	case cfg.ResponseMIMEType == "application/json":
		return jsontext.Value(anyObject)
	}
	return nil
}

// forced returns the only function that may be called, and must be; "" if there is none.
func (r *request) forced() string {
	cfg := r.ToolConfig.FunctionCallingConfig
	if cfg.Mode == "ANY" && len(cfg.AllowedFunctionNames) == 1 {
		return cfg.AllowedFunctionNames[0]
	}
	return ""
}
