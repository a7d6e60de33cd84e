package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema that is not used says why: it is the server's text, and its author has to mend it.
func TestSchemasThatAreNotUsed(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"not":`, n) + `{}` + strings.Repeat(`}`, n) }
	for name, tt := range map[string]struct{ schema, want string }{
		"none":                   {"", "the schema is not a JSON object"},
		"a list":                 {"[]", "the schema is not a JSON object"},
		"true":                   {"true", "the schema is not a JSON object"},
		"cut":                    {`{"type":"object"`, "the schema is not JSON: "},
		"a key twice":            {`{"type":"object","type":"object"}`, "the schema is not JSON: "},
		"not of an object":       {`{"type":"string"}`, "the schema is not one of an object"},
		"of several types":       {`{"type":["object","null"]}`, "the schema is not one of an object"},
		"too large":              {`{"title":"` + strings.Repeat("x", maxSchema) + `"}`, "the schema is larger than 256 KiB"},
		"too deep":               {nested(maxSchemaDepth), "the schema is nested deeper than 64"},
		"too many members":       {`{"enum":[` + members(2*maxSchemaNodes, "1") + `]}`, "the schema has too many members"},
		"a long reference":       {`{"$ref":"#` + strings.Repeat("x", maxReference) + `"}`, "a reference of the schema is longer than 512 bytes"},
		"a long id":              {`{"id":"` + strings.Repeat("x", maxReference+1) + `"}`, "a reference of the schema is longer than 512 bytes"},
		"a large number":         {properties(`"a":{"minimum":1e401}`), "a number of the schema is too large"},
		"a reference to a file":  {properties(`"a":{"$ref":"file:///etc/passwd"}`), "references out of the schema are not followed"},
		"a reference to the web": {properties(`"a":{"$ref":"http://127.0.0.1/x"}`), "references out of the schema are not followed"},
		"a dynamic reference":    {properties(`"a":{"$dynamicRef":"#x","$dynamicAnchor":"x"}`), "dynamic references are not supported"},
		"a long pattern":         {properties(`"a":{"pattern":"` + strings.Repeat("a", maxPattern+1) + `"}`), "a pattern of the schema is longer than 4 KiB"},
	} {
		s, _, err := Compile(jsontext.Value(tt.schema), Room)
		if s != nil || err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrNoRoom) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
	for name, schema := range map[string]string{
		"no type":       `{}`,
		"deep":          nested(maxSchemaDepth - 1),
		"a comment":     `{"$comment":"` + strings.Repeat("x", 2*maxReference) + `"}`,
		"a reference":   `{"$ref":"#/$defs/` + strings.Repeat("x", 100) + `","$defs":{"` + strings.Repeat("x", 100) + `":{}}}`,
		"members":       `{"enum":[` + members(2*maxSchemaNodes-10, "1") + `]}`,
		"a number":      properties(`"a":{"minimum":1e400}`),
		"a pattern":     properties(`"a":{"pattern":"` + strings.Repeat("a", maxPattern) + `"}`),
		"a lookahead":   properties(`"a":{"pattern":"^(?=x)"}`),
		"its own title": `{"title":"` + strings.Repeat("x", maxSchema-20) + `"}`,
	} {
		if s, _, err := Compile(jsontext.Value(schema), Room); s == nil || err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Room is shared by the tools of a server: what does not fit into the rest is no fault of the
// schema, and what it was measured as fits exactly.
func TestRoomOfOtherTools(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"properties": properties(members(100, `"p%d":{"type":"string"}`)),
		"patterns":   properties(members(10, `"p%d":{"pattern":"^[a-z]{1,100}%d$"}`)),
	} {
		_, work, err := Compile(jsontext.Value(schema), Room)
		if err != nil || work <= 0 {
			t.Fatalf("%s: work %d, %v", name, work, err)
		}
		if _, again, err := Compile(jsontext.Value(schema), work+1); err != nil || again != work {
			t.Errorf("%s: with the room that it needs: work %d, want %d, %v", name, again, work, err)
		}
		if s, _, err := Compile(jsontext.Value(schema), work-1); s != nil || !errors.Is(err, ErrNoRoom) {
			t.Errorf("%s: with less: %v", name, err)
		}
	}
}

// A value of a workflow is judged as a call's arguments are: the first five problems, in the order of
// their places, without the value.
func TestProblems(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, `{"required":["a"],"properties":{"b":{"type":"string"},"c":{"items":{"type":"integer","minimum":1}},"d":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`)
	for value, want := range map[string][]Problem{
		`{"a":1}`:                   nil,
		`{}`:                        {{"", `missing required "a"`}},
		`{"a":1,"b":5,"d":true}`:    {{"/b", "got number, want string"}, {"/d", "got boolean, want string or null"}},
		`{"a":1,"c":[0,"x",1,1.5]}`: {{"/c/0", "must be at least 1"}, {"/c/1", "got string, want integer"}, {"/c/3", "got number, want integer"}},
		`{"c":[0,0,0,0,0,0,0]}`: {
			{"", `missing required "a"`}, {"/c/0", "must be at least 1"}, {"/c/1", "must be at least 1"}, {"/c/2", "must be at least 1"}, {"/c/3", "must be at least 1"},
		},
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Problems(t.Context(), v)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", value, err, diff)
		}
	}
	deep := any("x")
	for range maxArgumentDepth {
		deep = []any{deep}
	}
	if _, err := c.Problems(t.Context(), deep); !errors.Is(err, errDeep) {
		t.Errorf("129 levels: %v", err)
	}
	if _, err := c.Problems(t.Context(), deep.([]any)[0]); err != nil {
		t.Errorf("128 levels: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := mustCompile(t, properties(`"x":{"items":{"type":"integer"}}`)).Problems(ended, map[string]any{"x": slices.Repeat([]any{true}, 10_000)}); !errors.Is(err, context.Canceled) {
		t.Errorf("of one who has left: %v", err)
	}
}

// What a problem repeats of a schema or of names is short and clean.
func TestProblemsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200)
	for name, tt := range map[string]struct{ schema, args, want string }{
		"a long name":     {`{"additionalProperties":false}`, `{"` + long + `":1}`, `unknown "` + strings.Repeat("é", 32) + `…"`},
		"many names":      {`{"required":[` + members(14, `"r%d"`) + `]}`, `{}`, `missing required "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", …`},
		"a long place":    {`{"properties":{"` + long + `":{"type":"string"}}}`, `{"` + long + `":1}`, "/" + strings.Repeat("é", 39) + "…: got number, want string"},
		"an escape":       {`{"properties":{"a~/b":{"type":"string"}}}`, `{"a~/b":1}`, "/a~0~1b: got number, want string"},
		"a hidden mark":   {`{"properties":{"a\u202eb":{"type":"string"}}}`, `{"a\u202eb":1}`, "/ab: got number, want string"},
		"a boolean":       {`{"properties":{"a":false}}`, `{"a":1}`, "/a: "},
		"a deeper branch": {`{"properties":{"a":{"anyOf":[{"items":{"type":"string"}},{"type":"null"}]}}}`, `{"a":[1]}`, "/a: fits none of the allowed forms"},
	} {
		_, f := mustCompile(t, tt.schema).Check(t.Context(), "t", jsontext.Value(tt.args))
		if f == nil || !strings.HasPrefix(f.Hint, "Invalid arguments for t: "+tt.want) || !utf8.ValidString(f.Hint) {
			t.Errorf("%s: got %v, want %s", name, f, tt.want)
		}
	}
}

// Texts of tools are shown to people and given to models: nothing in them moves a cursor, turns
// the direction of a text or hides.
func TestClean(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "",
		"a\tb\r\nc é 日本 👩‍👩‍👧":   "a\tb\r\nc é 日本 👩‍👩‍👧",
		"\x1b[31mred\x1b[0m":     "[31mred[0m",
		"a\x00b\x07c\x1fd e":     "abcd e",
		"a\x7fb\u0080c\u009fd":   "abcd",
		"a\u00a0b":               "a\u00a0b",
		"a\u202ab\u202ec":        "abc",
		"a\u2029b\u202fc":        "a\u2029b\u202fc",
		"a\u2066b\u2069c":        "abc",
		"a\u2065b\u206ac":        "a\u2065b\u206ac",
		"a\U000e0000b\U000e007f": "ab",
		"a\U000e0080":            "a\U000e0080",
		"a\xff\xfeb":             "a\uFFFDb",
		"\xe2\x80\x1bx":          "\uFFFDx",
	} {
		if got := Clean(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A cut text has no half of a character.
func TestClipped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "…", 1: "a…", 2: "a…", 3: "aé…", 4: "aé…", 6: "aé日…", 7: "aé日b"} {
		if got := clipText("aé日b", n); got != want {
			t.Errorf("%d bytes: got %q, want %q", n, got, want)
		}
	}
}

// A number is one for the validator if it has 400 digits and an exponent of 400 at most.
func TestModest(t *testing.T) {
	t.Parallel()
	for n, want := range map[string]bool{
		"0": true, "-1.5": true, "1e400": true, "1E-400": true, "1e+0000400": true, "1e401": false, "1E-401": false, "1e1000": false, "1e99": true,
		strings.Repeat("9", 400): true, strings.Repeat("9", 401): false,
	} {
		if got := isModest(n); got != want {
			t.Errorf("%.20s: got %v", n, got)
		}
	}
}

// A pattern in which case does not count is found by its flag, wherever that stands.
func TestFolds(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"": false, "i": false, "(i)": false, "(?:i)": false, "(?i)a": true, "a(?i:b)": true, "(?s)(?mi)": true, "(?si": true, "(?s-i:a)": false, "(?P<i>a)": false, "(?": false,
	} {
		if got := foldsCase(pattern); got != want {
			t.Errorf("%s: got %v", pattern, got)
		}
	}
}

// A trust that was given to a tool ends with any change that matters to a call, and only then.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	spec := Spec{Name: "a", Server: "s", Description: "d", InputSchema: jsontext.Value(`{"type": "object", "required": ["x"]}`), Annotations: Annotations{Title: "t", Destructive: true}}
	was := spec.Fingerprint()
	for name, tt := range map[string]struct {
		change func(*Spec)
		same   bool
	}{
		"nothing":           {func(*Spec) {}, true},
		"the description":   {func(s *Spec) { s.Description, s.Annotations.Title = "other", "other" }, true},
		"blanks and order":  {func(s *Spec) { s.InputSchema = jsontext.Value(`{"required":["x"],"type":"object"}`) }, true},
		"the fallback":      {func(s *Spec) { s.Fallback, s.More = "b", []string{"c"} }, true},
		"the name":          {func(s *Spec) { s.Name = "b" }, false},
		"the server":        {func(s *Spec) { s.Server = "b" }, false},
		"the arguments":     {func(s *Spec) { s.InputSchema = jsontext.Value(`{"type":"object","required":["y"]}`) }, false},
		"read-only":         {func(s *Spec) { s.Annotations.ReadOnly = true }, false},
		"not destructive":   {func(s *Spec) { s.Annotations.Destructive = false }, false},
		"idempotent":        {func(s *Spec) { s.Annotations.Idempotent = true }, false},
		"the world":         {func(s *Spec) { s.Annotations.OpenWorld = true }, false},
		"the operator":      {func(s *Spec) { s.Confirm = ConfirmNever }, false},
		"one that is wrong": {func(s *Spec) { s.InputSchema = jsontext.Value(`{`) }, false},
	} {
		s := spec
		tt.change(&s)
		if got := s.Fingerprint(); (got == was) != tt.same || len(got) != 16 {
			t.Errorf("%s: got %s, was %s", name, got, was)
		}
	}
	if text := string(spec.InputSchema); text != `{"type": "object", "required": ["x"]}` {
		t.Errorf("the schema has become %s", text)
	}
}

// A call carries its key and what its progress is reported to, whichever came first; nothing
// of a try goes back to the one who made it.
func TestAttempt(t *testing.T) {
	t.Parallel()
	if ctx := t.Context(); KeyOf(ctx) != "" || ReportOf(ctx) != nil {
		t.Error("a context has an attempt")
	}
	var got []Progress
	report := func(p Progress) { got = append(got, p) }
	keyed := WithKey(t.Context(), "k")
	for _, ctx := range []context.Context{WithProgress(keyed, report), WithKey(WithProgress(t.Context(), report), "k")} {
		if ReportOf(ctx)(Progress{Progress: 1}); KeyOf(ctx) != "k" {
			t.Errorf("the key is %q", KeyOf(ctx))
		}
		if KeyOf(WithKey(ctx, "l")) != "l" || KeyOf(ctx) != "k" {
			t.Error("another try changes the key of the first")
		}
	}
	if len(got) != 2 || ReportOf(keyed) != nil {
		t.Errorf("%d reports", len(got))
	}
}

// The names of a policy are those that its server should have, in the order of the alphabet.
func TestNamed(t *testing.T) {
	t.Parallel()
	got := Policy{
		ReadOnly: []string{"r"}, Idempotent: []string{"i"}, Destructive: []string{"d"}, Fallback: map[string][]string{"g": nil, "f": nil},
		Cache: map[string]time.Duration{"c": 1, "b": 1}, Confirm: map[string]Confirm{"y": ConfirmAlways, "x": ConfirmNever},
	}.Named()
	want := "map[cache:[b c] confirm:[x y] destructive:[d] fallback:[f g] idempotent:[i] readOnly:[r]]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
