package model

import (
	"bytes"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxFitDepth bounds how deep a schema is looked through. Deeper schemas stay unchanged.
const maxFitDepth = 64

// fitSchema returns a tool's schema in which each array has items, because providers refuse an
// array without them. With keys the names of properties fit as well; sent has the names of those
// that were changed. A schema that fits already stays as it is, byte for byte.
func fitSchema(schema jsontext.Value, keys bool) (fitted jsontext.Value, sent propertyNames) {
	f := schemaFitter{}
	if keys {
		f.names = propertyNames{}
		used := map[string]bool{}
		f.collectNames(schema, used, 0)
		f.chooseNames(used)
	}
	return f.fitNode(schema, 0), f.names
}

// propertyNames are the names under which properties of a tool are sent, by the server's. A name is
// sent the same way wherever it stands, and no property of the tool has it otherwise.
type propertyNames map[string]string

// schemaFitter makes one schema fit.
type schemaFitter struct{ names propertyNames }

// Kinds of values that the members of a schema hold.
const (
	holdsSchema  = iota + 1 // a schema, or a list of schemas
	holdsNamed              // schemas by names of properties
	holdsSchemas            // schemas by other names
	holdsNames              // names of properties
	holdsLists              // names of properties, or schemas, by names of properties
)

// schemaMembers are the members of a schema that contain schemas or names of properties.
var schemaMembers = map[string]int{
	"items": holdsSchema, "prefixItems": holdsSchema, "additionalItems": holdsSchema, "unevaluatedItems": holdsSchema, "contains": holdsSchema,
	"additionalProperties": holdsSchema, "unevaluatedProperties": holdsSchema, "propertyNames": holdsSchema,
	"anyOf": holdsSchema, "oneOf": holdsSchema, "allOf": holdsSchema, "not": holdsSchema, "if": holdsSchema, "then": holdsSchema, "else": holdsSchema,
	"properties": holdsNamed, "dependentSchemas": holdsNamed,
	"patternProperties": holdsSchemas, "$defs": holdsSchemas, "definitions": holdsSchemas,
	"required": holdsNames, "dependentRequired": holdsLists, "dependencies": holdsLists,
}

// collectNames collects the names of all properties below v. Names that fit go to used, the others
// to f.names.
func (f *schemaFitter) collectNames(v jsontext.Value, used map[string]bool, depth int) {
	if depth > maxFitDepth {
		return
	}
	for _, el := range Elements(v) {
		f.collectNames(el, used, depth+1)
	}
	for _, m := range Members(v) {
		switch schemaMembers[m.Name] {
		case holdsSchema:
			f.collectNames(m.Value, used, depth+1)
		case holdsNamed, holdsSchemas, holdsLists:
			for _, p := range Members(m.Value) {
				if schemaMembers[m.Name] != holdsSchemas {
					f.addName(p.Name, used)
				}
				f.collectNames(p.Value, used, depth+1)
			}
		case holdsNames:
			for _, name := range Strings(m.Value) {
				f.addName(name, used)
			}
		}
	}
}

// addName adds the name of a property.
func (f *schemaFitter) addName(name string, used map[string]bool) {
	if fitsKey(name) {
		used[name] = true
	} else {
		f.names[name] = ""
	}
}

// chooseNames gives each name that does not fit an unused name, always in the same order.
func (f *schemaFitter) chooseNames(used map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(f.names)) {
		f.names[name] = unusedName(replaceOthers(name, keyCharacters), used)
	}
}

// keyCharacters are those that Messages takes in the name of a property.
const keyCharacters = alphanumeric + "_.-"

// fitsKey reports whether Messages takes a name as that of a property.
func fitsKey(name string) bool {
	return name != "" && len(name) <= maxName && strings.Trim(name, keyCharacters) == ""
}

// sentName returns the name of a property in requests.
func (f *schemaFitter) sentName(name string) string {
	if sent := f.names[name]; sent != "" {
		return sent
	}
	return name
}

// fitNode returns a schema, or a list of schemas, made to fit.
func (f *schemaFitter) fitNode(v jsontext.Value, depth int) jsontext.Value {
	if depth > maxFitDepth {
		return v
	}
	if v.Kind() == '[' {
		return replaceElements(v, func(el jsontext.Value) jsontext.Value { return f.fitNode(el, depth+1) })
	}
	o, changed := Members(v), false
	for i := range o {
		if value := f.fitMember(o[i], depth+1); !bytes.Equal(value, o[i].Value) {
			o[i].Value, changed = value, true
		}
	}
	if isArraySchema(o) {
		if k := o.Get("items").Kind(); k != '{' && k != '[' && k != 'f' {
			o.Set("items", jsontext.Value(`{}`))
			changed = true
		}
	}
	if !changed {
		return v
	}
	return o.JSON()
}

// isArraySchema reports whether the type of a schema names arrays.
func isArraySchema(o Object) bool {
	typ := o.Get("type")
	return Unquote(typ) == "array" || slices.Contains(Strings(typ), "array")
}

// replaceElements returns a list with each element as replace returns it. A list without a change
// stays as it is, byte for byte.
func replaceElements(list jsontext.Value, replace func(jsontext.Value) jsontext.Value) jsontext.Value {
	b, changed := jsontext.Value{'['}, false
	for i, el := range Elements(list) {
		if i > 0 {
			b = append(b, ',')
		}
		value := replace(el)
		changed = changed || !bytes.Equal(value, el)
		b = append(b, value...)
	}
	if !changed {
		return list
	}
	return append(b, ']')
}

// fitMember returns the value of a member of a schema, made to fit.
func (f *schemaFitter) fitMember(m Member, depth int) jsontext.Value {
	switch holds := schemaMembers[m.Name]; holds {
	case holdsSchema:
		return f.fitNode(m.Value, depth)
	case holdsNames:
		return f.fitStrings(m.Value)
	case holdsNamed, holdsSchemas, holdsLists:
		return f.fitMembers(m.Value, holds, depth)
	}
	if m.Name == "$ref" && len(f.names) > 0 && m.Value.Kind() == '"' {
		return f.fitRef(m.Value)
	}
	return m.Value
}

// fitMembers returns an object of schemas, made to fit.
func (f *schemaFitter) fitMembers(v jsontext.Value, holds, depth int) jsontext.Value {
	o, changed := Members(v), false
	for i := range o {
		value := o[i].Value
		if holds == holdsLists && value.Kind() == '[' {
			value = f.fitStrings(value)
		} else {
			value = f.fitNode(value, depth+1)
		}
		name := o[i].Name
		if holds != holdsSchemas {
			name = f.sentName(name)
		}
		changed = changed || name != o[i].Name || !bytes.Equal(value, o[i].Value)
		o[i] = Member{name, value}
	}
	if !changed {
		return v
	}
	return o.JSON()
}

// fitStrings returns a list of names of properties as they are sent.
func (f *schemaFitter) fitStrings(v jsontext.Value) jsontext.Value {
	list := Strings(v)
	if !slices.ContainsFunc(list, func(name string) bool { return f.sentName(name) != name }) {
		return v
	}
	for i := range list {
		list[i] = f.sentName(list[i])
	}
	return stringArray(list)
}

// fitRef replaces the names of properties in a reference by their names in requests.
func (f *schemaFitter) fitRef(v jsontext.Value) jsontext.Value {
	fragment, err := url.PathUnescape(Unquote(v))
	path, local := strings.CutPrefix(fragment, "#/")
	if err != nil || !local {
		return v
	}
	tokens, changed := strings.Split(path, "/"), false
	for i := 1; i < len(tokens); i++ {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[i])
		if tokens[i-1] == "properties" && f.sentName(name) != name {
			tokens[i], changed = f.sentName(name), true
		}
	}
	if !changed {
		return v
	}
	return AppendString(nil, "#/"+strings.Join(tokens, "/"))
}

// renameMembers returns arguments in which members have other names, at every depth. Arguments without
// such a member stay as they are, byte for byte.
func renameMembers(args jsontext.Value, names map[string]string, depth int) jsontext.Value {
	if len(names) == 0 || depth > maxFitDepth {
		return args
	}
	switch args.Kind() {
	case '{':
		o, changed := Members(args), false
		for i := range o {
			name, value := o[i].Name, renameMembers(o[i].Value, names, depth+1)
			if other, ok := names[name]; ok {
				name = other
			}
			changed = changed || name != o[i].Name || !bytes.Equal(value, o[i].Value)
			o[i] = Member{name, value}
		}
		if changed {
			return o.JSON()
		}
	case '[':
		return replaceElements(args, func(el jsontext.Value) jsontext.Value { return renameMembers(el, names, depth+1) })
	}
	return args
}
