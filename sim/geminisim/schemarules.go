package geminisim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Rules that look at several keywords of one schema.

// checkOpenAPINode holds what the API says about keywords that do not go with a
// node's type.
func checkOpenAPINode(path string, node map[string]jsontext.Value, _ jsontext.Value) *apiError {
	at := "* GenerateContentRequest." + path
	kind := openAPIType(node["type"])
	format := stringOf(node["format"])
	switch {
	case kind == "ARRAY" && node["items"] == nil:
		return invalid(at + ".items: missing field.\n")
	case kind != "OBJECT" && node["properties"] != nil:
		return invalid(at + ".properties: only allowed for OBJECT type\n")
	case kind != "OBJECT" && node["required"] != nil:
		return invalid(at + ".required: only allowed for OBJECT type\n")
	case kind != "STRING" && node["enum"] != nil:
		return invalid(at + ".enum: only allowed for STRING type\n")
	case kind == "STRING" && format != "" && format != "enum" && format != "date-time":
		return invalid(at + ".format: only 'enum' and 'date-time' are supported for STRING type\n")
	}
	return nil
}

// openAPIType returns a type's name: types are given as names in any case, or
// as numbers.
func openAPIType(v jsontext.Value) string {
	if v.Kind() == '0' && len(v) == 1 {
		return openAPITypes()[v[0]-'0']
	}
	return strings.ToUpper(stringOf(v))
}

// checkRefNode: a $ref names an entry of the root's $defs and has no neighbours
// but description and default.
func checkRefNode(path string, node map[string]jsontext.Value, root jsontext.Value) *apiError {
	if node["$ref"] == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(node)) {
		if !slices.Contains([]string{"$ref", "description", "default", "$defs"}, key) {
			return invalid(fmt.Sprintf("* GenerateContentRequest.%s: $ref must not have siblings, found %q\n", path, key))
		}
	}
	top, _ := members(root)
	defs, _ := members(top["$defs"])
	name, local := strings.CutPrefix(stringOf(node["$ref"]), "#/$defs/")
	if !local || defs[name] == nil {
		return invalid(fmt.Sprintf("* GenerateContentRequest.%s.$ref: reference to an undefined schema\n", path))
	}
	return nil
}
