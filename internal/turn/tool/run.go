package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Work is counted in units of about 0.15 µs.
const (
	// maxWork is the work of one check: about 20,000 times a part of the schema against a part of
	// the value, or 50 ms. 1,000 items of 10 properties each are 11,000 times. A check of patterns
	// alone can take 250 ms, but most texts match faster than this bound.
	maxWork = 320_000
	// watchEvery is after how much work the context is looked at.
	watchEvery = 4_096
	// matchUnit is how many instructions times characters of a pattern are one unit.
	matchUnit = 100
	// maxBlindMatch is up to how many instructions times characters a text is matched
	// at a stroke, within half a millisecond. A larger one is watched meanwhile.
	maxBlindMatch = 1 << 16
)

var errCostly = errors.New("validating takes too long")

// run is a copy of a tool's schema that counts what validating costs. It serves
// one check at a time.
type run struct {
	schema *jsonschema.Schema
	// spread is true if a part needs the properties or items that other parts left unevaluated.
	// Then each part visits all members of an object.
	spread bool

	// The fields below are of the check under way. The validator, which knows of no context, calls
	// methods of the run, and those end it with a panic.
	ctx   context.Context
	work  int
	watch int // when ctx is looked at next
}

// stop is the panic value by which a run ends the validator.
type stop struct{ err error }

// spendWork counts n units of work.
func (r *run) spendWork(n int) {
	r.work += n
	if r.work < r.watch {
		return
	}
	if r.work > maxWork {
		panic(stop{errCostly})
	}
	if err := r.ctx.Err(); err != nil {
		panic(stop{err})
	}
	r.watch = r.work + watchEvery
}

// runCheck returns a *jsonschema.ValidationError, errCostly, ctx's error, another one
// if the validator fails, or nil.
func (r *run) runCheck(ctx context.Context, value any) (err error) {
	r.ctx, r.work, r.watch = ctx, 0, watchEvery
	defer func() {
		r.ctx = nil
		p := recover()
		if p == nil {
			return
		}
		if s, ok := p.(stop); ok {
			err = s.err
			return
		}
		err = fmt.Errorf("the validator panicked: %v", p) // it costs this call, not the turn
	}()
	return r.schema.Validate(value)
}

// armSchema copies s, and all that it leads to, into a schema that counts for r. It adds a format
// to each part, because the validator calls the format before it goes deeper. Formats themselves
// are not asserted. copies holds the parts that are copied already.
func (r *run) armSchema(s *jsonschema.Schema, copies map[*jsonschema.Schema]*jsonschema.Schema) *jsonschema.Schema {
	if armed := copies[s]; armed != nil {
		return armed
	}
	armed := new(*s)
	copies[s] = armed
	price := priceOf(s)
	replaceParts(armed, func(part *jsonschema.Schema) *jsonschema.Schema { return r.armSchema(part, copies) }, r.withCounting)
	armed.Format = &jsonschema.Format{Name: "budget", Validate: func(v any) error {
		r.spendWork(price.priceFor(v, r))
		return nil
	}}
	return armed
}

// withCounting returns re with its matches counted for r.
func (r *run) withCounting(re jsonschema.Regexp) jsonschema.Regexp {
	if p, ok := re.(*pattern); ok {
		return &countedPattern{p, r}
	}
	return re
}

// countedPattern is a pattern in a run.
type countedPattern struct {
	*pattern
	run *run
}

// MatchString implements jsonschema.Regexp.
func (p *countedPattern) MatchString(s string) bool {
	work := p.size * len(s)
	if work <= maxBlindMatch {
		p.run.spendWork(1 + work/matchUnit)
		return p.re.MatchString(s)
	}
	return p.re.MatchReader(&watchedText{Reader: strings.NewReader(s), pattern: p})
}

// watchedText is a text whose reader pays for each character.
type watchedText struct {
	*strings.Reader
	pattern *countedPattern
	unpaid  int // instructions times characters
}

// ReadRune implements io.RuneReader.
func (t *watchedText) ReadRune() (rune, int, error) {
	t.unpaid += t.pattern.size
	if t.unpaid > maxBlindMatch {
		t.pattern.run.spendWork(t.unpaid / matchUnit)
		t.unpaid = 0
	}
	return t.Reader.ReadRune()
}

// uniqueWork returns the work to check that the items of a list differ.
func (r *run) uniqueWork(list []any) int {
	if n := len(list); n <= 20 { // the validator compares each with each
		return n * r.sizeWithin(list)
	}
	return r.sizeWithin(list)
}

// sizeWithin returns how much work it is to go over all of v. The visit itself is counted too.
func (r *run) sizeWithin(v any) int {
	n := sizeOf(v)
	switch v := v.(type) {
	case []any:
		r.spendWork(len(v) / 16)
		for _, item := range v {
			n += r.sizeWithin(item)
		}
	case map[string]any:
		r.spendWork(len(v) / 4)
		for _, member := range v {
			n += r.sizeWithin(member)
		}
	}
	return n
}

// textWork returns the work for the length of a text, which is copied and counted.
func textWork(s string) int { return len(s) >> 7 }

// sizeOf returns the work to compare v itself, without its parts. A number is made a fraction
// first.
func sizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return 1 + len(v)>>12
	case nil, bool, []any, map[string]any:
		return 1
	}
	return 8
}

// digits is the most that a number may have, and the largest exponent; those of a
// float64 are 17 and 308. The validator makes exact fractions of numbers: 1e1000000
// takes it 20 ms, and above that it panics.
const digits = 400

// isModest reports whether the validator can work with a number.
func isModest(n string) bool {
	if len(n) > digits {
		return false
	}
	_, exponent, _ := strings.Cut(strings.ToLower(n), "e")
	exponent = strings.TrimLeft(exponent, "+-0")
	return len(exponent) < 3 || len(exponent) == 3 && exponent <= "400"
}
