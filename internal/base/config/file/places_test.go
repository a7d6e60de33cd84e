package file_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/internal/base/config/file"
)

// A fault stands where its value begins, whatever form that has; where nothing is written it
// stands at the key.
func TestPlacesOfValues(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"s: 5":                    "1:4 /s",
		"s:   'a'":                "1:6 /s",
		"s:":                      "1:1 /s",
		"s: ~":                    "1:4 /s",
		"s:\n  v: 1":              "2:3 /s",
		"s: {v: 1}":               "1:4 /s",
		"s: {}":                   "1:4 /s",
		"s: [1, 2]":               "1:4 /s",
		"s:\n- 1\n- 2":            "2:1 /s",
		"s: |\n  text\n":          "1:4 /s",
		"s: >-\n  text\n":         "1:4 /s",
		"s: &a 5":                 "1:7 /s",
		"s: &a {v: 1}":            "1:7 /s",
		"other: &a 5\ns: *a":      "1:11 /s",
		"other: &a {b: 1}\ns: *a": "1:11 /s",
		"# é\n\"s\":\n    é":      "3:5 /s",
		"é: 1":                    "",
	} {
		var got []string
		table := file.Table{{Name: "s", Schema: `{}`, Read: func(n *file.Node) { n.Fault("x") }}, {Name: "other", Schema: `{}`}, {Name: "é", Schema: `{}`}}
		for _, f := range table.Read("f", []byte(content), config.Sources{Lookup: configtest.World{}.Lookup}).Faults {
			got = append(got, strings.TrimPrefix(f.Name, "f:")+" "+strings.TrimSuffix(f.Message, ": x"))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q: got %s, want %s", content, got, want)
		}
	}
}

// A fault of a key stands at the key, one of a member that is missing at its object, also within
// lists and what an alias stands for.
func TestPlacesOfKeys(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"s: {k: 5}":                        "[1:4 /s/m: missing 1:5 /s/k: key]",
		"s:\n  k:\n    x: 1":               "[2:3 /s/k: key 2:3 /s/m: missing]",
		"s:\n  other: 1\n  \"k\": |\n   a": "[2:3 /s/m: missing 3:3 /s/k: key]",
		"other: &a {k: 1}\ns: *a":          "[1:11 /s/m: missing 1:12 /s/k: key]",
	} {
		var got []string
		table := file.Table{{Name: "s", Schema: `{}`, Read: func(n *file.Node) { n.Get("k").FaultKey("key"); n.FaultMissing("m", "missing") }}, {Name: "other", Schema: `{}`}}
		for _, f := range table.Read("f", []byte(content), config.Sources{Lookup: configtest.World{}.Lookup}).Faults {
			got = append(got, strings.TrimPrefix(f.Name, "f:")+" "+f.Message)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%q: got %s, want %s", content, got, want)
		}
	}
}

// What is not YAML is explained by what its author has to change, at the place where that is.
func TestReasons(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"s: 'canary\n":            "1:4 the quote that opens here is not closed",
		"s: }\n":                  "1:4 /s: is not valid YAML: this } closes nothing",
		"s: [1, , 2]\n":           "1:8 a comma stands where an element is missing",
		"s: - a\n":                "1:4 a list that - begins needs a line of its own below its key",
		"s: `canary\n":            "1:4 begins with a character that YAML reserves: quote the text",
		"s: %canary\n":            "1:4 begins with %, which YAML reserves: quote the text",
		"s: |canary\n  a\n":       "1:4 after | or > only a digit, + or - may stand, and the text begins on the next line",
		"s: \"\\canary\"\n":       "1:6 holds an escape that YAML does not know",
		"\"canary\n x\": 1\n":     "1:1 does not belong here: a colon and a blank are missing after a key",
		"s: [1\n":                 "1:4 the [ that opens here is not closed",
		"s:\n  a: 1\n  canary\n":  "3:3 a key needs a colon, a blank and a value",
		"s: &\n":                  "1:4 an anchor (&name) or alias (*name) stands where none may",
		"s: *\n":                  "1:4 an anchor (&name) or alias (*name) stands where none may",
		"s: {a: 1, : canary}\n":   "1:11 is not valid YAML",
		"s: [}canary]\n":          "1:5 /s/0: is not valid YAML: this } closes nothing",
		"s: \"a\" canary\n":       "1:8 does not belong here: indent it like a line above",
		"s: 1\n  canary: 2\n":     "1:4 a key cannot stand in a value",
		"s: a\n\tb: canary\n":     "2:1 a tab stands here",
		"s: [a: 1, canary: 2, ]]": "1:23 does not belong here: indent it like a line above",
		"- a\nb: canary\n":        "2:1 does not belong here: indent it like a line above",
	} {
		faults := file.Table{{Name: "s", Schema: `{}`}}.Read("f", []byte(content), config.Sources{Lookup: configtest.World{}.Lookup}).Faults
		if len(faults) != 1 {
			t.Errorf("%q: %v", content, faults)
			continue
		}
		got := strings.TrimPrefix(faults[0].Name, "f:") + " " + strings.TrimPrefix(faults[0].Message, "is not valid YAML: ")
		if !strings.HasPrefix(got, want) || strings.Contains(got, "canary") {
			t.Errorf("%q: got %s, want %s", content, got, want)
		}
	}
}

// Values of JSON answer as those of YAML do, in the same order and with the same pointers.
func TestValuesOfJSON(t *testing.T) {
	t.Parallel()
	const content = `{"text":"a\u00e9\n","empty":"","yes":true,"no":false,"none":null,"number":-1.5e2,"list":[1,[],{}],"object":{"b":{"c":[]},"a":""}}`
	n := file.FromJSON(jsontext.Value(content))
	if got := string(n.JSON()); got != strings.Replace(content, `\u00e9`, "é", 1) {
		t.Errorf("got %s", got)
	}
	var names, kinds string
	for m := range n.Members() {
		names, kinds = names+m.Name()+" ", kinds+string(byte(m.Kind()))
	}
	if names != "text empty yes no none number list object " || kinds != `""tfn0[{` {
		t.Errorf("got %s, %s", names, kinds)
	}
	if number, ok := n.Get("number").Float(); !ok || number != -150 {
		t.Errorf("the number is %v, %t", number, ok)
	}
	for m := range n.Get("list").Members() {
		m.Fault("item")
	}
	n.Get("object").Get("b").Get("c").Fault("deep")
	n.Get("object").FaultMissing("d", "missing")
	n.Get("none").Warn("is not among the faults")
	want := []string{"/list/0: item", "/list/1: item", "/list/2: item", "/object/b/c: deep", "/object/d: missing"}
	if diff := cmp.Diff(want, n.Messages()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n.Section("text") != n.Get("text") || n.Get("object").Get("a").Section("yes") != n.Get("yes") {
		t.Error("a section is not found from within")
	}
	if got := file.FromJSON(jsontext.Value(`"alone"`)); string(got.JSON()) != `"alone"` || got.Messages() != nil {
		t.Errorf("a value alone is %s", got.JSON())
	}
}

// Who stops at a member or variable gets no further ones.
func TestSequencesEnd(t *testing.T) {
	t.Parallel()
	use("s: {a: '${A:-1}${B:-2}', b: 1}", config.Sources{}, func(s *file.Node) {
		members, variables := 0, 0
		for range s.Members() {
			members++
			break
		}
		for name := range s.Get("a").Variables() {
			if variables++; name != "A" {
				t.Errorf("the first variable is %s", name)
			}
			break
		}
		if members != 1 || variables != 1 {
			t.Errorf("%d members and %d variables after the end", members, variables)
		}
	})
}

// A duration whose bounds depend on another key is held to them, both included; what is none
// leaves what was there.
func TestDuration(t *testing.T) {
	t.Parallel()
	const fault = "dir/f.yaml:1:4: /s: must be a duration from 1s to 1m, with its unit, such as 15s, 90m or 7d"
	for value, want := range map[string]string{
		"1s": "1s ", "60s": "1m0s ", "1m": "1m0s ", "999ms": "7ns " + fault, "61s": "7ns " + fault, "'5'": "7ns " + fault, "''": "7ns " + fault,
		"-2s": "7ns " + fault, "5": "7ns ", "null": "7ns ", "[1s]": "7ns ",
	} {
		d := 7 * time.Nanosecond
		said := use("s: "+value, config.Sources{}, func(s *file.Node) {
			if ok := s.Duration(&d, "1s", "1m"); ok != (d != 7) {
				t.Errorf("%s: ok is %t, and the duration %v", value, ok, d)
			}
		})
		if got := fmt.Sprint(d, " ", strings.Join(said, "")); got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
}

// A field of a duration needs its bounds: a tag that lacks them ends the program at once.
func TestDecodeOfADurationWithoutBounds(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic at a duration without bounds")
		}
	}()
	decoded("a: 1s", &struct {
		A time.Duration `key:"a" from:"1s"`
	}{})
}

// A text holds variables where they stand, a text in lines too, and a key never.
func TestWhereVariablesStand(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"s: a${V}b": `"avb"`, "s: '${V}'": `"v"`, `s: "\u0024{V}"`: `"v"`, "s: |\n  ${V}\n": `"v\n"`, "s: >-\n  a\n  ${V}\n": `"a v"`,
		"s: {'${V}': 1}": `{"${V}":1}`, "s: [\"${V}\", $V]": `["v","$V"]`, "s: ${N}": `"5"`, "s: '${NONE}'": `""`,
		"other: &a '${V}'\ns: [*a, *a]": `["v","v"]`,
	} {
		var got string
		said := use(content, config.Sources{Lookup: configtest.World{Env: map[string]string{"V": "v", "N": "5"}}.Lookup}, func(s *file.Node) { got = string(s.JSON()) })
		if got != want || (said != nil) != strings.Contains(content, "NONE") {
			t.Errorf("%q: got %s, %q, want %s", content, got, said, want)
		}
	}
}

// Where nothing is hidden a reader may hide all the same, and headers are read.
func TestNothingIsHidden(t *testing.T) {
	t.Parallel()
	said := use("s: {X-Token: 'Bearer ${V}'}", config.Sources{Lookup: configtest.World{Env: map[string]string{"V": "v"}}.Lookup}, func(s *file.Node) {
		s.HideVariables()
		s.Hide("token", "abc")
		if got := s.Headers(" Host "); got["X-Token"] != "Bearer v" || len(got) != 1 {
			t.Errorf("%d headers", len(got))
		}
	})
	if said != nil {
		t.Errorf("said %q", said)
	}
}
