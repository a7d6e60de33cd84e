package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	rule "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schemaURL is the address that the schema is compiled under. Nothing is there.
const schemaURL = "sluice:///config.schema.json"

// Schema returns the JSON Schema of the whole file. Read checks a file by it.
func (t Table) Schema() []byte {
	b := []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Sluice configuration file","type":"object","additionalProperties":false,"properties":{`)
	for i, s := range t {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, s.Name) // a constant
		b = append(b, ':')
		b = append(b, s.Schema...)
	}
	text := jsontext.Value(append(b, "}}"...))
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		panic("config/file: a section's schema is not JSON: " + err.Error())
	}
	return append(text, '\n')
}

// compileSchema panics at an invalid schema: it is part of the program.
func (t Table) compileSchema() (doc any, s *jsonschema.Schema) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(t.Schema()))
	if err == nil {
		c := jsonschema.NewCompiler()
		c.DefaultDraft(jsonschema.Draft2020)
		c.UseLoader(refuseAll{})
		if err = c.AddResource(schemaURL, doc); err == nil {
			s, err = c.Compile(schemaURL)
		}
	}
	if err != nil {
		panic("config/file: the schema does not compile: " + err.Error())
	}
	return doc, s
}

// refuseAll is the loader of a compiler that must not load: its default one opens files.
type refuseAll struct{}

// Load refuses every reference: sections are composed in memory, and nothing is
// fetched.
func (refuseAll) Load(string) (any, error) {
	return nil, errors.New("references out of the schema are not followed")
}

// neededFor returns the table with true for the schema of each section that the file does not have
// and no section refers to. Compiling schemas takes most of the time of a Read.
func (t Table) neededFor(root *Node) Table {
	needed := slices.Clone(t)
	for i, s := range t {
		refers := func(other Section) bool {
			return other.Name != s.Name && strings.Contains(other.Schema, `"#/properties/`+s.Name)
		}
		if !root.Has(s.Name) && !slices.ContainsFunc(t, refers) {
			needed[i].Schema = "true"
		}
	}
	return needed
}

// checkSchema reports the faults that the schema finds in the file.
func (t Table) checkSchema(root *Node) {
	doc, schema := t.neededFor(root).compileSchema()
	if err, ok := errors.AsType[*jsonschema.ValidationError](schema.Validate(root.plainValue())); ok {
		(&judgement{root: root, schema: doc}).addError(err)
	}
}

// judgement turns a validator's errors into faults at their places, in our words: its
// own repeat values.
type judgement struct {
	root   *Node
	schema any
}

// addError makes faults of an error of the validator's, each at the node that it is
// about. Errors that only say that another one is there are passed over.
func (j *judgement) addError(e *jsonschema.ValidationError) {
	at := j.root.nodeAt(e.InstanceLocation)
	if at == nil {
		at = j.root
	}
	switch k := e.ErrorKind.(type) {
	case *rule.AdditionalProperties:
		for _, name := range k.Properties {
			if m := at.Get(name); m != nil {
				m.FaultKey(unknownKey(name, j.propertyNames(e.SchemaURL)))
			}
		}
		return
	case *rule.Required:
		for _, name := range k.Missing {
			at.FaultMissing(name, "is required")
		}
		return
	case *rule.PropertyNames:
		for _, object := range objectsOf(j.root, e.SchemaURL) {
			if m := object.Get(k.Property); m != nil && len(e.Causes) > 0 {
				m.FaultKey(j.faultText(e.Causes[0]))
			}
		}
		return
	}
	if len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			j.addError(cause)
		}
		return
	}
	if !at.faulty { // a variable that is not set, for one, says enough
		at.Fault(j.faultText(e))
	}
}

// objectsOf returns the objects whose names the schema at url is about, on the way that
// the URL takes. The error's own location cannot be relied on: it shares memory with
// those of its neighbours (jsonschema v6.0.3, validator.go, propertyNames).
func objectsOf(root *Node, url string) []*Node {
	_, pointer, _ := strings.Cut(url, "#")
	tokens := slices.Collect(jsontext.Pointer(pointer).Tokens())
	nodes := []*Node{root}
	for i := 0; i < len(tokens); i++ {
		var inner []*Node
		switch tokens[i] {
		case "properties":
			i++
			for _, n := range nodes {
				inner = append(inner, n.Get(tokens[i]))
			}
		case "additionalProperties", "items":
			for _, n := range nodes {
				inner = slices.AppendSeq(inner, n.Members())
			}
		default: // propertyNames, or a choice between schemas of the same value
			continue
		}
		nodes = slices.DeleteFunc(inner, func(n *Node) bool { return n == nil })
	}
	return nodes
}

// faultText states the rule that the value breaks.
func (j *judgement) faultText(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *rule.Type:
		return "must be " + typeNames(k.Want)
	case *rule.Enum:
		return "must be one of " + joinValues(k.Want)
	case *rule.Const:
		return "must be " + joinValues([]any{k.Want})
	case *rule.Minimum, *rule.Maximum, *rule.ExclusiveMinimum, *rule.ExclusiveMaximum:
		return j.boundsText(e.SchemaURL)
	case *rule.MinLength:
		if k.Got == 0 || k.Want == 1 {
			return "must not be empty"
		}
		return fmt.Sprintf("must have %d characters or more", k.Want)
	case *rule.MaxLength:
		return fmt.Sprintf("must not be longer than %d characters", k.Want)
	case *rule.MinItems:
		return fmt.Sprintf("must have %d or more items", k.Want)
	case *rule.MaxItems:
		return fmt.Sprintf("must not have more than %d items", k.Want)
	case *rule.MinProperties:
		return fmt.Sprintf("must have %d or more keys", k.Want)
	case *rule.MaxProperties:
		return fmt.Sprintf("must not have more than %d keys", k.Want)
	case *rule.UniqueItems:
		return "must not name one item twice"
	case *rule.Pattern:
		return j.patternWords(e.SchemaURL, "is not of the form that is asked for")
	}
	return "is not what is asked for here"
}

// boundsText reports both bounds of a number, though one was broken.
func (j *judgement) boundsText(url string) string {
	schema, _ := j.partAt(url).(map[string]any)
	lowest, low := schema["minimum"].(json.Number)
	highest, high := schema["maximum"].(json.Number)
	switch {
	case low && high:
		return fmt.Sprintf("must be from %s to %s", lowest, highest)
	case low:
		return fmt.Sprintf("must be %s or more", lowest)
	}
	return fmt.Sprintf("must be %s or less", highest)
}

// patternWords returns the schema's explanation of its pattern, because an expression alone does
// not help people.
func (j *judgement) patternWords(url, otherwise string) string {
	schema, _ := j.partAt(url).(map[string]any)
	if words, ok := schema["patternErrorMessage"].(string); ok {
		return words
	}
	return otherwise
}

// propertyNames returns the keys that an object may have by the schema at url.
func (j *judgement) propertyNames(url string) []string {
	schema, _ := j.partAt(url).(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	return names
}

// partAt returns the part of the schema that a validator's URL names.
func (j *judgement) partAt(url string) any {
	_, pointer, _ := strings.Cut(url, "#")
	part := j.schema
	for token := range jsontext.Pointer(pointer).Tokens() {
		object, _ := part.(map[string]any)
		part = object[token]
	}
	return part
}

// typeNames says in words which types are allowed.
func typeNames(types []string) string {
	words := map[string]string{
		"object": "an object", "array": "a list", "string": "a string", "number": "a number",
		"integer": "a whole number", "boolean": "true or false", "null": "null",
	}
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = words[t]
	}
	return strings.Join(list, " or ")
}

// joinValues joins the allowed values.
func joinValues(values []any) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = fmt.Sprint(v)
	}
	return strings.Join(list, ", ")
}
