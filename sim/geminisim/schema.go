package geminisim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// checkTools looks at the declared functions: their names and their parameters.
func checkTools(tools []tool) *apiError {
	seen := make(map[string]bool)
	for i, t := range tools {
		for j := range t.FunctionDeclarations {
			d := &t.FunctionDeclarations[j]
			if seen[d.Name] {
				return invalid(fmt.Sprintf("Duplicate function declaration found: %s", d.Name))
			}
			seen[d.Name] = true
			if err := checkDeclaration(fmt.Sprintf("tools[%d].function_declarations[%d]", i, j), d); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkDeclaration checks a name and the one language in which parameters are
// given.
func checkDeclaration(path string, d *declaration) *apiError {
	at := "* GenerateContentRequest." + path
	if !isFunctionName(d.Name) {
		return invalid(at + ".name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n")
	}
	if !absent(d.Parameters) && !absent(d.ParametersJSONSchema) {
		return invalid(at + ".parameters_json_schema: parameters and parameters_json_schema are mutually exclusive\n")
	}
	if !absent(d.Parameters) {
		return checkParameters(openAPISubset(), path+".parameters", d.Parameters)
	}
	if !absent(d.ParametersJSONSchema) {
		return checkParameters(jsonSchemaSubset(), path+".parameters_json_schema", d.ParametersJSONSchema)
	}
	return nil
}

// isFunctionName: a letter or an underscore, then at most 63 of letters, digits
// and _.:-
func isFunctionName(name string) bool {
	const letters = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return name != "" && len(name) <= 64 && strings.Contains(letters, name[:1]) && strings.Trim(name, letters+"0123456789.:-") == ""
}

// keyword says what the value of a schema keyword is.
type keyword int

const (
	anyValue       keyword = iota
	oneSchema              // a schema
	schemaList             // an array of schemas
	schemaMap              // an object whose members are schemas
	boolOrSchema           // true, false or a schema
	stringList             // an array of strings
	typeName               // one name of a type
	typeNames              // one name of a type, or an array of them
	besidesRefOnly         // allowed only next to $ref
)

// dialect is one of the two languages that parameters may be written in.
type dialect struct {
	keywords map[string]keyword
	types    []string
	// check holds the rules that look at several keywords of one schema.
	check func(path string, node map[string]jsontext.Value, root jsontext.Value) *apiError
}

// openAPITypes is the enum Type, in the order of its numbers.
func openAPITypes() []string {
	return []string{"TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}
}

// openAPISubset is the message Schema, the language of "parameters". Title and
// default are not in it: both were seen refused.
func openAPISubset() dialect {
	return dialect{
		keywords: map[string]keyword{
			"type": typeName, "format": anyValue, "description": anyValue, "nullable": anyValue,
			"enum": stringList, "items": oneSchema, "minItems": anyValue, "maxItems": anyValue,
			"properties": schemaMap, "required": stringList, "propertyOrdering": stringList,
			"minProperties": anyValue, "maxProperties": anyValue, "minimum": anyValue, "maximum": anyValue,
			"minLength": anyValue, "maxLength": anyValue, "pattern": anyValue, "example": anyValue,
			"anyOf": schemaList,
		},
		types: openAPITypes(),
		check: checkOpenAPINode,
	}
}

// jsonSchemaSubset is what the API documents for "parametersJsonSchema" (the
// comment on responseJsonSchema in its proto; the engine is the same).
func jsonSchemaSubset() dialect {
	return dialect{
		keywords: map[string]keyword{
			"$id": anyValue, "$defs": schemaMap, "$ref": anyValue, "$anchor": anyValue,
			"type": typeNames, "format": anyValue, "title": anyValue, "description": anyValue,
			"enum": anyValue, "items": oneSchema, "prefixItems": schemaList, "minItems": anyValue, "maxItems": anyValue,
			"minimum": anyValue, "maximum": anyValue, "anyOf": schemaList, "oneOf": schemaList,
			"properties": schemaMap, "additionalProperties": boolOrSchema, "required": stringList,
			"propertyOrdering": stringList, "default": besidesRefOnly,
		},
		types: []string{"string", "number", "integer", "boolean", "array", "object", "null"},
		check: checkRefNode,
	}
}

// checkParameters checks a schema and wants an object at its root.
func checkParameters(d dialect, path string, root jsontext.Value) *apiError {
	if err := d.checkNode(path, root, root); err != nil {
		return err
	}
	node, _ := members(root)
	if t := strings.ToLower(stringOf(node["type"])); t != "object" && t != "6" && absent(node["$ref"]) {
		return invalid(fmt.Sprintf("* GenerateContentRequest.%s.type: parameters must be of type OBJECT\n", path))
	}
	return nil
}

// checkNode checks one schema and all within it. Keys are visited in order, so
// that the same request gets the same message.
func (d dialect) checkNode(path string, v, root jsontext.Value) *apiError {
	node, ok := members(v)
	if !ok {
		return invalid(fmt.Sprintf("Invalid value at '%s' (Schema)", path))
	}
	for _, key := range slices.Sorted(maps.Keys(node)) {
		kind, known := d.keywords[key]
		if !known || kind == besidesRefOnly && node["$ref"] == nil {
			return unknownName(path, key)
		}
		if err := d.checkKeyword(path+"."+snake(key), kind, node[key], root); err != nil {
			return err
		}
	}
	return d.check(path, node, root)
}

// checkKeyword checks the value of a keyword by what kind of value it takes.
func (d dialect) checkKeyword(path string, kind keyword, v, root jsontext.Value) *apiError {
	switch kind {
	case oneSchema:
		return d.checkNode(path, v, root)
	case schemaList:
		return d.checkList(path, v, root)
	case schemaMap:
		return d.checkMap(path, v, root)
	case boolOrSchema:
		if v.Kind() == 't' || v.Kind() == 'f' {
			return nil
		}
		return d.checkNode(path, v, root)
	case stringList:
		var list []string
		if json.Unmarshal(v, &list) != nil {
			return invalid(fmt.Sprintf("Invalid value at '%s' (TYPE_STRING), %s", path, v.Kind()))
		}
	case typeName, typeNames:
		return d.checkType(path, kind, v)
	}
	return nil
}

// checkList checks each schema of a list.
func (d dialect) checkList(path string, v, root jsontext.Value) *apiError {
	var list []jsontext.Value
	if json.Unmarshal(v, &list) != nil {
		return invalid(fmt.Sprintf("Invalid value at '%s' (Schema)", path))
	}
	for i, item := range list {
		if err := d.checkNode(fmt.Sprintf("%s[%d]", path, i), item, root); err != nil {
			return err
		}
	}
	return nil
}

// checkMap checks each schema of a map, in the order of names, so that messages
// do not change from run to run.
func (d dialect) checkMap(path string, v, root jsontext.Value) *apiError {
	node, ok := members(v)
	if !ok {
		return invalid(fmt.Sprintf("Invalid value at '%s' (Map)", path))
	}
	for i, name := range slices.Sorted(maps.Keys(node)) {
		if err := d.checkNode(fmt.Sprintf("%s[%d].value", path, i), node[name], root); err != nil {
			return err
		}
	}
	return nil
}

// checkType accepts the dialect's names of types; the OpenAPI one also in lower
// case and as the numbers of the enum, as protojson does.
func (d dialect) checkType(path string, kind keyword, v jsontext.Value) *apiError {
	var names []string
	switch {
	case v.Kind() == '"':
		names = []string{stringOf(v)}
	case v.Kind() == '0' && kind == typeName && len(v) == 1 && v[0] < '0'+byte(len(d.types)):
		return nil
	case v.Kind() != '[' || kind != typeNames || json.Unmarshal(v, &names) != nil:
		return invalid(fmt.Sprintf("Proto field is not repeating, cannot start list. Invalid value at '%s'", path))
	}
	for _, name := range names {
		if kind == typeName {
			name = strings.ToUpper(name)
		}
		if !slices.Contains(d.types, name) {
			return invalid(fmt.Sprintf("Invalid value at '%s' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), %q", path, name))
		}
	}
	return nil
}

// members returns the members of an object.
func members(v jsontext.Value) (map[string]jsontext.Value, bool) {
	var m map[string]jsontext.Value
	if v.Kind() != '{' || json.Unmarshal(v, &m) != nil {
		return nil, false
	}
	return m, true
}

// stringOf returns a JSON string's text, and any other value as it is written.
func stringOf(v jsontext.Value) string {
	var s string
	if v.Kind() == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
