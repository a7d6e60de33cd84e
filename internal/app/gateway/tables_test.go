// This file writes the tables of the documents that say what can be set.

package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
)

// fragment is what a document says about a part of a schema.
type fragment struct {
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Type        jsontext.Value   `json:"type"`
	Enum        []jsontext.Value `json:"enum"`
	Const       jsontext.Value   `json:"const"`
	Minimum     jsontext.Value   `json:"minimum"`
	Maximum     jsontext.Value   `json:"maximum"`
	MaxItems    jsontext.Value   `json:"maxItems"`
	Items       *fragment        `json:"items"`
	Properties  jsontext.Value   `json:"properties"`
	Additional  jsontext.Value   `json:"additionalProperties"`
	Required    []string         `json:"required"`
}

// settingsTable writes the table of what can be set, a row a variable. Settings name
// documents as the repository does; the table lies among them.
func settingsTable(w io.Writer, t config.Table) {
	fmt.Fprint(w, "| variable | default | values | meaning |\n| --- | --- | --- | --- |\n")
	for _, section := range t {
		for _, s := range section.Settings {
			fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", s.Variable, s.DefaultShown(), s.Values, strings.ReplaceAll(s.Meaning, "](docs/", "]("))
		}
	}
}

// fileTables writes what the schema says: a table a section, a row a key. It panics at a
// schema that is none: it is part of the program.
func fileTables(w io.Writer, t file.Table) {
	for i, s := range t {
		f := fragmentOf(jsontext.Value(s.Schema))
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "## `%s`\n\n%s\n\n", s.Name, prose(f.Description))
		path := s.Name
		if f.Additional.Kind() == '{' { // a map of names
			path += ".<name>"
			f = fragmentOf(f.Additional)
		}
		fmt.Fprintf(w, "| `%s` | values | meaning |\n| --- | --- | --- |\n", path)
		rows(w, "", f)
	}
}

// rows writes a row a property, and those of objects within it and of the items of lists
// below, with their path in front.
func rows(w io.Writer, before string, of fragment) {
	for _, p := range properties(of.Properties) {
		meaning := prose(p.Title)
		if p.Description != "" {
			meaning += ". " + prose(p.Description)
		}
		if slices.Contains(of.Required, p.name) {
			meaning += " Required."
		}
		fmt.Fprintf(w, "| `%s%s` | %s | %s |\n", before, p.name, p.values(), meaning)
		rows(w, before+p.name+".", p.fragment)
		if p.Items != nil {
			rows(w, before+p.name+"[].", *p.Items)
		}
	}
}

// property is a member of an object, in the order of the schema.
type property struct {
	name string
	fragment
}

// properties lists an object's properties in the order of the schema, which is
// the one in which people should read them; a map would lose it.
func properties(object jsontext.Value) (list []property) {
	if object.Kind() != '{' {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(object))
	d.ReadToken() // {
	for d.PeekKind() == '"' {
		token, _ := d.ReadToken()
		name := token.String()
		value, _ := d.ReadValue()
		list = append(list, property{name, fragmentOf(value)})
	}
	return list
}

// fragmentOf reads the part of a schema that tables are made of. A schema that
// is not valid is a mistake of its package's, found by any test that starts.
func fragmentOf(schema jsontext.Value) (f fragment) {
	if err := json.Unmarshal(schema, &f); err != nil {
		panic("config/file: a section's schema: " + err.Error())
	}
	return f
}

// values says what a key takes, in a few words.
func (f fragment) values() string {
	if len(f.Enum) > 0 {
		var words []string
		for _, v := range f.Enum {
			words = append(words, "`"+strings.Trim(string(v), `"`)+"`")
		}
		return strings.Join(words, ", ")
	}
	if f.Const != nil {
		return "`" + strings.Trim(string(f.Const), `"`) + "`"
	}
	var types []string
	if f.Type.Kind() == '"' {
		types = []string{strings.Trim(string(f.Type), `"`)}
	} else if f.Type != nil {
		_ = json.Unmarshal(f.Type, &types) // the schema compiles
	}
	for i, name := range types {
		types[i] = f.typeWords(name)
	}
	return strings.Join(types, ", or ")
}

// typeWords says in words what a value must be, with its bounds.
func (f fragment) typeWords(name string) string {
	bounds := ""
	if f.Minimum != nil && f.Maximum != nil {
		bounds = fmt.Sprintf(", %s to %s", f.Minimum, f.Maximum)
	}
	switch name {
	case "string":
		return "text"
	case "integer":
		return "whole number" + bounds
	case "number":
		return "number" + bounds
	case "boolean":
		return "`true`, `false`"
	case "null":
		return "`null`"
	case "array":
		most := ""
		if f.MaxItems != nil {
			most = fmt.Sprintf("up to %s ", f.MaxItems)
		}
		if f.Items == nil {
			return "list"
		}
		return "list of " + most + strings.NewReplacer("text", "texts", "object", "objects").Replace(f.Items.values())
	}
	return name
}

// prose makes a description fit for a cell.
func prose(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`, "_", `\_`).Replace(text)
}
