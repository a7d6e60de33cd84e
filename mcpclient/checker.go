package mcpclient

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSteps is how much work one validation may be: about the number of times that
// some part of the schema is held against some part of the value. It takes about
// 50 ms; 1,000 items of 10 properties each are 11,000 steps.
const maxSteps = 20_000

// checker validates values against one schema. The work for one value is bounded:
// a schema of 2 KiB whose references fork 30 times would otherwise keep a processor
// busy for hours, and a validation cannot be cancelled.
type checker struct {
	schema *jsonschema.Schema

	mu    sync.Mutex // guards steps, so that one value is validated at a time
	steps int
}

var errCostly = errors.New("validating takes too long")

// newChecker takes over a compiled schema whose formats are not asserted: it puts
// one of its own into each part, which the validator calls before it goes deeper.
func newChecker(s *jsonschema.Schema) (*checker, error) {
	c := &checker{schema: s}
	return c, c.arm(s, map[*jsonschema.Schema]bool{})
}

// arm makes s, and all that it leads to, count. A dynamic reference leads where
// only the validator knows.
func (c *checker) arm(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) error {
	if s == nil || seen[s] {
		return nil
	}
	seen[s] = true
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		return errors.New("dynamic references are not supported")
	}
	cost := 1
	for _, child := range parts(s) {
		if err := c.arm(child, seen); err != nil {
			return err
		}
		if child != nil && child.Enum != nil {
			cost += len(child.Enum.Values) / 16
		}
	}
	s.Format = &jsonschema.Format{Name: "budget", Validate: func(any) error {
		if c.steps += cost; c.steps > maxSteps {
			panic(errCostly)
		}
		return nil
	}}
	return nil
}

// parts returns the schemas that s is made of; some may be nil.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{
		s.Ref, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
		s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	}
	list = slices.Concat(list, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems)
	list = slices.AppendSeq(list, maps.Values(s.Properties))
	list = slices.AppendSeq(list, maps.Values(s.PatternProperties))
	list = slices.AppendSeq(list, maps.Values(s.DependentSchemas))
	loose := []any{s.AdditionalProperties, s.Items, s.AdditionalItems}
	for _, v := range slices.AppendSeq(loose, maps.Values(s.Dependencies)) {
		switch v := v.(type) {
		case *jsonschema.Schema:
			list = append(list, v)
		case []*jsonschema.Schema:
			list = append(list, v...)
		}
	}
	return list
}

// validate returns a *jsonschema.ValidationError, errCostly, or nil.
func (c *checker) validate(value any) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = 0
	defer func() {
		switch p := recover(); p {
		case nil:
		case errCostly:
			err = errCostly
		default:
			panic(p)
		}
	}()
	return c.schema.Validate(value)
}
