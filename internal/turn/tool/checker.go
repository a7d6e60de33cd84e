package tool

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is the compiled schema of a tool's arguments; Compile makes one. It checks
// any number of values at once. The work for one value is bounded: a schema of 2 KiB
// whose references fork 30 times would otherwise keep a processor busy for hours.
type Schema struct {
	compiled *jsonschema.Schema // immutable; runs validate against copies of it
	spread   bool               // see run
	// spare is a run that nobody uses, or nil. A second check at the same time makes a run of
	// its own, which costs less than to compile the schema again.
	spare atomic.Pointer[run]
}

// newSchema takes over a compiled schema whose formats are not asserted. A dynamic
// reference leads where only the validator knows.
func newSchema(compiled *jsonschema.Schema) (*Schema, error) {
	s := &Schema{compiled: compiled}
	for part := range allParts(compiled) {
		if part.DynamicRef != nil || part.RecursiveRef != nil {
			return nil, errors.New("dynamic references are not supported")
		}
		s.spread = s.spread || part.UnevaluatedProperties != nil || part.UnevaluatedItems != nil
	}
	return s, nil
}

// checkValue returns a *jsonschema.ValidationError, errCostly, ctx's error, or nil.
func (s *Schema) checkValue(ctx context.Context, value any) error {
	r := s.spare.Swap(nil)
	if r == nil {
		r = &run{spread: s.spread}
		r.schema = r.armSchema(s.compiled, map[*jsonschema.Schema]*jsonschema.Schema{})
	}
	err := r.runCheck(ctx, value)
	s.spare.Store(r)
	return err
}
