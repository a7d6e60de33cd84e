package geminisim

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Role answers requests for structured output that it knows by their schema or
// their contents: as a router, a critic, a judge would. ok is false for all others.
// It is called from many goroutines at once.
type Role func(schema jsontext.Value, contents Question) (value jsontext.Value, ok bool)

// anyObject is the schema of a request for JSON that names none.
const anyObject = "{}"

// Respond returns the answer to q in any protocol. For a forced function that is a call. For a
// structured answer it is the value of the first role that knows the request, else the smallest
// value of the schema. For other requests it is the answer of m. If m must call one of several
// functions and calls none of them, the last of them is called, because a gateway declares those of
// its clients behind its own.
func Respond(m Model, roles []Role, q Question) Answer {
	if a, ok := forcedAnswer(roles, q.Forced, q); ok {
		return a
	}
	if q.Schema != nil {
		return Answer{Text: string(structuredValue(roles, q.Schema, q))}
	}
	a := m.Answer(q)
	if len(q.OneOf) > 0 && !slices.ContainsFunc(a.Calls, func(c Call) bool { return slices.Contains(q.OneOf, c.Name) }) {
		if last, ok := forcedAnswer(roles, q.OneOf[len(q.OneOf)-1], q); ok {
			return last
		}
	}
	return a
}

// forcedAnswer calls a function with the smallest arguments; ok is false if it is not declared.
func forcedAnswer(roles []Role, name string, q Question) (a Answer, ok bool) {
	i := slices.IndexFunc(q.Functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return a, false
	}
	return Answer{Calls: []Call{{Name: name, Args: structuredValue(roles, q.Functions[i].Parameters, q)}}}, true
}

// structuredValue answers a request for JSON: by the first role that knows the
// schema, else with the smallest value. A schema that could not be sent stands
// in the prompt.
func structuredValue(roles []Role, schema jsontext.Value, q Question) jsontext.Value {
	if isAbsent(schema) || string(schema) == anyObject {
		schema = schemaInPrompt(q)
	}
	for _, role := range roles {
		if v, ok := role(schema, q); ok {
			return v
		}
	}
	return smallestValue(schema)
}

// schemaInPrompt finds the schema that a caller wrote into the prompt, because the model does not
// take it elsewhere: the last JSON object that looks like a schema.
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
			if node, ok := membersOf(object); err == nil && ok {
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
	case !isAbsent(cfg.ResponseJSONSchema):
		return cfg.ResponseJSONSchema
	case !isAbsent(cfg.ResponseSchema):
		return cfg.ResponseSchema
	case cfg.ResponseMIMEType == "application/json":
		return jsontext.Value(anyObject)
	}
	return nil
}

// oblige says in q which function must be called: the only one that may be, or one of several.
func (r *request) oblige(q *Question) {
	cfg := r.ToolConfig.FunctionCallingConfig
	if cfg.Mode != "ANY" {
		return
	}
	may := cfg.AllowedFunctionNames
	if len(may) == 0 {
		for _, f := range q.Functions {
			may = append(may, f.Name)
		}
	}
	if len(may) == 1 {
		q.Forced = may[0]
		return
	}
	q.OneOf = may
}
