package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"sluice/internal/base/fault"
)

const (
	// maxProblems is how many problems of a call's arguments the model receives.
	maxProblems = 5
	// maxProblem is how many bytes each may have, and maxListed how many names or
	// values are listed in one.
	maxProblem = 160
	maxListed  = 12
)

// Check returns the arguments of the named tool as they go to its server, or {} if the model wrote
// none. A ToolFailed error explains to the model how to correct them.
//
// The check takes a bounded time and ends with ctx, whose error the ToolFailed
// error then wraps. Any number of checks may run at once.
func (s *Schema) Check(ctx context.Context, name string, args jsontext.Value) (jsontext.Value, *fault.Error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = jsontext.Value("{}")
	}
	refuse := func(problems string, err error) (jsontext.Value, *fault.Error) {
		return nil, &fault.Error{
			Type:    fault.ToolFailed,
			Message: name + " was called with arguments that do not fit its schema",
			Hint:    "Invalid arguments for " + name + ": " + problems + ". Correct them and call again.",
			Err:     err,
		}
	}
	value, ok := decodeObject(args)
	if !ok {
		return refuse("they are not one valid JSON object", nil)
	}
	if err := checkShape(value, 1); err != nil {
		return refuse("they cannot be checked, "+err.Error(), err)
	}
	err := s.checkValue(ctx, value)
	if v, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return refuse(listProblems(v), nil)
	}
	switch {
	case errors.Is(err, errCostly):
		return refuse("they are too large to be checked", err)
	case err != nil:
		return refuse("they cannot be checked", err)
	}
	return args, nil
}

// decodeObject decodes one object. It refuses an object with a repeated name.
func decodeObject(args jsontext.Value) (value any, ok bool) {
	if args.Kind() != '{' || !args.IsValid() { // IsValid also refuses a name that appears twice
		return nil, false
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	return value, err == nil
}

// Problem is a place in a value, as a JSON pointer that may be cut, and the rule of the schema that
// is broken there. Neither repeats the value; only names of members may appear.
type Problem struct{ Pointer, Rule string }

// Problems returns the first five faults of a value, by their pointers. The value is in the form of
// jsonschema.UnmarshalJSON. An error means that it cannot be checked: it is nested too deeply, its
// check takes too long, or ctx has ended.
func (s *Schema) Problems(ctx context.Context, value any) ([]Problem, error) {
	if err := checkShape(value, 1); err != nil {
		return nil, err
	}
	err := s.checkValue(ctx, value)
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil, err
	}
	var list []Problem
	for _, leaf := range leafErrors(v, nil) {
		at := strings.TrimSuffix(pointerText(leaf.InstanceLocation), ": ")
		list = append(list, Problem{Clean(at), clipText(Clean(problemText(leaf)), maxProblem)})
	}
	slices.SortFunc(list, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Rule, b.Rule))
	})
	list = slices.Compact(list)
	return list[:min(len(list), maxProblems)], nil
}

// maxArgumentDepth is how deep arguments may be nested. Each problem that the
// validator finds keeps its whole address.
const maxArgumentDepth = 128

var (
	errDeep   = errors.New("as they are nested too deeply")
	errNumber = errors.New("as a number in them is too large")
)

// checkShape returns an error if the validator cannot check a value. It leads no deeper than
// maxArgumentDepth.
func checkShape(v any, depth int) error {
	if depth > maxArgumentDepth {
		return errDeep
	}
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if err := checkShape(member, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := checkShape(item, depth+1); err != nil {
				return err
			}
		}
	case json.Number:
		if !isModest(v.String()) {
			return errNumber
		}
	}
	return nil
}

// listProblems returns the faults in alphabetical order. The validator visits an object's members
// in any order, and equal calls must get equal answers.
func listProblems(e *jsonschema.ValidationError) string {
	var list []string
	seen := map[string]bool{}
	for _, leaf := range leafErrors(e, nil) {
		p := clipText(Clean(pointerText(leaf.InstanceLocation)+problemText(leaf)), maxProblem)
		if !seen[p] {
			seen[p] = true
			list = append(list, p)
		}
	}
	slices.Sort(list)
	if more := len(list) - maxProblems; more > 0 {
		list = append(list[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}

// leafErrors returns the errors that name a fault: those without causes, and anyOf and oneOf,
// because each of their causes describes only one branch.
func leafErrors(e *jsonschema.ValidationError, found []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return append(found, e)
	}
	if len(e.Causes) == 0 {
		return append(found, e)
	}
	for _, cause := range e.Causes {
		found = leafErrors(cause, found)
	}
	return found
}

// pointerText is where a problem is, as a JSON pointer with a colon behind it, cut
// to half of a problem's length. Empty: the whole value.
func pointerText(location []string) string {
	if len(location) == 0 {
		return ""
	}
	var sb strings.Builder
	for _, token := range location {
		if sb.Len() > maxProblem {
			break // it is clipped below
		}
		sb.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1"))
	}
	return clipText(sb.String(), maxProblem/2) + ": "
}

// problemText describes a fault in terms of the schema. It does not repeat the value, which the
// model wrote.
func problemText(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("got %s, want %s", k.Got, strings.Join(k.Want, " or "))
	case *kind.Required:
		return "missing required " + quoteNames(k.Missing)
	case *kind.AdditionalProperties:
		return "unknown " + quoteNames(slices.Sorted(slices.Values(k.Properties)))
	case *kind.Enum:
		return "must be one of " + quoteValues(k.Want)
	case *kind.Const:
		return "must be " + quoteValues([]any{k.Want})
	case *kind.AnyOf, *kind.OneOf:
		return alternativesText(e)
	case *kind.Pattern:
		return "must match " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("has %d characters, at least %d wanted", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters, at most %d allowed", k.Got, k.Want)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	}
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		return "does not satisfy " + path[len(path)-1]
	}
	return "is not allowed"
}

// alternativesText reports a value that fits no branch. If all branches only want another type, as
// for an optional value (string or null), that is said.
func alternativesText(e *jsonschema.ValidationError) string {
	if len(e.Causes) == 0 {
		return "fits more than one form, where only one is allowed"
	}
	var got string
	var want []string
	for _, leaf := range leafErrors(&jsonschema.ValidationError{ErrorKind: &kind.Group{}, Causes: e.Causes}, nil) {
		k, ok := leaf.ErrorKind.(*kind.Type)
		if !ok || len(leaf.InstanceLocation) != len(e.InstanceLocation) {
			return "fits none of the allowed forms"
		}
		got = k.Got
		want = append(want, k.Want...)
	}
	return fmt.Sprintf("got %s, want %s", got, strings.Join(want, " or "))
}

// quoteNames lists names, at most maxListed of them, each cut: they come from a
// schema or from a model.
func quoteNames(names []string) string {
	list := make([]string, 0, maxListed)
	for i, name := range names {
		if i == maxListed {
			list = append(list, "…")
			break
		}
		list = append(list, fmt.Sprintf("%q", clipText(name, 64)))
	}
	return strings.Join(list, ", ")
}

// quoteValues lists the values that a schema allows.
func quoteValues(want []any) string {
	names := make([]string, len(want))
	for i, v := range want {
		names[i] = fmt.Sprint(v)
	}
	return quoteNames(names)
}
