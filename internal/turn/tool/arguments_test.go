package tool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const todoSchema = `{
	"type":"object","additionalProperties":false,"required":["title"],
	"properties":{
		"title":{"type":"string","minLength":1,"maxLength":5},
		"due_date":{"type":"string","format":"date-time"},
		"priority":{"enum":["low","high"]},
		"kind":{"const":"todo"},
		"tags":{"type":"array","items":{"type":"string","pattern":"^[a-z]+$"},"maxItems":2},
		"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"when":{"oneOf":[{"type":"object","required":["at"]},{"type":"object","required":["in"]}]},
		"n":{"type":"integer","minimum":1,"maximum":9.5},
		"a/b":{"type":"number"}
	}}`

func TestArguments(t *testing.T) {
	t.Parallel()
	schema, _, err := Compile(jsontext.Value(todoSchema), maxToolWork)
	if err != nil {
		t.Fatal(err)
	}
	const notJSON = "they are not one valid JSON object"
	tests := []struct{ args, want string }{
		{`{"title":"milk"}`, ""},
		{`{"title":"milk","due_date":"tomorrow"}`, ""}, // formats are the server's business
		{`{"title":"milk","note":null}`, ""},
		{`{"title":"milk","n":1.0}`, ""},
		{``, `missing required "title"`},
		{`{}`, `missing required "title"`},
		{`{"title":"milk","due_date":5}`, `/due_date: got number, want string`},
		{`{"due_date":5}`, `missing required "title"; /due_date: got number, want string`},
		{`{"title":"milk","priority":"urgent"}`, `/priority: must be one of "low", "high"`},
		{`{"title":"milk","kind":"x"}`, `/kind: must be "todo"`},
		{`{"title":"milk","foo":1,"bar":2}`, `unknown "bar", "foo"`},
		{`{"title":"milk","note":5}`, `/note: got number, want string or null`},
		{`{"title":"milk","when":{}}`, `/when: fits none of the allowed forms`},
		{`{"title":"milk","when":{"at":1,"in":2}}`, `/when: fits more than one form, where only one is allowed`},
		{`{"title":"milk","tags":["UP"]}`, `/tags/0: must match ^[a-z]+$`},
		{`{"title":"milk","tags":["a","b","c"]}`, `/tags: does not satisfy maxItems`},
		{`{"title":"","n":0}`, `/n: must be at least 1; /title: has 0 characters, at least 1 wanted`},
		{`{"title":"milkmilk","n":10}`, `/n: must be at most 19/2; /title: has 8 characters, at most 5 allowed`},
		{`{"title":"milk","a/b":"x"}`, `/a~1b: got string, want number`},
		{`[]`, notJSON},
		{`"{}"`, notJSON},
		{`{"title":"milk"`, notJSON},
		{`{"title":"milk"} {}`, notJSON},
		{`{"title":"milk","title":5}`, notJSON},
		{"{\"title\":\"\xff\"}", notJSON},
	}
	for _, tt := range tests {
		_, f := schema.Check(t.Context(), "create_todo", jsontext.Value(tt.args))
		if tt.want == "" {
			if f != nil {
				t.Errorf("%s: %v", tt.args, f.Hint)
			}
			continue
		}
		want := "Invalid arguments for create_todo: " + tt.want + ". Correct them and call again."
		if f == nil || f.ForModel() != want {
			// santhosh walks a map, so that the order of properties may differ.
			if f == nil || !sameParts(f.ForModel(), want) {
				t.Errorf("%s:\ngot  %+v\nwant %s", tt.args, f, want)
			}
		}
	}
}

func sameParts(a, b string) bool {
	const prefix, suffix = "Invalid arguments for create_todo: ", ". Correct them and call again."
	split := func(s string) map[string]bool {
		parts := map[string]bool{}
		for _, p := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(s, prefix), suffix), "; ") {
			parts[p] = true
		}
		return parts
	}
	x, y := split(a), split(b)
	for p := range x {
		if !y[p] {
			return false
		}
	}
	return len(x) == len(y)
}

func TestArgumentProblemsAreFewAndShort(t *testing.T) {
	t.Parallel()
	var properties, args []string
	for i := range 50 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string","enum":["%s"]}`, i, strings.Repeat("v", 500)))
		args = append(args, fmt.Sprintf(`"p%d":"%s"`, i, strings.Repeat("secret", 1000)))
	}
	schema, _, err := Compile(jsontext.Value(`{"properties":{`+strings.Join(properties, ",")+`}}`), maxToolWork)
	if err != nil {
		t.Fatal(err)
	}
	_, f := schema.Check(t.Context(), "t", jsontext.Value("{"+strings.Join(args, ",")+"}"))
	if f == nil || len(f.Hint) > (maxProblems+2)*maxProblem || strings.Contains(f.Hint, "secret") {
		t.Errorf("the hint is %v", f)
	}
	if !strings.Contains(f.Hint, "and 45 more") {
		t.Errorf("the hint does not say how many more: %s", f.Hint)
	}
}
