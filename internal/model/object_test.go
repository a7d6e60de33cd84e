package model

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// Some services write whole numbers as floats; what is none, or does not fit, is not believed.
func TestFigure(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"0": 0, "7": 7, "10.0": 10, "1e3": 1000, "2147483647": 2147483647, "2147483647.0": 2147483647,
		"-1": -1, "-0": -1, "-0.0": -1, "1.5": -1, "2147483648": -1, "1e999": -1, "null": -1, `"7"`: -1, "": -1, "NaN": -1, "Inf": -1,
	} {
		n, ok := Figure(jsontext.Value(text))
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%q is %d, %v; want %d", text, n, ok, want)
		}
	}
}

// Members are read up to the first fault; their order stays, and of one name the last counts.
func TestMembersOfAnObject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{`{"b":1,"a":{"c":[2, 3]}}`, `{"b":1,"a":{"c":[2, 3]}}`},
		{` { "a" : 1 , "a" : 2 } `, `{"a":1,"a":2}`},
		{`{"a":1,"b":}`, `{"a":1}`},
		{`{"a":1,"b`, `{"a":1}`},
		{`{"a":[1,`, `{}`},
		{`[1]`, `{}`},
		{`"x"`, `{}`},
		{``, `{}`},
	} {
		if got := string(Members(jsontext.Value(tt.text)).JSON()); got != tt.want {
			t.Errorf("%s is read as %s, want %s", tt.text, got, tt.want)
		}
	}
	o := Members(jsontext.Value(`{"a":1,"a":2,"b":{"c":{"d":null}},"e.f":3}`))
	if string(o.Get("a")) != "2" || o.Get("x") != nil || o.Has("c") {
		t.Errorf("a is %s, x is %s", o.Get("a"), o.Get("x"))
	}
	for path, want := range map[string]bool{"a": true, "b.c": true, "b.c.d": true, "b.d": false, "a.b": false, "b.c.d.e": false, "x.y": false, "e.f": false} {
		if got := o.HasPath(path); got != want {
			t.Errorf("has %s: %v", path, got)
		}
	}
}

// What is changed in an object is not changed in the one that it was made of.
func TestObjectsAreChanged(t *testing.T) {
	t.Parallel()
	text := jsontext.Value(`{"a":1,"b":2,"c":3}`)
	o := Members(text)
	rest := o.Without("b", "x")
	rest.Set("d", jsontext.Value(`"é\n"`))
	rest.Set("a", jsontext.Value(`[]`))
	if got := string(rest.JSON()); got != `{"a":[],"c":3,"d":"é\n"}` {
		t.Errorf("changed: %s", got)
	}
	if got := string(o.JSON()); got != string(text) {
		t.Errorf("the first one is %s", got)
	}
	_ = append(o.Get("a"), "xyz"...)
	if string(text) != `{"a":1,"b":2,"c":3}` {
		t.Errorf("a value writes over its neighbours: %s", text)
	}
}

func TestElementsAndStrings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text    string
		want    []string
		strings []string
	}{
		{`[1,"a",[2, 3],{"b":null},"\u00e9"]`, []string{"1", `"a"`, "[2, 3]", `{"b":null}`, `"\u00e9"`}, []string{"a", "é"}},
		{`[]`, nil, nil},
		{`[1,"a",`, []string{"1", `"a"`}, []string{"a"}},
		{`[1 2]`, []string{"1"}, nil},
		{`{"a":1}`, nil, nil},
		{``, nil, nil},
	} {
		var got []string
		for _, v := range Elements(jsontext.Value(tt.text)) {
			got = append(got, string(v))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("elements of %s (-want +got):\n%s", tt.text, diff)
		}
		if diff := cmp.Diff(tt.strings, Strings(jsontext.Value(tt.text))); diff != "" {
			t.Errorf("strings of %s (-want +got):\n%s", tt.text, diff)
		}
	}
	if Unquote(jsontext.Value(`7`)) != "" || Unquote(nil) != "" {
		t.Error("a number is a text")
	}
	if got := string(AppendString([]byte("x:"), "a\"\xff\x00")); got != "x:\"a\\\"\uFFFD\\u0000\"" {
		t.Errorf("a text is written as %s", got)
	}
}

// The examples are those of RFC 7396, appendix A, as far as they merge objects.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ body, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"a":1}`, `{"a":{"b":2}}`, `{"a":{"b":2}}`},
		{`{"a": [1,  2], "b":1.0}`, `{"c":true}`, `{"a":[1,  2],"b":1.0,"c":true}`},
		{`{"a":1}`, `{}`, `{"a":1}`},
		{`{"a":1}`, `[1]`, ``},
		{`{"a":1}`, `{"a":1,"a":2}`, ``},
		{`{"a":1`, `{}`, ``},
	} {
		got, err := Merge(jsontext.Value(tt.body), jsontext.Value(tt.patch))
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s with %s is %s, %v; want %s", tt.body, tt.patch, got, err, tt.want)
		}
	}
}

// The one object of an answer is found between thoughts, fences and prose; of two none is.
func TestOnlyObject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want, rule string }{
		{` {"a":1} `, `{"a":1}`, ""},
		{"```json\n{\"a\":1}\n```", `{"a":1}`, ""},
		{"```\n{\"a\":1}```", `{"a":1}`, ""},
		{"<think>{\"b\":2}</think>\n{\"a\":1}", `{"a":1}`, ""},
		{"<think>so</think>```json\n{}\n```", `{}`, ""},
		{`Here {it} is: {"a":{"b":[{}]}}. Fine {}`[:32], `{"a":{"b":[{}]}}`, ""},
		{"{ \n\"a\":1} and so on", "{ \n\"a\":1}", ""},
		{"<think>{\"a\":1}", "", "holds no JSON, only thoughts"},
		{"nothing", "", "holds no JSON object"},
		{"", "", "holds no JSON object"},
		{"{not} {this}", "", "holds no JSON object"},
		{`[1]`, "", "is not a JSON object"},
		{`"{}"`, "", "is not a JSON object"},
		{`So: [ {"a":1} ]`, "", "is not a JSON object"},
		{`{"a":1} {"a":1}`, "", "holds more than one JSON value"},
		{`{"a":1} or {"a":`, "", "is not valid JSON"},
		{`{"a":1,"a":2}`, "", "a member appears twice"},
		{"```json {\"a\":1}", `{"a":1}`, ""},
	} {
		got, wrong := onlyObject(tt.text)
		rule := ""
		if wrong != nil {
			rule = wrong.problems[0].Rule
		}
		if string(got) != tt.want || rule != tt.rule || wrong != nil && wrong.none != strings.HasPrefix(tt.rule, "holds no JSON") {
			t.Errorf("%q: %s, %q; want %s, %q", tt.text, got, rule, tt.want, tt.rule)
		}
	}
}

// A lenient reader mends names and numbers where the schema says how, and nothing else.
func TestLoosen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, value, want string }{
		{`{"properties":{"n":{"type":"integer"}}}`, `{"N":" 7 "}`, `{"n":7}`},
		{`{"properties":{"n":{"type":["number","null"]}}}`, `{"n":"1.50"}`, `{"n":1.50}`},
		{`{"properties":{"n":{"type":["number","string"]}}}`, `{"n":"1"}`, ``},
		{`{"properties":{"n":{"type":"string"}}}`, `{"n":"1"}`, ``},
		{`{"properties":{"n":{}}}`, `{"n":"1"}`, ``},
		{`{"properties":{"n":{"type":"number"}}}`, `{"n":"0x1"}`, ``},
		{`{"properties":{"n":{"type":"number"}}}`, `{"n":""}`, ``},
		{`{"properties":{"n":{"type":"number"}}}`, `{"n":"1","m":"2"}`, `{"m":"2","n":1}`},
		{`{"properties":{"ab":{},"AB":{}}}`, `{"AB":1}`, ``},
		{`{"properties":{"ab":{}}}`, `{"AB":1,"Ab":2}`, ``},
		{`{"properties":{"ab":{}}}`, `{"ab":1,"AB":2}`, ``},
		{`{"properties":{"l":{"items":{"type":"number"},"prefixItems":[{"type":"string"}]}}}`, `{"l":["1","2"]}`, `{"l":["1",2]}`},
		{`{"properties":{"n":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"number"}}}`, `{"n":"1"}`, `{"n":1}`},
		{`{"properties":{"n":{"type":"number"},"next":{"$ref":"#"}}}`, `{"next":{"next":{"n":"1"}}}`, `{"next":{"next":{"n":1}}}`},
		{`{"properties":{"n":{"anyOf":[{"type":"null"},{"type":"number"}]}}}`, `{"n":"1"}`, `{"n":1}`},
		{`{"allOf":[{"properties":{"n":{"type":"number"}}}]}`, `{"n":"1"}`, `{"n":1}`},
		{`{"properties":{"a":{"type":"string"},"b":{}},"required":["b"]}`, `{"a":null,"b":null,"c":null}`, `{"b":null,"c":null}`},
		{`{"properties":{"a":{"properties":{"x":{}}}}}`, `{"A":{"X":null}}`, `{"a":{}}`},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"mood":"x"}`, `{"a":1}`},
		{`{"properties":{"a":{}},"additionalProperties":{}}`, `{"a":1,"mood":"x"}`, ``},
		{`{"properties":{"a":{}},"patternProperties":{"^m":{}},"additionalProperties":false}`, `{"mood":"x"}`, ``},
		{`{"anyOf":[{"properties":{"a":{}},"additionalProperties":false},{"properties":{"b":{}},"additionalProperties":false}]}`, `{"b":null}`, ``},
	} {
		s, err := NewSchema("s", jsontext.Value(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		value, err := readObject(jsontext.Value(tt.value))
		if err != nil {
			t.Fatal(err)
		}
		want, changed := tt.want, s.loosenValue(value)
		if want == "" {
			want = tt.value
		}
		wanted, _ := readObject(jsontext.Value(want))
		if diff := cmp.Diff(wanted, value); diff != "" || changed != (tt.want != "") {
			t.Errorf("%s by %s: changed %v (-want +got):\n%s", tt.value, tt.schema, changed, diff)
		}
	}
}
