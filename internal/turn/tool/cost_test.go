package tool

import (
	"context"
	"errors"
	"fmt"
	"regexp/syntax"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
)

// members returns n members of a JSON object or list.
func members(n int, format string) string {
	list := make([]string, n)
	for i := range n {
		list[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i))
	}
	return strings.Join(list, ",")
}

func properties(list string) string { return `{"type":"object","properties":{` + list + `}}` }

// slowCheck is a tool whose check takes the longest: a pattern that keeps all its
// threads alive.
const slowCheck = `{"properties":{"s":{"pattern":"(?:a?a?a?a?a?a?a?a?a?a?){100}c"}}}`

var slowArguments = jsontext.Value(`{"s":"` + strings.Repeat("a", 20_000) + `"}`)

// mustCompile compiles a schema of a tool that is fine.
func mustCompile(t testing.TB, schema string) *Schema {
	t.Helper()
	c, _, err := Compile(jsontext.Value(schema), maxToolWork)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// costly are schemas of some kilobytes that took hundreds of megabytes or seconds
// to compile.
func costly() map[string]string {
	letters := strings.Repeat("abcdefghij", 10)
	long := strings.Repeat("x", 100_000)
	return map[string]string{
		"repetitions": properties(members(300, `"p%d":{"type":"string","pattern":"(`+letters+`%d){1000}"}`)), // 1.8 GB
		"nested":      properties(members(300, `"p%d":{"pattern":"((((a|b%d){10}){10}){10}c)"}`)),
		"names":       `{"patternProperties":{` + members(300, `"(`+letters+`%d){1000}":{}`) + `}}`,
		"old dialect": `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{` + members(300, `"p%d":{"pattern":"(`+letters+`%d){1000}"}`) + `}}`,
		"classes":     properties(members(8, `"p%d":{"pattern":"`+strings.Repeat(`\\pL|`, 800)+`%d"}`)),
		"folded":      properties(members(60, `"p%d":{"pattern":"(?i)`+strings.Repeat(`[B-\\x{1E920}]`, 280)+`%d"}`)),
		"long":        properties(`"p":{"pattern":"` + strings.Repeat("a|", maxPattern) + `"}`),
		"addresses":   properties(`"` + long + `":{"properties":{` + members(1000, `"p%d":{"type":"string","minLength":%d}`) + `}}`), // 1.2 GB
		"own address": `{"$id":"http://a/` + long + `","properties":{` + members(1000, `"p%d":{"$ref":"#/properties/p1"}`) + `}}`,
		"references":  `{"x":{` + members(2000, `"p%d":{"a":1}`) + `},"properties":{` + members(2000, `"p%d":{"$ref":"#/x/p%d"}`) + `}}`,
		"old defs":    `{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{` + members(1800, `"p%d":{"a":1}`) + `},"properties":{` + members(1800, `"p%d":{"$ref":"#/$defs/p%d"}`) + `}}`,
		"numbers":     properties(members(200, `"p%d":{"minimum":1e1000000}`)), // 4.4 s
		"digits":      properties(`"p":{"minimum":1` + strings.Repeat("0", 100_000) + `}`),
	}
}

func TestCostlySchemasAreRefused(t *testing.T) {
	t.Parallel()
	for name, schema := range costly() {
		if _, _, err := Compile(jsontext.Value(schema), Room); err == nil {
			t.Errorf("%s: it is compiled", name)
		}
	}
}

// Not parallel: it counts what the process allocates.
func TestCostlySchemasAllocateLittle(t *testing.T) {
	for name, schema := range costly() {
		if got := allocated(func() { _, _, _ = Compile(jsontext.Value(schema), Room) }); got > 32<<20 {
			t.Errorf("%s: %d MB were allocated, want at most 32", name, got>>20)
		}
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Schemas that are large, as real ones are, and fine.
func TestLargeSchemasAreKept(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"a pattern used often": properties(members(1000, `"p%d":{"type":"string","pattern":"^.{1,1000}$"}`)),
		"usual patterns": properties(members(40, `"p%d":{"pattern":"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$|^%d$"}`) +
			`,"name":{"pattern":"^[\\p{L}\\p{M}' -]{1,100}$"},"mail":{"pattern":"(?i)^[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,}$"}`),
		"definitions":     `{"$defs":{` + members(500, `"d%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"}}}`) + `}}`,
		"old definitions": `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{` + members(500, `"d%d":{"properties":{"x":{"$ref":"#/definitions/d%d"}}}`) + `}}`,
		"many properties": properties(members(2600, `"p%d":{"type":"string"}`)),
		"a long enum":     properties(`"p":{"enum":[` + members(3000, `"%d"`) + `]}`),
		"a small number":  properties(`"p":{"minimum":-1.7976931348623157e308,"multipleOf":1e-9}`),
	} {
		if _, _, err := Compile(jsontext.Value(schema), maxToolWork); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzProgramSize: a pattern is measured before it is compiled, and never too small.
func FuzzProgramSize(f *testing.F) {
	for _, text := range []string{"", "a", "^[a-z]{2,5}?$", "(a|b|cd)*", "(?i)ab+(?:c?){3,}", "((a{2}){3}|()){4}", `\pL{1,20}x*?`, "(?:){100}", "a|b|c", "(?:a*)*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 200 {
			return
		}
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return
		}
		bound := programSize(tree)
		if bound > 50_000 {
			return
		}
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Skip()
		}
		// A program begins with fail and ends with match.
		if n := len(program.Inst); n > bound+2 {
			t.Errorf("%q: %d instructions, measured %d", text, n, bound)
		}
	})
}

// heldContext ends when asked to; it says that it was asked, and keeps the caller waiting until
// then.
type heldContext struct {
	context.Context
	asked   chan struct{}
	release chan struct{}
	once    atomic.Bool
}

func (c *heldContext) Err() error {
	if c.once.CompareAndSwap(false, true) {
		close(c.asked)
	}
	<-c.release
	return context.Canceled
}

func TestQuickCheckNextToASlowOne(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, slowCheck)
	held := &heldContext{Context: t.Context(), asked: make(chan struct{}), release: make(chan struct{})}
	slow := make(chan *fault.Error)
	go func() {
		_, f := c.Check(held, "t", slowArguments)
		slow <- f
	}()
	select {
	case <-held.asked: // it is in the middle of the pattern, and stays there
	case f := <-slow:
		t.Fatalf("the slow check did not look at its context: %v", f)
	}
	for range 3 {
		if _, f := c.Check(t.Context(), "t", jsontext.Value(`{"s":"c"}`)); f != nil {
			t.Errorf("the quick check is refused: %v", f.Hint)
		}
		if _, f := c.Check(t.Context(), "t", jsontext.Value(`{"s":"b"}`)); f == nil {
			t.Error("the quick check takes what does not match")
		}
	}
	close(held.release)
	if f := <-slow; f == nil || !errors.Is(f.Err, context.Canceled) {
		t.Errorf("the slow check ended with %v, want its context's end", f)
	}
}

// Checks at the same time do not share a budget.
func TestChecksCountEachForItself(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, `{"properties":{"items":{"items":{"properties":{"a":{"type":"string"}}}}}}`)
	args := jsontext.Value(`{"items":[` + strings.Repeat(`{"a":"x"},`, 5999) + `{"a":"x"}]}`) // 60 % of the budget
	refused := make(chan *fault.Error)
	for range 8 {
		go func() {
			_, f := c.Check(t.Context(), "t", args)
			refused <- f
		}()
	}
	for range 8 {
		if f := <-refused; f != nil {
			t.Error(f.Hint)
		}
	}
}

// Each of these took from seconds to hours, or ended in a panic.
func TestCostlyChecksAreRefused(t *testing.T) {
	t.Parallel()
	ones := strings.Repeat("1,", 99_999) + "1"
	objects := strings.Repeat("{},", 19_999) + "{}"
	for name, tt := range map[string]struct {
		schema, args string
		want         error
	}{
		"pattern":             {slowCheck, string(slowArguments), errCostly},
		"pattern, long text":  {properties(`"s":{"pattern":"a{1,1000}c"}`), `{"s":"` + strings.Repeat("a", 900_000) + `"}`, errCostly},
		"patterns of names":   {`{"patternProperties":{` + members(1000, `"a%db":{}`) + `}}`, `{` + members(5000, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%d":1`) + `}`, errCostly},
		"many types":          {properties(`"x":{"items":{"anyOf":[` + members(2000, `{"type":"string","maxLength":%d}`) + `]}}`), `{"x":[` + ones + `]}`, errCostly},
		"required":            {properties(`"x":{"items":{"required":[` + members(3000, `"r%d"`) + `]}}`), `{"x":[` + objects + `]}`, errCostly},
		"enum":                {properties(`"x":{"items":{"enum":[` + members(6000, `"%d"`) + `]}}`), `{"x":[` + strings.ReplaceAll(ones, "1", `"y"`) + `]}`, errCostly},
		"numbers of an enum":  {properties(`"x":{"items":{"enum":[` + members(3000, `%d.5`) + `]}}`), `{"x":[` + ones + `]}`, errCostly},
		"dependencies":        {properties(`"x":{"items":{"dependentRequired":{` + members(2000, `"r%d":[]`) + `}}}`), `{"x":[` + objects + `]}`, errCostly},
		"lengths":             {`{"properties":{"s":{"allOf":[` + members(1200, `{"minLength":%d}`) + `]}}}`, `{"s":"` + strings.Repeat("a", 1_000_000) + `"}`, errCostly},
		"unique lists":        {properties(`"x":{"uniqueItems":true}`), `{"x":[` + members(20, `[`+ones[:40_000]+`0,%d]`) + `]}`, errCostly},
		"unique, often":       {properties(`"x":{"allOf":[` + members(1000, `{"uniqueItems":true,"maxItems":9%d}`) + `]}`), `{"x":[` + members(20_000, `%d`) + `]}`, errCostly},
		"unevaluated":         {`{"unevaluatedProperties":true,"allOf":[` + members(1000, `{"minProperties":%d}`) + `]}`, `{` + members(20_000, `"m%d":1`) + `}`, errCostly},
		"an endless number":   {properties(`"x":{"minimum":1}`), `{"x":1e10000000}`, errNumber},
		"a large exponent":    {properties(`"x":{"items":{"multipleOf":3}}`), `{"x":[1E+1000000]}`, errNumber},
		"many digits":         {properties(`"x":{"type":"integer"}`), `{"x":1` + strings.Repeat("0", 100_000) + `}`, errNumber},
		"nested, many errors": {`{"properties":{"x":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}`, `{"x":` + strings.Repeat("[", 5000) + ones + strings.Repeat("]", 5000) + `}`, errDeep},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := mustCompile(t, tt.schema)
			_, f := c.Check(t.Context(), "t", jsontext.Value(tt.args))
			if f == nil || f.Type != fault.ToolFailed || !errors.Is(f.Err, tt.want) || f.Hint == "" {
				t.Errorf("got %v, want %v", f, tt.want)
			}
		})
	}
}

// Texts that are long, as a file is, and quick to check.
func TestLongTextsAreChecked(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("some words, ", 80_000) // 940 KB
	for pattern, fits := range map[string]bool{
		`\\S`: true, `^[^\\x00]*$`: true, `^.{1,1000}$`: false, `^some`: true, `^[a-z, ]+$`: true, `^(?!x)`: true,
	} {
		c := mustCompile(t, properties(`"s":{"type":"string","pattern":"`+pattern+`"}`))
		_, f := c.Check(t.Context(), "t", jsontext.Value(`{"s":"`+text+`"}`))
		if fits != (f == nil) || f != nil && f.Err != nil {
			t.Errorf("%s: %v", pattern, f)
		}
	}
}

// A text that is watched matches as one that is not.
func TestWatchedTextMatchesAlike(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, properties(`"s":{"pattern":"^(?:[a-zé][a-zé][a-zé] ?){1,900}$"}`))
	for text, fits := range map[string]bool{
		"abé": true, "ab": false, strings.Repeat("abé ", 800): true, strings.Repeat("abé ", 800) + "!": false, strings.Repeat("abé ", 901): false,
	} {
		if _, f := c.Check(t.Context(), "t", jsontext.Value(`{"s":"`+text+`"}`)); fits != (f == nil) {
			t.Errorf("%d bytes: %v", len(text), f)
		}
	}
}

// BenchmarkPatterns is the most that the patterns of one tool may be.
func BenchmarkPatterns(b *testing.B) {
	schema := jsontext.Value(properties(`"p":{"pattern":"(?:a?){1000}(?:b?){1000}(?:c?){1000}c"}`))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Compile(schema, maxToolWork); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLargestSchema is a tool of 2,600 properties.
func BenchmarkLargestSchema(b *testing.B) {
	schema := jsontext.Value(properties(members(2600, `"p%d":{"type":"string"}`)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Compile(schema, maxToolWork); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSlowestCheck is a check that is refused because it costs too much.
func BenchmarkSlowestCheck(b *testing.B) {
	for name, tt := range map[string]struct {
		schema string
		args   jsontext.Value
	}{
		"pattern": {slowCheck, slowArguments},
		"parts":   {forks(40, `{"required":["x"]}`), jsontext.Value(`{}`)},
	} {
		b.Run(name, func(b *testing.B) {
			c := mustCompile(b, tt.schema)
			for b.Loop() {
				if _, f := c.Check(b.Context(), "t", tt.args); f == nil {
					b.Fatal("it is not refused")
				}
			}
		})
	}
}
