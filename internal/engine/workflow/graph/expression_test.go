package graph_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
)

// value evaluates an expression. problem is why it is no expression.
func value(t *testing.T, expression string, v graph.View) (got any, problem string, err error) {
	t.Helper()
	w, problems := graph.Compile(graph.Definition{
		Name: "w", Nodes: []graph.Node{{ID: "a", Type: engine.ConditionNode, Expression: expression}, agent("b")}, Edges: mapped(t, "b", "default"),
	}, engine.Kinds())
	if len(problems) > 0 {
		return nil, problems[0].Error(), nil
	}
	got, err = w.Node("a").Value(t.Context(), v)
	return got, "", err
}

// What an expression comes to is plain JSON.
func TestValues(t *testing.T) {
	t.Parallel()
	view := seen{
		"input": "hello", "iteration": 3, "routing_key": "left", "current_agent": "writer",
		"messages": []map[string]string{{"role": "user", "content": "hi", "node": ""}, {"role": "assistant", "content": "ho", "node": "a"}},
		"metadata": map[string]any{"n": 7.0, "s": "x", "list": []any{1.0, 2.0}, "deep": map[string]any{"a": true}},
		"result":   map[string]any{"text": "{}", "json": map[string]any{"kind": "refund"}, "is_error": false},
	}
	for expression, want := range map[string]string{
		"input":                                `"hello"`,
		"iteration":                            `3`,
		"1 + 2":                                `3`,
		"1 / 2":                                `0`,
		"1 / 2.0":                              `0.5`,
		"7.0 / 2":                              `3.5`,
		"iteration - 0.5":                      `2.5`,
		"metadata.n % 4":                       `3`,
		"2 * metadata.n":                       `14`,
		"metadata.n > 6 && metadata.n < 8":     `true`,
		"metadata.n == 7":                      `true`,
		"null":                                 `null`,
		"[1, 'x', true, null, 1.5]":            `[1,"x",true,null,1.5]`,
		"{'a': {'b': [metadata.s]}}":           `{"a":{"b":["x"]}}`,
		"{1: 'n', true: 'b'}":                  `{"1":"n","true":"b"}`,
		"messages.map(m, m.role)":              `["user","assistant"]`,
		"messages.filter(m, m.node == 'a')[0]": `{"content":"ho","node":"a","role":"assistant"}`,
		"metadata.list.size()":                 `2`,
		"result.json.kind":                     `"refund"`,
		"has(result.json)":                     `true`,
		"has(critic.json)":                     `false`,
		"result":                               `{"is_error":false,"json":{"kind":"refund"},"text":"{}"}`,
		"metadata[?'none'].orValue('else')":    `"else"`,
		"metadata[?'none']":                    `null`,
		"metadata[?'s']":                       `"x"`,
		"duration('90s')":                      `"90s"`,
		"timestamp('2026-01-02T03:04:05Z')":    `"2026-01-02T03:04:05Z"`,
		"b'text'":                              `"text"`,
		"18446744073709551615u":                `18446744073709552000`,
		"9223372036854775807":                  `9223372036854775807`,
		"5u":                                   `5`,
		"routing_key == 'left' ? 'l' : 'r'":    `"l"`,
		"input.matches('^h.*o$')":              `true`,
		"input.startsWith('he') || metadata.none": `true`,
	} {
		got, problem, err := value(t, expression, view)
		text, _ := json.Marshal(got)
		if problem != "" || err != nil || string(text) != want {
			t.Errorf("%s is %s, want %s: %s %v", expression, text, want, problem, err)
		}
	}
}

// What has no value is the fault of its node, and quotes no value of the run.
func TestExpressionsThatFail(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat("[", 66) + "1" + strings.Repeat("]", 66)
	for name, expression := range map[string]string{
		"a member that is not there":  "metadata.none",
		"division by zero":            "1 / 0",
		"no number that JSON has":     "double('NaN')",
		"an infinity":                 "1.0 / 0.0",
		"an index out of range":       "[1][2]",
		"a sum of a text and a list":  "metadata.s + metadata.l",
		"nested too deep":             nested,
		"an object that is not there": "critic.text",
		"a text that is no number":    "int(input)",
		"a cost beyond the bound":     "[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, [1,2,3,4,5,6,7,8,9,10].map(c, [1,2,3,4,5,6,7,8,9,10].map(d, [1,2,3,4,5,6,7,8,9,10].map(e, a*b*c*d*e)))))",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problem, err := value(t, expression, seen{"input": "secret", "metadata": map[string]any{"s": "secret", "l": []any{"secret"}, "n": 2.0}})
			if problem != "" || got != nil {
				t.Fatalf("got %v, %s", got, problem)
			}
			wantFault(t, expression, err, fault.WorkflowExpression, "An expression of node a failed: ")
			if f := fault.From(err); f != nil && strings.Contains(f.Message, "secret") {
				t.Errorf("it says %s", f.Message)
			}
		})
	}
}

// What can never be evaluated is found when it is compiled, with the place of its fault.
func TestNoExpressions(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"1 +":                          "is no expression: ",
		"nobody":                       "is no expression: undeclared reference to 'nobody' (character 1)",
		"true && nobody":               "(character 9)",
		"1.5 % metadata.n":             "is no expression: found no matching overload for '_%_'",
		"result.txt":                   "is no expression: undefined field 'txt'",
		"input + 1":                    "is no expression: found no matching overload for '_+_'",
		"decision.by":                  "is no expression: undefined field 'by'",
		strings.Repeat("1", 2001):      "must not be longer than 2,000 characters",
		strings.Repeat("a", 900):       "…",
		"\u00e4" + " + " + "'\u00e4\"": "is no expression: ",
	} {
		if _, problem, err := value(t, expression, seen{}); !strings.HasPrefix(problem, "/nodes/a/expression: ") || !strings.Contains(problem, want) || err != nil {
			t.Errorf("%.40s: got %q, want %q", expression, problem, want)
		}
	}
	n := agent("a")
	n.Repeat = &graph.Repeat{Until: "'text'", Max: 2}
	_, problems := graph.Compile(graph.Definition{Name: "w", Nodes: []graph.Node{n}}, engine.Kinds())
	if len(problems) != 1 || problems[0].Error() != "/nodes/a/repeat/until: must be true or false, and is of type string" {
		t.Errorf("got %v", problems)
	}
	if _, problem, _ := value(t, "'"+strings.Repeat("\u00e4", 1998)+"'", seen{}); problem != "" {
		t.Errorf("2,000 characters: %s", problem)
	}
}

// A text is filled with what stands between braces, and with nothing else.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                            "plain",
		"{ } }} } {":                       "{ } }} } {",
		"{{input}}":                        "hi",
		"a{{ input }}b{{input}}c":          "ahibhic",
		"{{ {'a': {'b': 1}} }}":            `{"a":{"b":1}}`,
		"{{ '}}' }}":                       "}}",
		`{{ "{{" }}`:                       "{{",
		`{{ 'it\'s }}' }}`:                 "it's }}",
		"{{ [1, 'x'] }}":                   `[1,"x"]`,
		"{{ null }}{{ true }}{{ 1.5 }}":    "nulltrue1.5",
		"{{ metadata.braces }}":            "{{input}}",
		"{{ {'a': '}'}.a }}{{ '{' + '' }}": "}{",
	} {
		n := agent("a")
		n.Input = text
		got, err := compiled(t, []graph.Node{n}).Node("a").FillInput(t.Context(), seen{"input": "hi", "metadata": map[string]any{"braces": "{{input}}"}})
		if got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"{{":             "{{ is not followed by }}",
		"{{ input }":     "{{ is not followed by }}",
		"{{ 'input }}":   "{{ is not followed by }}",
		"{{ {'a': 1 }}":  "{{ is not followed by }}",
		"x {{ }}":        "between {{ and }}: is no expression",
		"{{a}} {{input}": "between {{ and }}: is no expression: undeclared reference to 'a'",
	} {
		n := agent("a")
		n.Input = text
		_, problems := graph.Compile(graph.Definition{Name: "w", Nodes: []graph.Node{n}}, engine.Kinds())
		if len(problems) != 1 || problems[0].Pointer != "/nodes/a/input" || !strings.HasPrefix(problems[0].Text, want) {
			t.Errorf("%s: got %v, want %q", text, problems, want)
		}
	}
}

// FuzzTemplate: a text is refused, or filled; one without braces stays as it is.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"plain", "{{input}}", "{{ '}}' }} x", "{{ {'a': 1} }}", `{{ "\"" }}`, "{{{{", "}}{{", "{{ r'\\' }}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return
		}
		n := agent("a")
		n.Input = text
		w, problems := graph.Compile(graph.Definition{Name: "w", Nodes: []graph.Node{n}}, engine.Kinds())
		if len(problems) > 0 {
			if !strings.Contains(text, "{{") {
				t.Errorf("%q: %v", text, problems)
			}
			return
		}
		got, err := w.Node("a").FillInput(t.Context(), seen{"input": "hi"})
		if !strings.Contains(text, "{{") && (got != text || err != nil) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	})
}
