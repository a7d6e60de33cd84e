package file_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/internal/base/config/file"
)

// use reads a file whose section s is handed to f, and returns all that is said of it.
func use(content string, from config.Sources, f func(*file.Node)) (said []string) {
	if from.Lookup == nil {
		from.Lookup = configtest.World{}.Lookup
	}
	r := file.Table{{Name: "s", Schema: `{}`, Read: f}, {Name: "other", Schema: `{}`}}.Read("dir/f.yaml", []byte(content), from)
	for _, fault := range r.Faults {
		said = append(said, fault.Name+": "+fault.Message)
	}
	for _, warning := range r.Warnings {
		said = append(said, "warning "+warning)
	}
	return said
}

// Each accessor answers for its own type, and not for another one, what is absent or at fault.
func TestAccessors(t *testing.T) {
	t.Parallel()
	const content = `s: {text: a, yes: true, no: false, whole: 5, part: 1.5, low: -9007199254740992, high: 9007199254740994, list: [a, b, 5], object: {x: 1}, none: null}`
	use(content, config.Sources{}, func(s *file.Node) {
		got := map[string]string{}
		for n := range s.Members() {
			var all []string
			if v, ok := n.Text(); ok {
				all = append(all, "text "+v)
			}
			if v, ok := n.Bool(); ok {
				all = append(all, fmt.Sprint("bool ", v))
			}
			if v, ok := n.Int(); ok {
				all = append(all, fmt.Sprint("int ", v))
			}
			if v, ok := n.Float(); ok {
				all = append(all, fmt.Sprintf("float %.1f", v))
			}
			if v := n.Texts(); v != nil {
				all = append(all, fmt.Sprint("texts ", v))
			}
			if n.Has("x") {
				all = append(all, "has x")
			}
			got[n.Name()] = string(byte(n.Kind())) + " " + strings.Join(all, ", ")
		}
		want := map[string]string{
			"text": `" text a`, "yes": "t bool true", "no": "f bool false", "whole": "0 int 5, float 5.0", "part": "0 float 1.5",
			"low": "0 int -9007199254740992, float -9007199254740992.0", "high": "0 float 9007199254740994.0",
			"list": "[ texts [a b]", "object": "{ has x", "none": "n ",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for n := range s.Members() {
			n.Fault("x")
			_, text := n.Text()
			_, boolean := n.Bool()
			_, whole := n.Int()
			_, number := n.Float()
			if text || boolean || whole || number || n.Kind() != 0 || n.Sound() {
				t.Errorf("%s at fault answers", n.Name())
			}
		}
	})
}

// What is not there answers nothing, and does not crash.
func TestAbsentValue(t *testing.T) {
	t.Parallel()
	var n *file.Node
	_, text := n.Text()
	_, boolean := n.Bool()
	_, whole := n.Int()
	_, list := n.TextFile(1)
	if text || boolean || whole || list || n.Texts() != nil || n.Get("a") != nil || n.Has("a") || n.Section("s") != nil || n.Kind() != 0 || !n.Sound() {
		t.Error("a value that is absent answers")
	}
	for range n.Members() {
		t.Error("it has a member")
	}
	for range n.Variables() {
		t.Error("it has a variable")
	}
	n.HideVariables()
}

// A value is sound if nothing within has a fault; its neighbors do not count.
func TestSound(t *testing.T) {
	t.Parallel()
	use("s: {a: {b: [1, {c: 2}]}, d: 1}", config.Sources{}, func(s *file.Node) {
		if !s.Sound() {
			t.Error("it has no fault yet")
		}
		for m := range s.Get("a").Get("b").Members() {
			m.Get("c").Sound()
			if m.Has("c") {
				m.Get("c").Fault("x")
			}
		}
		if s.Sound() || s.Get("a").Sound() || !s.Get("d").Sound() {
			t.Error("a fault does not count for what it lies in alone")
		}
		if _, ok := s.Get("a").Get("b").Get("1").Text(); ok {
			t.Error("an item of a list has a name")
		}
	})
}

// What is said comes in the order of the file, not of the reader, each once, at the place of the
// value, its key, or the object that lacks it.
func TestPlacesOfWhatIsSaid(t *testing.T) {
	t.Parallel()
	got := use("s:\n  a~/b: 1\n  b:\n    - x\n    - y: {}\n", config.Sources{}, func(s *file.Node) {
		list := s.Get("b")
		list.FaultKey("must not be here")
		list.FaultKey("must not be here")
		list.Fault("is a list")
		for m := range list.Members() {
			m.Warn("is odd")
			if y := m.Get("y"); y != nil {
				y.FaultMissing("z/", "is required")
			}
		}
		s.Get("a~/b").Fault("comes first")
		s.Warn("is first")
	})
	want := []string{
		"dir/f.yaml:2:9: /s/a~0~1b: comes first",
		"dir/f.yaml:3:3: /s/b: must not be here",
		"dir/f.yaml:4:5: /s/b: is a list",
		"dir/f.yaml:5:10: /s/b/1/y/z~1: is required",
		"warning dir/f.yaml:2:3: /s: is first",
		"warning dir/f.yaml:4:7: /s/b/0: is odd",
		"warning dir/f.yaml:5:7: /s/b/1: is odd",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A pointer that could break a line, or hide in it, is quoted.
func TestPointed(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]string{
		"": "is odd", "/a/b": "/a/b: is odd", `/a"b`: `"/a\"b": is odd`, "/a\nb": `"/a\nb": is odd`, "/\u202e": `"/\u202e": is odd`,
	} {
		if got := file.Pointed(pointer, "is odd"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// An unknown name is answered with the nearest that is known, or with all.
func TestUnknown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		known []string
		want  string
	}{
		{"serch", []string{"write", "search"}, "there is no such tool; did you mean search?"},
		{"X_Y", []string{"x-y"}, "there is no such tool; did you mean x-y?"},
		{"zzzzzz", []string{"write", "search"}, "there is no such tool; there are search, write"},
		{"any", nil, "there is no such tool"},
	} {
		if got := file.Unknown("tool", tt.name, tt.known); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Every rule of a schema has words for people, and none repeats the value.
func TestWordsOfRules(t *testing.T) {
	t.Parallel()
	for schema, tt := range map[string]struct{ value, want string }{
		`{"type":["string","null"]}`:    {"5", "must be null or a string"},
		`{"type":"boolean"}`:            {"5", "must be true or false"},
		`{"type":"integer"}`:            {"1.5", "must be a whole number"},
		`{"const":"on"}`:                {"canary", "must be on"},
		`{"enum":["a",5]}`:              {"canary", "must be one of a, 5"},
		`{"minimum":2}`:                 {"1", "must be 2 or more"},
		`{"maximum":2}`:                 {"3", "must be 2 or less"},
		`{"minimum":1,"maximum":2}`:     {"0", "must be from 1 to 2"},
		`{"minLength":1}`:               {`""`, "must not be empty"},
		`{"minLength":5}`:               {"abcd", "must have 5 characters or more"},
		`{"minLength":4,"maxLength":5}`: {`""`, "must not be empty"},
		`{"maxLength":5}`:               {"canary", "must not be longer than 5 characters"},
		`{"minItems":2}`:                {"[1]", "must have 2 or more items"},
		`{"maxItems":1}`:                {"[1, 2]", "must not have more than 1 items"},
		`{"minProperties":2}`:           {"{a: 1}", "must have 2 or more keys"},
		`{"maxProperties":1}`:           {"{a: 1, b: 2}", "must not have more than 1 keys"},
		`{"uniqueItems":true}`:          {"[a, b, a]", "must not name one item twice"},
		`{"pattern":"^x"}`:              {"canary", "is not of the form that is asked for"},
		`{"pattern":"^x","patternErrorMessage":"must begin with x"}`:   {"canary", "must begin with x"},
		`{"not":{"type":"string"}}`:                                    {"canary", "is not what is asked for here"},
		`{"required":["a"]}`:                                           {"{}", "is required"},
		`{"additionalProperties":false}`:                               {"{canar: 1}", "there is no such key"},
		`{"additionalProperties":false,"properties":{"canary":{}}}`:    {"{canar: 1}", "there is no such key; did you mean canary?"},
		`{"type":"string","minLength":2,"pattern":"^x"}`:               {"5", "must be a string"},
		`{"anyOf":[{"type":"string"},{"type":"object"}]}`:              {"5", "must be a string"},
		`{"propertyNames":{"pattern":"^[a-z]+$"}}`:                     {"{A: 1}", "is not of the form that is asked for"},
		`{"items":{"propertyNames":{"maxLength":1}}}`:                  {"[{a: 1}, {ab: 1}]", "must not be longer than 1 characters"},
		`{"properties":{"a":{"items":{"propertyNames":{"const":1}}}}}`: {"{a: [{x: 1}]}", "must be 1"},
	} {
		r := file.Table{{Name: "s", Schema: schema}}.Read("f", []byte("s: "+tt.value), config.Sources{Lookup: configtest.World{}.Lookup})
		if len(r.Faults) == 0 {
			t.Errorf("%s: %s is accepted", schema, tt.value)
			continue
		}
		_, got, _ := strings.Cut(r.Faults[0].Message, ": ")
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", schema, got, tt.want)
		}
	}
}

// A value of which a variable is not set has that fault alone.
func TestFaultyValueIsNotJudged(t *testing.T) {
	t.Parallel()
	r := file.Table{{Name: "s", Schema: `{"type":"string","minLength":1}`}}.Read("f", []byte(`s: "${NO}"`), config.Sources{Lookup: configtest.World{}.Lookup})
	if len(r.Faults) != 1 || r.Faults[0].Message != "/s: the variable NO is not set" {
		t.Errorf("got %v", r.Faults)
	}
}

// The schema of the whole file is JSON that editors use: no other keys, and each section's own.
func TestSchemaOfATable(t *testing.T) {
	t.Parallel()
	got := string(file.Table{{Name: "a", Schema: `{"type":"object"}`}, {Name: "b", Schema: `{"$ref":"#/properties/a"}`}}.Schema())
	want := `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Sluice configuration file",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "a": {
      "type": "object"
    },
    "b": {
      "$ref": "#/properties/a"
    }
  }
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A section's schema is a part of the program: one that is wrong, or leads out of it, ends the
// program at once.
func TestSchemaThatIsNone(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{`{`, `{"type":5}`, `{"$ref":"file:///etc/hostname"}`, `{"$ref":"#/properties/no"}`} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", schema)
				}
			}()
			file.Table{{Name: "s", Schema: schema}}.Read("f", []byte("s: 1"), config.Sources{Lookup: configtest.World{}.Lookup})
		}()
	}
}

// A file without a section is checked by the schema of the section where another one refers to it.
func TestSchemaThatAnotherRefersTo(t *testing.T) {
	t.Parallel()
	table := file.Table{{Name: "a", Schema: `{"properties":{"b":{"$ref":"#/properties/b"}}}`}, {Name: "b", Schema: `{"type":"object"}`}, {Name: "c", Schema: `{"type":"object"}`}}
	for content, want := range map[string]string{"a: {b: 1}": "f:1:8: /a/b: must be an object", "c: 1": "f:1:4: /c: must be an object", "a: {b: {}}": "", "a: {}": ""} {
		got := ""
		for _, f := range table.Read("f", []byte(content), config.Sources{Lookup: configtest.World{}.Lookup}).Faults {
			got += f.Name + ": " + f.Message
		}
		if got != want {
			t.Errorf("%s: %q, want %q", content, got, want)
		}
	}
}

// A section that is not in the file is not read, and one that is null is.
func TestSectionsThatAreRead(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{"a: 1": "a", "b: null\na: 1": "ab", "b: {}": "b"} {
		got := ""
		table := file.Table{
			{Name: "a", Schema: `{}`, Read: func(n *file.Node) { got += n.Name() }},
			{Name: "b", Schema: `{}`, Read: func(n *file.Node) { got += n.Name() }},
			{Name: "c", Schema: `{}`},
		}
		if r := table.Read("f", []byte(content), config.Sources{Lookup: configtest.World{}.Lookup}); r.Faults != nil || got != want {
			t.Errorf("%q: read %s, want %s (%v)", content, got, want, r.Faults)
		}
	}
}

// What variables put in is hidden, wherever in a value they stand; a default out of the file
// is not, and a value too short to be hidden is named if its key is one for secrets.
func TestVariablesAreHidden(t *testing.T) {
	t.Parallel()
	var cfg config.Config
	env := configtest.World{Env: map[string]string{"T": "abcdefgh-1", "U": "abcdefgh-2", "SHORT": "abc", "EMPTY": ""}}
	use(`s: {args: ["-a", "x${T}", {deep: "Bearer ${U}"}], plain: "${T}", password: "${SHORT}", default: "${NO:-abcdefgh-3}${EMPTY:-abcdefgh-4}", escaped: "$${T}"}`,
		config.Sources{Lookup: env.Lookup, Hide: cfg.Hide}, func(s *file.Node) {
			s.Get("args").HideVariables()
			s.Get("password").HideVariables()
			s.Get("default").HideVariables()
			for name, value := range s.Get("default").Variables() {
				if value != "" {
					t.Errorf("the default counts as a value of %s: %q", name, value.Reveal())
				}
			}
			if names := maps.Collect(s.Get("escaped").Variables()); len(names) != 0 {
				t.Errorf("%d variables, where $$ stands", len(names))
			}
		})
	if diff := cmp.Diff([]string{"abcdefgh-1", "abcdefgh-2"}, cfg.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(cfg.ShortSecrets()); got != "[SLUICE_CONFIG: /s/password (${SHORT})]" {
		t.Errorf("too short: %s", got)
	}
}

// A reader may ask for variables that the file does not name, and for the file's name.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	use("s: 1", config.Sources{Lookup: configtest.World{Env: map[string]string{"A": "1"}}.Lookup}, func(s *file.Node) {
		value, ok := s.Environment("A")
		_, other := s.Environment("B")
		if value.Reveal() != "1" || !ok || other || s.File() != "dir/f.yaml" {
			t.Errorf("got %q, %v, %v, %s", value.Reveal(), ok, other, s.File())
		}
	})
}

// A header's value is bounded and one line, and the bound itself is accepted.
func TestHeaderValues(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"` + strings.Repeat("x", 4<<10) + `"`:   "",
		`"` + strings.Repeat("x", 4<<10+1) + `"`: "/s/X-A: must not be longer than 4 KiB",
		`"a\r\nX-B: c"`:                          "/s/X-A: must not hold line ends or other control characters",
		`"a\tb"`:                                 "",
		`"a\u0000"`:                              "/s/X-A: must not hold line ends or other control characters",
		`5`:                                      "",
	} {
		var got map[string]config.Secret
		said := strings.Join(use("s: {X-A: "+value+"}", config.Sources{}, func(s *file.Node) { got = s.Headers("") }), "; ")
		if _, message, _ := strings.Cut(said, ": "); message != want || (got != nil) != (want == "" && value != "5") {
			t.Errorf("%.20s: %q, %d headers", value, said, len(got))
		}
	}
}

// A file is named relative to the folder of the configuration, and judged before it is used.
func TestTextFile(t *testing.T) {
	t.Parallel()
	world := configtest.World{Files: map[string]string{
		"dir/a.txt": "relative", "/abs/a.txt": "absolute", "dir/long": strings.Repeat("x", 1025), "dir/full": strings.Repeat("x", 1024),
		"dir/blank": " \n", "dir/latin": "\xe9",
	}}
	for path, want := range map[string]string{
		"a.txt": "relative", "./sub/../a.txt": "relative", "/abs/a.txt": "absolute", "full": strings.Repeat("x", 1024),
		"long":  "dir/f.yaml:1:4: /s: the file has more than 1 KiB",
		"blank": "dir/f.yaml:1:4: /s: the file is empty",
		"latin": "dir/f.yaml:1:4: /s: the file is not UTF-8 text",
		"none":  "dir/f.yaml:1:4: /s: there is no such file",
		"5":     "",
	} {
		var text string
		var ok bool
		said := use("s: "+path, config.Sources{ReadFile: world.ReadFile}, func(s *file.Node) { text, ok = s.TextFile(1 << 10) })
		if got := text + strings.Join(said, ""); got != want || ok != (text != "") {
			t.Errorf("%s: got %.80q, %v, want %.80q", path, got, ok, want)
		}
	}
	if said := use("s: a.txt", config.Sources{}, func(s *file.Node) { s.TextFile(1) }); fmt.Sprint(said) != "[dir/f.yaml:1:4: /s: cannot be read here]" {
		t.Errorf("where nothing can be read: %q", said)
	}
}

// What a file says without its variables is for those who must not see their values.
func TestWritten(t *testing.T) {
	t.Parallel()
	got := file.Written([]byte("a: {token: 'x${TOKEN:-default}', n: [1, true, null]}\n"))
	want := map[string]any{"token": "x${TOKEN}", "n": fmt.Sprint([]any{1, true, nil})}
	a, _ := got["a"].(map[string]any)
	if a == nil || a["token"] != want["token"] || fmt.Sprint(a["n"]) != want["n"] {
		t.Errorf("got %v", got)
	}
	for _, content := range []string{"", "a: [", "- a", "5"} {
		if got := file.Written([]byte(content)); got != nil {
			t.Errorf("%q: got %v", content, got)
		}
	}
}
