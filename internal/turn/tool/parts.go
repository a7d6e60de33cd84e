package tool

import "github.com/santhosh-tekuri/jsonschema/v6"

// allParts returns s and all that it leads to.
func allParts(s *jsonschema.Schema) map[*jsonschema.Schema]bool {
	seen := map[*jsonschema.Schema]bool{s: true}
	for rest := []*jsonschema.Schema{s}; len(rest) > 0; {
		last := len(rest) - 1
		s, rest = rest[last], rest[:last]
		for _, part := range partsOf(s) {
			if part != nil && !seen[part] {
				seen[part] = true
				rest = append(rest, part)
			}
		}
	}
	return seen
}

// partsOf returns the schemas that s is made of.
func partsOf(s *jsonschema.Schema) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	replaceParts(new(*s), func(part *jsonschema.Schema) *jsonschema.Schema {
		list = append(list, part)
		return part
	}, func(re jsonschema.Regexp) jsonschema.Regexp { return re })
	return list
}

// replaceParts replaces each schema that s is made of, and each pattern. The lists
// and maps that s shares with the schema it was copied from stay as they are.
func replaceParts(s *jsonschema.Schema, part func(*jsonschema.Schema) *jsonschema.Schema, re func(jsonschema.Regexp) jsonschema.Regexp) {
	for _, p := range []**jsonschema.Schema{
		&s.Ref, &s.Not, &s.If, &s.Then, &s.Else, &s.PropertyNames, &s.UnevaluatedProperties,
		&s.Contains, &s.Items2020, &s.UnevaluatedItems, &s.ContentSchema,
	} {
		if *p != nil {
			*p = part(*p)
		}
	}
	for _, list := range []*[]*jsonschema.Schema{&s.AllOf, &s.AnyOf, &s.OneOf, &s.PrefixItems} {
		*list = replaceAll(*list, part)
	}
	loose := func(v any) any {
		switch v := v.(type) {
		case *jsonschema.Schema:
			return part(v)
		case []*jsonschema.Schema:
			return replaceAll(v, part)
		}
		return v
	}
	s.AdditionalProperties, s.Items, s.AdditionalItems = loose(s.AdditionalProperties), loose(s.Items), loose(s.AdditionalItems)
	s.Dependencies = replaceIn(s.Dependencies, loose)
	s.Properties = replaceIn(s.Properties, part)
	s.DependentSchemas = replaceIn(s.DependentSchemas, part)
	if s.Pattern != nil {
		s.Pattern = re(s.Pattern)
	}
	s.PatternProperties = replacePatterns(s.PatternProperties, part, re)
}

func replacePatterns(m map[jsonschema.Regexp]*jsonschema.Schema, part func(*jsonschema.Schema) *jsonschema.Schema, re func(jsonschema.Regexp) jsonschema.Regexp) map[jsonschema.Regexp]*jsonschema.Schema {
	if m == nil {
		return nil
	}
	with := make(map[jsonschema.Regexp]*jsonschema.Schema, len(m))
	for name, p := range m {
		with[re(name)] = part(p)
	}
	return with
}

// replaceAll returns a copy of list with f applied; nil stays nil, because an
// empty list means something else in a schema.
func replaceAll[T any](list []T, f func(T) T) []T {
	if list == nil {
		return nil
	}
	with := make([]T, len(list))
	for i, v := range list {
		with[i] = f(v)
	}
	return with
}

// replaceIn is replaceAll for maps.
func replaceIn[T any](m map[string]T, f func(T) T) map[string]T {
	if m == nil {
		return nil
	}
	with := make(map[string]T, len(m))
	for name, v := range m {
		with[name] = f(v)
	}
	return with
}

// schemasIn returns the schemas in a field of s that may hold one, several, or
// something else.
func schemasIn(v any) []*jsonschema.Schema {
	switch v := v.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{v}
	case []*jsonschema.Schema:
		return v
	}
	return nil
}
