package mcpclient

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checker validates values against one schema, any number at once. The work for
// one value is bounded: a schema of 2 KiB whose references fork 30 times would
// otherwise keep a processor busy for hours.
type checker struct {
	schema *jsonschema.Schema // immutable; runs validate against copies of it
	spread bool               // see run
	// spare is a run that nobody uses, or nil. A second check beside one makes a run
	// of its own, which costs less than to compile the schema again.
	spare atomic.Pointer[run]
}

// newChecker takes over a compiled schema whose formats are not asserted. A dynamic
// reference leads where only the validator knows.
func newChecker(s *jsonschema.Schema) (*checker, error) {
	c := &checker{schema: s}
	for part := range allParts(s) {
		if part.DynamicRef != nil || part.RecursiveRef != nil {
			return nil, errors.New("dynamic references are not supported")
		}
		c.spread = c.spread || part.UnevaluatedProperties != nil || part.UnevaluatedItems != nil
	}
	return c, nil
}

// validate returns a *jsonschema.ValidationError, errCostly, ctx's error, or nil.
func (c *checker) validate(ctx context.Context, value any) error {
	r := c.spare.Swap(nil)
	if r == nil {
		r = &run{spread: c.spread}
		r.schema = r.arm(c.schema, map[*jsonschema.Schema]*jsonschema.Schema{})
	}
	err := r.validate(ctx, value)
	c.spare.Store(r)
	return err
}
