package check

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// The value at a pointer is a text or a number, also through strings that hold JSON.
func TestPointed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, at, want string }{
		{`{"a":1}`, "/a", "1"},
		{`{"a":"x"}`, "/a", `"x"`},
		{`{"a":{"b":[1,2,{"c":3}]}}`, "/a/b/2/c", "3"},
		{`[10,20]`, "/1", "20"},
		{`7`, "", "7"},
		{`"x"`, "", `"x"`},
		{`{"a/b":1,"c~d":2,"":3}`, "/a~1b", "1"},
		{`{"a/b":1,"c~d":2,"":3}`, "/c~0d", "2"},
		{`{"a":"{\"b\":5}"}`, "/a/b", "5"},
		{`{"a":"[{\"b\":\"{\\\"c\\\":6}\"}]"}`, "/a/0/b/c", "6"},
		{`"{\"a\":7}"`, "/a", "7"},
		{`{"a":1,"a":2}`, "/a", "1"},
		{`{"a":null}`, "/a", ""},
		{`{"a":true}`, "/a", ""},
		{`{"a":[1]}`, "/a", ""},
		{`{"a":{}}`, "/a", ""},
		{`{"a":1}`, "/b", ""},
		{`{"a":1}`, "/a/b", ""},
		{`{"a":"text"}`, "/a/b", ""},
		{`[1]`, "/1", ""},
		{`[1]`, "/-1", ""},
		{`[1]`, "/a", ""},
		{`{"a":1`, "/a", ""},
		{`nonsense`, "/a", ""},
		{``, "", ""},
		{`{}`, "/a", ""},
		{`{"a":1,"b"}`, "/c", ""},
	} {
		got, ok := valueAt(tt.text, jsontext.Pointer(tt.at), 0)
		if string(got) != tt.want || ok != (tt.want != "") {
			t.Errorf("%s of %s is %q %v, want %q", tt.at, tt.text, got, ok, tt.want)
		}
	}
}

// JSON in strings is gone into as deep as it may stand there.
func TestPointedIsBounded(t *testing.T) {
	t.Parallel()
	text := "1"
	for depth := range 6 {
		if _, ok := valueAt(text, jsontext.Pointer(strings.Repeat("/a", depth)), 0); ok != (depth <= maxWithin+1) {
			t.Errorf("%d deep: %v", depth, ok)
		}
		quoted, err := jsontext.AppendQuote(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		if depth == 0 {
			quoted = []byte(text)
		}
		text = `{"a":` + string(quoted) + `}`
	}
}

// Only the latest call that completed counts.
func TestLatest(t *testing.T) {
	t.Parallel()
	calls := []Evidence{{Tool: "t", Result: `{"a":1}`, Completed: true}, {Tool: "t", Result: `{"a":2,"b":3}`, Completed: true}, {Tool: "t", Result: `{"a":4}`}, {Tool: "u", Result: `{"a":5}`, Completed: true}}
	for _, tt := range []struct {
		tool, want string
		calls      int
	}{{"t", "2", 4}, {"t", "1", 1}, {"u", "5", 4}, {"u", "", 3}, {"v", "", 4}} {
		if got, _ := latestFact(calls[:tt.calls], tt.tool, "/a"); string(got) != tt.want {
			t.Errorf("of %d calls %s has %q, want %q", tt.calls, tt.tool, got, tt.want)
		}
	}
}

// A value is reported in any form that means the same.
func TestStates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value, text string
		want        bool
	}{
		{`1234.5`, "It is 1,234.50.", true}, {`1234.5`, "It is 1.234,5.", true}, {`1234.5`, "It is 1 234,5.", true}, {`1234.5`, "It is 1234.", false}, {`-5`, "It is 5 below zero.", true}, {`1e3`, "It is 1,000.", true}, {`5`, "It is 5.", true}, {`5`, "It is 15.", false}, {`5`, "It is ٥.", true}, {`200`, "It is 1 200.", true}, {`5`, "", false},
		{`"Ann Lee"`, "by ANN LEE", true}, {`"Ann Lee"`, "by Ann", false}, {`" Ann "`, "by ann.", true}, {`"Straße"`, "in der STRASSE", true}, {`"ﬁle"`, "the file", true},
		{`"2026-11-24"`, "on November 24", true}, {`"2026-11-24"`, "on 2026-11-24", true}, {`"2026-11-24T10:00:00Z"`, "on the 24th", true}, {`"2026-11-04"`, "on 04.11.", true}, {`"2026-11-04"`, "on 4.11.", true}, {`"2026-11-24"`, "on the 25th", false}, {`"2026-11-24"`, "in 2026", false}, {`"2026-13-24"`, "on the 24th", false},
		{`"1200"`, "It is 1,200.", true}, {`"1200"`, "It is 1,201.", false}, {`"1,200.50"`, "It is 1200.5.", true}, {`"12 kg"`, "It is 12.", false}, {`"12 kg"`, "It is 12 kg.", true}, {`"+12"`, "It is 12.", false}, {`"true"`, "It is true.", true},
	} {
		in := Input{Text: tt.text}
		if got := in.containsFact(jsontext.Value(tt.value)); got != tt.want {
			t.Errorf("%q states %s: %v", tt.text, tt.value, got)
		}
	}
}

// The feedback names each fact that is missing, with its value.
func TestRequiredFacts(t *testing.T) {
	t.Parallel()
	const args = `{"facts":[{"tool":"t","pointer":"/a"},{"tool":"t","pointer":"/b"},{"tool":"u","pointer":"/c"}]}`
	calls := []Evidence{{Tool: "t", Result: `{"a":12,"b":"Ann"}`, Completed: true}}
	for text, want := range map[string]string{
		"Ann has 12.":  "",
		"Ann has 13.":  "The answer must tell /a of t, which is 12.",
		"Bob has 12.":  `The answer must tell /b of t, which is "Ann".`,
		"Bob has none": `The answer must tell /a of t, which is 12; /b of t, which is "Ann".`,
	} {
		o := verdict(t, "required_facts", args, Input{Text: text, Evidence: calls})
		if diff := cmp.Diff(want, o.Feedback); diff != "" || o.Passed != (want == "") || o.NotApplicable {
			t.Errorf("%q: %+v (-want +got):\n%s", text, o, diff)
		}
	}
	if o := verdict(t, "required_facts", args, Input{Text: "x"}); !o.NotApplicable || !o.Passed || o.Feedback != "No tool has answered with these facts." {
		t.Errorf("without a call: %+v", o)
	}
}

// Going along a pointer ends, whatever the result is.
func FuzzPointed(f *testing.F) {
	f.Add(`{"a":"{\"b\":[1,2]}"}`, "/a/b/1")
	f.Add(`{"a":1,"a":{"~":"x"}}`, "/a/~0")
	f.Fuzz(func(t *testing.T, text, at string) {
		p := jsontext.Pointer(at)
		if !p.IsValid() {
			return
		}
		if value, ok := valueAt(text, p, 0); ok {
			if kind := value.Kind(); kind != '"' && kind != '0' {
				t.Fatalf("%s of %q is %q", at, text, value)
			}
			in := Input{Text: string(value)}
			if value.Kind() == '0' && !strings.ContainsAny(string(value), "eE") && len(value) < 300 && !in.containsFact(value) {
				t.Fatalf("%s does not state itself", value)
			}
		}
	})
}
