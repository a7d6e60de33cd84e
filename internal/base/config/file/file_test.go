package file_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/internal/base/config/file"
)

// table has a section of each kind of value.
func table(read func(*file.Node)) file.Table {
	return file.Table{{Name: "things", Read: read, Schema: `{
		"type": "object", "propertyNames": {"pattern": "^[a-z0-9]+$", "patternErrorMessage": "a name must be a-z 0-9"},
		"additionalProperties": {"type": "object", "additionalProperties": false, "required": ["text"], "properties": {
			"text": {"type": "string", "minLength": 1, "maxLength": 8},
			"retries": {"type": "integer", "minimum": 0, "maximum": 5},
			"level": {"enum": ["low", "high"]},
			"limit": {"type": ["number", "null"], "minimum": 0, "maximum": 2},
			"list": {"type": "array", "maxItems": 2, "uniqueItems": true, "items": {"type": "string"}},
			"on": {"type": "boolean"},
			"free": {"type": "object"}
		}}}`}, {Name: "other", Schema: `{"type": "object"}`}}
}

func read(content string, env map[string]string, use func(*file.Node)) []string {
	r := table(use).Read("f.yaml", []byte(content), config.Sources{Lookup: configtest.World{Env: env}.Lookup})
	var lines []string
	for _, f := range r.Faults {
		lines = append(lines, f.Name+": "+f.Message)
	}
	return lines
}

// All faults come at once, in the order of the file.
func TestFaultsHavePlaces(t *testing.T) {
	t.Parallel()
	const content = `things:
  Bad: {text: x}
  a:
    text: 5
    retires: 1
    retries: 9
    level: medium
    on: yes
  b: {retries: 1.5, limit: -1,
    text: "${UNSET}", text: twice, "list": [a, 1, a]}
  c:
  d:
    text: "${NOT CLOSED"
    free: {<<: {a: 1}, x: !nope}
    list:
      - a
      - a
  ü: {text: ""}
  e: *nothing
nothings: {}
`
	want := []string{
		"f.yaml:2:3: /things/Bad: a name must be a-z 0-9",
		"f.yaml:4:11: /things/a/text: must be a string",
		"f.yaml:5:5: /things/a/retires: there is no such key; did you mean retries?",
		"f.yaml:6:14: /things/a/retries: must be from 0 to 5",
		"f.yaml:7:12: /things/a/level: must be one of low, high",
		"f.yaml:8:9: /things/a/on: must be true or false",
		"f.yaml:9:16: /things/b/retries: must be a whole number",
		"f.yaml:9:28: /things/b/limit: must be from 0 to 2",
		"f.yaml:10:11: /things/b/text: the variable UNSET is not set",
		"f.yaml:10:23: /things/b/text: is given twice",
		"f.yaml:10:44: /things/b/list: must not have more than 2 items",
		"f.yaml:10:48: /things/b/list/1: must be a string",
		"f.yaml:11:3: /things/c: must be an object",
		"f.yaml:13:11: /things/d/text: ${ must be followed by a variable's name and }, or :- and a default between them; write $$ for a plain $",
		"f.yaml:14:12: /things/d/free/<<: merge keys are not supported",
		"f.yaml:16:7: /things/d/list: must not name one item twice",
		`f.yaml:18:3: "/things/\u00fc": a name must be a-z 0-9`,
		`f.yaml:18:13: "/things/\u00fc/text": must not be empty`,
		"f.yaml:19:6: /things/e: there is no such anchor before it",
		"f.yaml:20:1: /nothings: there is no such key; did you mean things?",
	}
	if diff := cmp.Diff(want, read(strings.Replace(content, "!nope", "nope", 1), nil, nil)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// What cannot be read at all is one fault, and nothing crashes.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, content, want string }{
		{"empty", "", "f.yaml:1:1: the file is empty"},
		{"comment", "# no more\n", "f.yaml:1:1: the file is empty"},
		{"a list", "- a\n", "f.yaml:1:1: must be an object whose keys are sections"},
		{"a text", "hello\n", "f.yaml:1:1: must be an object whose keys are sections"},
		{"two documents", "things: {}\n---\nother: {}\n", "f.yaml:2:1: must hold one document only"},
		{"two documents, one empty", "things: {}\n---\n", "f.yaml:2:1: must hold one document only"},
		{"two documents, one ended", "things: {}\n...\nother: {}\n", "f.yaml:3:1: must hold one document only"},
		{"long key", "other: {\"" + strings.Repeat("k", 1025) + "\": 1}", "f.yaml:1:9: is a key of more than 1 KiB"},
		{"explicit keys", strings.Repeat("? a\n", 50_000), "the file has more than 10,000 keys"},
		{"directive", "%YAML 1.1\n---\nthings: {}\n", "f.yaml:1:1: directives are not supported"},
		{"not closed", "things: {a: {text: s3cr3t-CaNaRy}", "f.yaml:1:9: is not valid YAML: the { that opens here is not closed"},
		{"brace before a key", "things: {a: 1\nother: s3cr3t-CaNaRy\n", "f.yaml:2:1: is not valid YAML: a comma or } is missing before this: an object that { opens is not closed"},
		{"bracket", "things: [1\nother: 2\n", "f.yaml:2:1: is not valid YAML: a comma or ] is missing before this: a list that [ opens is not closed"},
		{"bracket too many", "things: ]\n", "f.yaml:1:9: is not valid YAML: this ] closes nothing"},
		{"quote", "things: \"s3cr3t-CaNaRy\nother: 1\n", "f.yaml:1:9: is not valid YAML: the quote that opens here is not closed"},
		{"not YAML", "things: a: b\n", "f.yaml:1:9: is not valid YAML: a key cannot stand in a value: quote a text that holds a colon and a blank, or indent the key like its neighbors"},
		{"tab", "things:\n\ta: 1\n", "f.yaml:2:1: is not valid YAML: a tab stands here, and YAML is indented with spaces alone"},
		{"dedent", "things:\n  a: 1\n b: s3cr3t-CaNaRy\n", "f.yaml:3:2: is not valid YAML: does not belong here: indent it like a line above, and look for a bracket or colon too many before it"},
		{"no colon", "things: {}\ns3cr3t-CaNaRy\n", "f.yaml:2:1: is not valid YAML: a key needs a colon, a blank and a value: a text alone stands among keys"},
		{"reserved", "things: @s3cr3t-CaNaRy\n", "f.yaml:1:9: is not valid YAML: begins with a character that YAML reserves: quote the text"},
		{"escape", "things: \"s3cr3t \\CaNaRy\"\n", "f.yaml:1:18: is not valid YAML: holds an escape that YAML does not know: write \\\\ for a backslash, or use single quotes"},
		{"tag", "things: {a: !!str 5}\n", "f.yaml:1:13: tags are not supported"},
		{"Latin-1", "things: \xe9\n", "f.yaml:1:9: is not UTF-8 text"},
		{"NUL", "things:\n  a\x00: 1\n", "f.yaml:2:4: holds a control character"},
		{"1 MiB + 1", "things: {}\n" + strings.Repeat("#", 1<<20-10), "f.yaml:1:1: the file has more than 1 MiB"},
		{"lists", "things: " + strings.Repeat("[", 100_000), "f.yaml:1:74: is nested deeper than 64 levels"},
		{"closed lists", "things: " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), "is nested deeper than 64 levels"},
		{"objects", strings.Repeat("{a: ", 100_000), "is nested deeper than 64 levels"},
		{"block lists", strings.Repeat("- ", 100_000) + "a", "is nested deeper than 64 levels"},
		{"block keys", strings.Repeat("? ", 100_000) + "a", "is nested deeper than 64 levels"},
		{"indented", indented(1000), "is nested deeper than 64 levels"},
		{"anchors", "things: " + strings.Repeat("&a ", 100_000) + "x", "a value can have one anchor only"},
		{"tags", strings.Repeat("!a ", 100_000), "tags are not supported"},
		{"keys", "things:\n" + strings.Repeat("  a: b\n", 100_000), "the file has more than 10,000 keys"},
		{"65 levels", "things: {a: {text: t, free: " + strings.Repeat("{a: ", 62) + "1" + strings.Repeat("}", 64), "is nested deeper than 64 levels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := read(tt.content, nil, nil)
			if len(got) != 1 || !strings.HasSuffix(got[0], tt.want) || strings.Contains(got[0], "CaNaRy") {
				t.Errorf("faults are %q, want %q", got, tt.want)
			}
		})
	}
}

func indented(levels int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, "%*sa:\n", i, "")
	}
	return b.String()
}

func TestAliases(t *testing.T) {
	t.Parallel()
	var got []string
	faults := read(`things:
  a: &first {text: one, list: &l [x, y]}
  b: *first
  c: {text: two, list: *l}
`, nil, func(things *file.Node) {
		for m := range things.Members() {
			got = append(got, m.Name()+string(m.JSON()))
		}
	})
	want := []string{`a{"text":"one","list":["x","y"]}`, `b{"text":"one","list":["x","y"]}`, `c{"text":"two","list":["x","y"]}`}
	if diff := cmp.Diff(want, got); diff != "" || faults != nil {
		t.Errorf("faults %q, values (-want +got):\n%s", faults, diff)
	}

	var bomb strings.Builder
	bomb.WriteString("other:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 30 {
		fmt.Fprintf(&bomb, "  a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	if got := read(bomb.String(), nil, nil); len(got) != 1 || !strings.Contains(got[0], "aliases stand for more than 10,000 values") {
		t.Errorf("bomb: %q", got)
	}
	if got := read("other:\n  a: &a {b: *a}\n", nil, nil); len(got) != 1 || got[0] != "f.yaml:2:13: /other/a/b: stands for a value that it is part of" {
		t.Errorf("recursion: %q", got)
	}
}

// The core schema of YAML 1.2, not what older versions read.
func TestScalars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"~": "null", "null": "null", "": "null", "true": "true", "FALSE": "false",
		"yes": `"yes"`, "off": `"off"`, "NO": `"NO"`, "1_000": `"1_000"`, "2001-01-01": `"2001-01-01"`, "12:30:45": `"12:30:45"`, "0b11": `"0b11"`,
		"5": "5", "-05": "-5", "+7": "7", "-0": "0", "0o17": "15", "0x1F": "31", "1.50": "1.5", ".5": "0.5", "1e3": "1000", "18446744073709551617": "18446744073709551617",
		`"5"`: `"5"`, `'a''b'`: `"a'b"`, `"\u00e9\n"`: `"é\n"`, "a b # c": `"a b"`, "http://h:80/x?y=z": `"http://h:80/x?y=z"`,
		"|\n   a\n    b\n": `"a\n b\n"`, ">-\n   a\n   b\n": `"a b"`, "$${A}": `"${A}"`, "US$5": `"US$5"`, "${A}": `"1"`, "a${A}b${NO:-x}c${EMPTY:-y}": `"a1bxcy"`, "${NO:-}": `""`, "$$$${A}": `"$${A}"`,
		"${QUOTED}": `"\"${A}: x"`,
	} {
		var got string
		table := file.Table{{Name: "other", Schema: `{"type": "object"}`, Read: func(n *file.Node) { got = string(n.Get("v").JSON()) }}}
		r := table.Read("f.yaml", []byte("other:\n  v: "+text+"\n"), config.Sources{Lookup: configtest.World{Env: map[string]string{"A": "1", "EMPTY": "", "QUOTED": `"${A}: x`}}.Lookup})
		if got != want || r.Faults != nil {
			t.Errorf("%s: got %s, want %s (%v)", text, got, want, r.Faults)
		}
	}
	for _, text := range []string{".inf", "-.INF", ".nan", "1e999", strings.Repeat("9", 65), "0x1ffffffffffffffff"} {
		if got := read("other: {v: "+text+"}", nil, nil); len(got) != 1 || !strings.HasPrefix(got[0], "f.yaml:1:12: /other/v: ") {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// What is at a bound of a file is accepted; what is above is among the bad files.
func TestFilesAtTheBounds(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"1 MiB":       "other: {}\n" + strings.Repeat("#", 1<<20-10),
		"a BOM":       "\ufeffother: {}\n",
		"64 levels":   "other: " + strings.Repeat("{a: ", 63) + "1" + strings.Repeat("}", 63),
		"a key":       "other: {\"" + strings.Repeat("k", 1024) + "\": 1}",
		"10,000 keys": "other:\n" + keys(9_989),
		"a number":    "other: {v: " + strings.Repeat("9", 64) + "}",
		"line ends":   "other:\r\n  a: b\r\n",
		"marks":       "---\nother: {}\n...\n",
		"a tab":       "other: {}\t# a comment\n",
	} {
		if got := read(content, nil, nil); got != nil {
			t.Errorf("%s: %.200q", name, got)
		}
	}
	for name, content := range map[string]string{
		"10,001 keys": "other:\n" + keys(9_990),
		"65 levels":   "other: " + strings.Repeat("{a: ", 65) + "1" + strings.Repeat("}", 65),
		"a BOM twice": "\ufeff\ufeffother: {}\n",
		"DEL":         "other: {a: \x7f}\n",
		"C1":          "other: {a: \u0081}\n",
	} {
		if got := read(content, nil, nil); len(got) != 1 {
			t.Errorf("%s: %.200q", name, got)
		}
	}
}

// keys are n members of ten objects, which are members themselves.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		if i%1000 == 0 {
			fmt.Fprintf(&b, "  o%d:\n", i)
		}
		fmt.Fprintf(&b, "    k%d: 1\n", i)
	}
	return b.String()
}

// An anchor may come again: an alias means the last before it. Aliases stand for 10,000 values
// together.
func TestAliasesMeanTheLastAnchor(t *testing.T) {
	t.Parallel()
	var got string
	use := func(content string) []string {
		table := file.Table{{Name: "other", Schema: `{"type":"object"}`, Read: func(n *file.Node) { got = string(n.JSON()) }}}
		var lines []string
		for _, f := range table.Read("f", []byte(content), config.Sources{Lookup: configtest.World{}.Lookup}).Faults {
			lines = append(lines, f.Name+" "+f.Message)
		}
		return lines
	}
	if faults := use("other: {a: &x 1, b: *x, c: &x 2, d: *x}"); faults != nil || got != `{"a":1,"b":1,"c":2,"d":2}` {
		t.Errorf("got %s, %q", got, faults)
	}
	items := strings.TrimSuffix(strings.Repeat("1, ", 99), ", ") // 100 values with the list
	aliases := func(n int) string { return strings.TrimSuffix(strings.Repeat("*x, ", n), ", ") }
	if faults := use("other: {a: &x [" + items + "], b: [" + aliases(100) + "]}"); faults != nil || strings.Count(got, "1") != 101*99 {
		t.Errorf("10,000 values: %q, of which %d are there", faults, strings.Count(got, "1"))
	}
	if faults := use("other: {a: &x [" + items + "], b: [" + aliases(101) + "]}"); len(faults) != 1 || !strings.HasSuffix(faults[0], "the file's aliases stand for more than 10,000 values") {
		t.Errorf("10,100 values: %q", faults)
	}
}

// A key is the text that stands there, whatever YAML would read it as; one that is no text is
// not accepted.
func TestKeys(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"5": `"5"`, "1.50": `"1.50"`, "true": `"true"`, "null": `"null"`, "~": `"~"`, ".inf": `".inf"`, "'a b'": `"a b"`, `"\u00e9"`: `"é"`,
	} {
		var got string
		table := file.Table{{Name: "other", Schema: `{}`, Read: func(n *file.Node) { got = string(n.JSON()) }}}
		if r := table.Read("f", []byte("other: {"+key+": 1}"), config.Sources{Lookup: configtest.World{}.Lookup}); got != "{"+want+":1}" || r.Faults != nil {
			t.Errorf("%s: got %s (%v)", key, got, r.Faults)
		}
	}
	for content, want := range map[string]string{
		"other: {a: 1, 'a': 2}":      "f.yaml:1:15: /other/a: is given twice",
		"other: {a: 1}\nother: {}\n": "f.yaml:2:1: /other: is given twice",
	} {
		if got := read(content, nil, nil); len(got) != 1 || got[0] != want {
			t.Errorf("%q: got %q, want %q", content, got, want)
		}
	}
}

// What stands behind ${ is judged by its form, and its default is a text of its own.
func TestVariables(t *testing.T) {
	t.Parallel()
	const form = "${ must be followed by a variable's name and }, or :- and a default between them; write $$ for a plain $"
	env := map[string]string{"A": "1", "B_2": "${A}", "E": ""}
	for text, want := range map[string]string{
		"${A}${A}": "11", "$A": "$A", "a$": "a$", "$": "$", "$}": "$}", "$$": "$", "$$$": "$$", "${B_2}": "${A}",
		"${E}": "", "${E:-x}": "x", "${A:-x}": "1", "${NO:-a:-b}": "a:-b", "${NO:-$$}": "$$", "${NO:- x }": " x ",
		"${}": form, "${A": form, "${A-x}": form, "${1A}": form, "${ A }": form, "${A:x}": form, "${:-x}": form,
		"${NO}": "the variable NO is not set", "${NO}${NO2}": "the variable NO2 is not set",
	} {
		var got string
		table := file.Table{{Name: "other", Schema: `{}`, Read: func(n *file.Node) { got, _ = n.Get("v").Text() }}}
		for _, f := range table.Read("f", []byte("other: {v: '"+text+"'}"), config.Sources{Lookup: configtest.World{Env: env}.Lookup}).Faults {
			got += strings.TrimPrefix(f.Message, "/other/v: ")
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"things:\n  a: {text: x}\n", `{"things": {"a": {"text": "${A}"}}}`, "a: &a [*a]", "a: }", "? x\n: y", "a: |\n  b", "'a': \"b\"", "a:\n- b\n-\n", "{a, b}", "- : x", "[a: b]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		for _, line := range read(content, map[string]string{"A": "1"}, func(n *file.Node) {
			n.JSON()
			n.Sound()
		}) {
			if strings.Contains(line, "\n") {
				t.Errorf("a fault has two lines: %q", line)
			}
		}
	})
}
