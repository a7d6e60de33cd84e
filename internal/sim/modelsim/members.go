package modelsim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Members of a request. A table of a protocol holds, for each object that is looked
// into, the names that it may have; "[]" stands for every element of an array, and
// "[type]" for those of that type. What has no row may hold anything: schemas and
// arguments are the caller's.

// member is one that stands in a request: its name in the table and as errors show it.
type member struct {
	path, shown string
	value       any
}

// rowOf returns the path of an element of an array in the table: messages[text] if there is a row
// for its type, else messages[].
func rowOf(table map[string]string, path string, element any) string {
	node, _ := element.(map[string]any)
	if kind, ok := node["type"].(string); ok && table[path+"["+kind+"]"] != "" {
		return path + "[" + kind + "]"
	}
	return path + "[]"
}

// walk returns the members of a request, in order of their names.
//
// path is the name in the table, shown the place with numbers: messages[] and messages[2].
// The order makes the first fault the same in each run.
func walk(table map[string]string, path, shown string, v any) (all []member) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			m := member{joined(path, name), joined(shown, name), v[name]}
			all = append(all, m)
			if !free(path, name) {
				all = append(all, walk(table, m.path, m.shown, m.value)...)
			}
		}
	case []any:
		for i, e := range v {
			all = append(all, walk(table, rowOf(table, path, e), fmt.Sprintf("%s[%d]", shown, i), e)...)
		}
	}
	return all
}

// free says whether the value of a member is the caller's.
//
// Below such a member nothing is looked into: a schema may have any names.
func free(path, name string) bool {
	return path != "" && name == "input" || slices.Contains([]string{"parameters", "input_schema", "schema", "arguments", "metadata"}, name)
}

// joined is the path of a member within an object; the top has none.
func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// pathSteps cuts tools[0].name into tools, 0, name.
func pathSteps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
}

// checkMembers refuses the first member that the endpoint was asked not to accept, and then,
// where it is strict, the first that it does not know.
//
// doc is the request as plain JSON. A directive refuse may name a value (A=B): then the member
// with other values is accepted.
func (t *turn) checkMembers(doc any) *refusal {
	all := walk(t.members, "", "", doc)
	for _, name := range t.refuse {
		name, value, valued := strings.Cut(name, "=")
		for _, m := range all {
			if (m.path == name || strings.HasSuffix(m.path, "."+name)) && (!valued || fmt.Sprint(m.value) == value) {
				return t.refused(m, valued)
			}
		}
	}
	if !t.protocol.strict && t.unknown == 0 {
		return nil
	}
	for _, m := range all {
		if t.knows(m) {
			continue
		}
		e := &refusal{Status: http.StatusBadRequest, Code: "unknown_parameter", Param: m.shown, extra: true,
			Message: fmt.Sprintf("Unknown parameter: '%s'.", m.shown)}
		if t.unknown != 0 {
			e.Status = t.unknown
		}
		return e
	}
	return nil
}

// knows says whether the table has m; an object without a row may hold anything.
func (t *turn) knows(m member) bool {
	parent, name := "", m.path
	if i := strings.LastIndexByte(m.path, '.'); i >= 0 {
		parent, name = m.path[:i], m.path[i+1:]
	}
	row, looked := t.members[parent]
	return !looked || slices.Contains(strings.Fields(row), name)
}

// refused is the error for a member, or a value of it, that the model does not take.
//
// Its asked is set: the test wanted it, so it is none of Failures.
func (t *turn) refused(m member, valued bool) *refusal {
	e := &refusal{Status: http.StatusBadRequest, Code: "unsupported_parameter", Param: m.shown, extra: true, asked: true,
		Message: fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", m.shown)}
	if t.unknown != 0 {
		e.Status = t.unknown
	}
	if valued {
		e.Code, e.extra = "unsupported_value", false
		e.Message = fmt.Sprintf("Unsupported value: '%s' does not support '%v' with this model.", m.shown, m.value)
	}
	return e
}
