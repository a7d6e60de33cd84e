package modelsim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Members of a request. A table of a protocol holds, for each object that is looked into, the names
// that it may have; "[]" stands for every element of an array, and "[type]" for those of that type.
// An object without a row may contain anything: schemas and arguments belong to the caller.

// member is one that stands in a request: its name in the table and as errors show it.
type member struct {
	path, place string
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

// walkMembers returns the members of a request, in order of their names.
//
// path is the name in the table, shown the place with numbers: messages[] and messages[2].
// The order makes the first fault the same in each run.
func walkMembers(table map[string]string, path, shown string, v any) (all []member) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			m := member{joinPath(path, name), joinPath(shown, name), v[name]}
			all = append(all, m)
			if !isCallers(path, name) {
				all = append(all, walkMembers(table, m.path, m.place, m.value)...)
			}
		}
	case []any:
		for i, e := range v {
			all = append(all, walkMembers(table, rowOf(table, path, e), fmt.Sprintf("%s[%d]", shown, i), e)...)
		}
	}
	return all
}

// isCallers reports whether the value of a member is the caller's.
//
// Below such a member nothing is looked into: a schema may have any names.
func isCallers(path, name string) bool {
	return path != "" && name == "input" || slices.Contains([]string{"parameters", "input_schema", "schema", "arguments", "metadata"}, name)
}

// joinPath returns the path of a member within an object. The path of the top is empty.
func joinPath(path, name string) string {
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
	all := walkMembers(t.members, "", "", doc)
	for _, name := range t.refuse {
		name, value, valued := strings.Cut(name, "=")
		for _, m := range all {
			if (m.path == name || strings.HasSuffix(m.path, "."+name)) && (!valued || fmt.Sprint(m.value) == value) {
				return t.refusedMember(m, valued)
			}
		}
	}
	if !t.protocol.strict && t.unknown == 0 {
		return nil
	}
	for _, m := range all {
		if t.knowsMember(m) {
			continue
		}
		e := &refusal{Status: http.StatusBadRequest, Code: "unknown_parameter", Param: m.place, extra: true,
			Message: fmt.Sprintf("Unknown parameter: '%s'.", m.place)}
		if t.unknown != 0 {
			e.Status = t.unknown
		}
		return e
	}
	return nil
}

// knowsMember reports whether the table has m; an object without a row may hold anything.
func (t *turn) knowsMember(m member) bool {
	parent, name := "", m.path
	if i := strings.LastIndexByte(m.path, '.'); i >= 0 {
		parent, name = m.path[:i], m.path[i+1:]
	}
	row, looked := t.members[parent]
	return !looked || slices.Contains(strings.Fields(row), name)
}

// refusedMember is the error for a member, or a value of it, that the model does not take.
//
// It sets isRequested: the test wanted it, so Failures leaves it out.
func (t *turn) refusedMember(m member, valued bool) *refusal {
	e := &refusal{Status: http.StatusBadRequest, Code: "unsupported_parameter", Param: m.place, extra: true, isRequested: true,
		Message: fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", m.place)}
	if t.unknown != 0 {
		e.Status = t.unknown
	}
	if valued {
		e.Code, e.extra = "unsupported_value", false
		e.Message = fmt.Sprintf("Unsupported value: '%s' does not support '%v' with this model.", m.place, m.value)
	}
	return e
}
