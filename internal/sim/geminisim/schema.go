package geminisim

import (
	_ "embed" // the schemas
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// checkTools looks at the declared functions: their names and their parameters.
func checkTools(tools []tool) *apiError {
	seen := make(map[string]bool)
	for i, t := range tools {
		for j := range t.FunctionDeclarations {
			d := &t.FunctionDeclarations[j]
			if seen[d.Name] {
				return invalidRequest(fmt.Sprintf("Duplicate function declaration found: %s", d.Name))
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
		return invalidRequest(at + ".name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n")
	}
	if !isAbsent(d.Parameters) && !isAbsent(d.ParametersJSONSchema) {
		return invalidRequest(at + ".parameters_json_schema: parameters and parameters_json_schema are mutually exclusive\n")
	}
	if !isAbsent(d.Parameters) {
		return openAPISubset().checkParameters(path+".parameters", d.Parameters)
	}
	if !isAbsent(d.ParametersJSONSchema) {
		return jsonSchemaSubset().checkParameters(path+".parameters_json_schema", d.ParametersJSONSchema)
	}
	return nil
}

// isFunctionName: a letter or an underscore, then at most 63 of letters, digits
// and _.:-
func isFunctionName(name string) bool {
	const letters = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return name != "" && len(name) <= 64 && strings.Contains(letters, name[:1]) && strings.Trim(name, letters+"0123456789.:-") == ""
}

// language is one of the two that parameters may be written in, as a schema of its schemas.
type language struct {
	doc      any
	compiled *jsonschema.Schema
}

//go:embed openapi.json
var openAPIText []byte

//go:embed jsonschema.json
var jsonSchemaText []byte

var (
	openAPISubset    = sync.OnceValue(func() language { return readLanguage(openAPIText) })
	jsonSchemaSubset = sync.OnceValue(func() language { return readLanguage(jsonSchemaText) })
)

// readLanguage compiles an embedded schema.
func readLanguage(text []byte) language {
	var l language
	if err := json.Unmarshal(text, &l.doc); err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("language:///schema.json", l.doc); err != nil {
		panic(err)
	}
	l.compiled = c.MustCompile("language:///schema.json")
	return l
}

// checkParameters refuses parameters that are not of the language, for the first place that is at fault. path is
// theirs in the request.
func (l language) checkParameters(path string, parameters jsontext.Value) *apiError {
	var doc any
	_ = json.Unmarshal(parameters, &doc) // it was read before
	broken, ok := errors.AsType[*jsonschema.ValidationError](l.compiled.Validate(doc))
	if ok {
		fault := slices.MinFunc(causesOf(broken), func(a, b *jsonschema.ValidationError) int {
			return slices.Compare(a.InstanceLocation, b.InstanceLocation)
		})
		return l.refusalOf(path+schemaPath(doc, fault.InstanceLocation), fault)
	}
	if _, compiled := compileWanted(parameters); compiled == nil && hasRef(parameters) {
		return invalidRequest(fmt.Sprintf("* GenerateContentRequest.%s: reference to an undefined schema\n", path))
	}
	return nil
}

// refusalOf words a fault as the API does: the description of a rule has the API's words.
func (l language) refusalOf(path string, fault *jsonschema.ValidationError) *apiError {
	_, pointer, _ := strings.Cut(fault.SchemaURL, "#")
	rule, _ := url.PathUnescape(pointer)
	text, _ := lookupPointer(l.doc, jsontext.Pointer(rule+"/description"))
	name := ""
	switch k := fault.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		name = slices.Min(k.Properties)
	case *kind.DependentRequired:
		name = k.Prop
	case *kind.Type:
		if k.Got == "array" && slices.Contains(k.Want, "string") {
			return invalidRequest(fmt.Sprintf("Proto field is not repeating, cannot start list. Invalid value at '%s'", path))
		}
	}
	switch {
	case text != nil && name != "":
		return invalidRequest(fmt.Sprintf("* GenerateContentRequest.%s%v %q\n", path, text, name))
	case text != nil:
		return invalidRequest(fmt.Sprintf("* GenerateContentRequest.%s%v\n", path, text))
	case name != "":
		return unknownName(path, name)
	}
	return invalidRequest(fmt.Sprintf("Invalid value at '%s' (Schema)", path))
}

// schemaPath spells a place within a schema as the API does, which counts the members of a map:
// .properties[0].value.items.
func schemaPath(schema any, place []string) string {
	var b strings.Builder
	isMap := false // of schemas by name
	for _, step := range place {
		switch node := schema.(type) {
		case []any:
			fmt.Fprintf(&b, "[%s]", step)
		case map[string]any:
			if isMap {
				fmt.Fprintf(&b, "[%d].value", slices.Index(slices.Sorted(maps.Keys(node)), step))
			} else {
				b.WriteString("." + snakeCase(step))
			}
			isMap = !isMap && (step == "properties" || step == "$defs")
		}
		schema, _ = lookupPointer(schema, jsontext.Pointer("").AppendToken(step))
	}
	return b.String()
}

// membersOf returns the members of an object.
func membersOf(v jsontext.Value) (map[string]jsontext.Value, bool) {
	var m map[string]jsontext.Value
	if v.Kind() != '{' || json.Unmarshal(v, &m) != nil {
		return nil, false
	}
	return m, true
}
