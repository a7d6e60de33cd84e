package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxMends is how often the faults that one compilation reports are taken out of a schema.
const maxMends = 8

// CompileLenient compiles the usable part of a schema. A null counts as absent, and an unusable
// keyword goes alone. It also returns the compiled text: raw, if every part is usable.
// Without a schema any object fits.
func CompileLenient(raw jsontext.Value, room int) (s *Schema, used jsontext.Value, work int, err error) {
	if used = raw; len(raw) == 0 || raw.Kind() == 'n' {
		used = jsontext.Value(`{"type":"object"}`)
	}
	if measureSchema(used) == nil {
		used = tidySchema(used)
	}
	for range maxMends {
		var more int
		s, more, err = Compile(used, room-work)
		work += more
		if err == nil || errors.Is(err, ErrNoRoom) {
			break
		}
		mended := withoutFaults(used, err)
		if mended == nil {
			break
		}
		used = mended
	}
	return s, used, work, err
}

// tidySchema returns a schema without nulls, and with a type that Compile takes for an object's.
func tidySchema(raw jsontext.Value) jsontext.Value {
	root, ok := decodeSchema(raw)
	if !ok {
		return raw
	}
	changed := bytes.Contains(raw, []byte("null")) && dropNulls(root)
	switch t := root["type"].(type) {
	case string:
		if !slices.Contains(schemaTypes, t) {
			delete(root, "type")
			changed = true
		}
	case []any:
		if slices.Contains(t, any("object")) {
			root["type"] = "object"
			changed = true
		}
	case nil:
	default:
		delete(root, "type")
		changed = true
	}
	if !changed {
		return raw
	}
	return encodeSchema(root)
}

// schemaTypes are the values of "type".
var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// decodeSchema reads a schema. It returns false if raw is not an object.
func decodeSchema(raw jsontext.Value) (map[string]any, bool) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	root, ok := doc.(map[string]any)
	return root, err == nil && ok
}

// encodeSchema is the reverse of decodeSchema.
func encodeSchema(root map[string]any) jsontext.Value {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if enc.Encode(root) != nil {
		return nil
	}
	return bytes.TrimSpace(text.Bytes())
}

// dropNulls removes the members of a schema that are null, at every depth, and reports whether
// there was one. Values that are data stay: a default of null is one.
func dropNulls(schema map[string]any) (dropped bool) {
	for name, value := range schema {
		switch v := value.(type) {
		case nil:
			if name != "default" && name != "const" {
				delete(schema, name)
				dropped = true
			}
		case map[string]any:
			switch name {
			case "default", "const", "enum", "examples":
			case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
				dropped = dropNullsOfEach(v) || dropped
			default:
				dropped = dropNulls(v) || dropped
			}
		case []any:
			if name == "default" || name == "const" || name == "enum" || name == "examples" {
				continue
			}
			if kept, less := withoutNulls(v); less {
				dropped = true
				if schema[name] = kept; len(kept) == 0 {
					delete(schema, name)
				}
			}
		}
	}
	return dropped
}

// dropNullsOfEach is dropNulls for a map of schemas by name.
func dropNullsOfEach(schemas map[string]any) (dropped bool) {
	for name, value := range schemas {
		if value == nil {
			delete(schemas, name)
			dropped = true
		} else if schema, ok := value.(map[string]any); ok {
			dropped = dropNulls(schema) || dropped
		}
	}
	return dropped
}

// withoutNulls returns a list without nulls, in the schemas in it too, and reports whether there
// was one.
func withoutNulls(list []any) (kept []any, dropped bool) {
	for _, item := range list {
		if item == nil {
			dropped = true
			continue
		}
		if schema, ok := item.(map[string]any); ok {
			dropped = dropNulls(schema) || dropped
		}
		kept = append(kept, item)
	}
	return kept, dropped
}

// withoutFaults returns a schema without the keywords that err says cannot be used, or nil if it
// names no such keyword.
func withoutFaults(raw jsontext.Value, err error) jsontext.Value {
	root, ok := decodeSchema(raw)
	if !ok {
		return nil
	}
	removed := false
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if faults, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			for _, place := range faultyPlaces(faults) {
				removed = removeKeyword(root, place) || removed
			}
		}
	} else {
		removed = removeUnreachable(root, err)
	}
	if !removed {
		return nil
	}
	return encodeSchema(root)
}

// faultyPlaces returns where the innermost faults are.
func faultyPlaces(fault *jsonschema.ValidationError) (places [][]string) {
	for _, cause := range fault.Causes {
		places = append(places, faultyPlaces(cause)...)
	}
	if len(places) == 0 {
		places = append(places, fault.InstanceLocation)
	}
	return places
}

// removeKeyword removes the member of a schema that place leads to: for an element of a list, the
// list. It reports whether something was removed.
func removeKeyword(root map[string]any, place []string) bool {
	var owner map[string]any
	var keyword string
	var at any = root
	for _, step := range place {
		switch v := at.(type) {
		case map[string]any:
			owner, keyword, at = v, step, v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return false
			}
			at = v[i]
		default:
			return false
		}
	}
	if _, ok := owner[keyword]; !ok {
		return false
	}
	delete(owner, keyword)
	return true
}

// removeUnreachable removes from a schema the dialect that err says is unknown, or each reference
// to the missing part of the schema. It reports whether there was one. A reference to
// another document stays a fault, because the gateway fetches nothing.
func removeUnreachable(root map[string]any, err error) bool {
	if e, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		dialect, _ := root["$schema"].(string)
		if dialect == "" || strings.TrimSuffix(dialect, "#") != strings.TrimSuffix(e.URL, "#") {
			return false
		}
		delete(root, "$schema")
		return true
	}
	if e, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return removeReferences(root, e.URL)
	}
	if e, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return removeReferences(root, e.Reference)
	}
	return false
}

// removeReferences removes each reference to a part of the same schema from a value. target is
// the whole address of the part. It reports whether there was one.
func removeReferences(v any, target string) (removed bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			text, _ := member.(string)
			if name == "$ref" && strings.HasPrefix(text, "#") && strings.HasSuffix(target, text) {
				delete(v, name)
				removed = true
				continue
			}
			removed = removeReferences(member, target) || removed
		}
	case []any:
		for _, item := range v {
			removed = removeReferences(item, target) || removed
		}
	}
	return removed
}
