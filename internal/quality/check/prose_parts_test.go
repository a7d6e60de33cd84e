package check

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// proseOf takes Markdown apart.
func proseOf(source string) *prose {
	in := Input{Text: source}
	return in.answerProse()
}

// The text of an answer is what a reader sees of it, without code and addresses.
func TestProseText(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"":                               "",
		"\n\n":                           "",
		"a":                              "a\n",
		"a\nb":                           "a\nb\n",
		"a\n\n\n\nb\n":                   "a\nb\n",
		"**a** _b_ ~~c~~":                "a b c\n",
		"# a\n\nb":                       "a\nb\n",
		"a `b 5` c":                      "a   c\n",
		"```\n5\n```\na":                 "\na\n",
		"    5 is code\n\na *b*":         "\na b\n",
		"[a 5](https://x.test/6)":        "a 5\n",
		"![a 5](https://x.test/6)":       "a 5\n",
		"<https://x.test/6> *a*":         "  a\n",
		"a <b c=\"5\">6</b> *d*":         "a <b c=\"5\">6</b> d\n",
		"a\\\nb":                         "a\nb\n",
		"a  \nb":                         "a\nb\n",
		"&#49;2 &amp; \\*3":              "12 & *3\n",
		"1. *a*\n2. b":                   "a\n\nb\n\n\n",
		"> *a*":                          "a\n\n",
		"|a|b|\n|-|-|\n|1|2|":            "a\nb\n\n1\n2\n\n\n",
		"- [x] *a*":                      "a\n\n\n",
		"<div>\n5\n</div>\n\n*a*":        "<div>\n5\n</div>\n\na\n",
		"[a]: https://x.test\n\n[a] *b*": "\na b\n",
	} {
		got := proseOf(source).text
		if squeezed(got) != squeezed(want) {
			t.Errorf("%q is %q, want %q", source, got, want)
		}
	}
}

// squeezed makes one line end of several, as how many a block ends with says nothing.
func squeezed(text string) string {
	for strings.Contains(text, "\n\n") {
		text = strings.ReplaceAll(text, "\n\n", "\n")
	}
	return text
}

// Links are found wherever Markdown, HTML or a client makes one.
func TestProseLinks(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"none *here*":                            "",
		"[a](https://b.test/c)":                  "https://b.test/c",
		"[a](https://b.test/c \"title\")":        "https://b.test/c",
		"[a][x]\n\n[x]: https://b.test/c":        "https://b.test/c",
		"![a](https://b.test/c)":                 "https://b.test/c",
		"[![a](https://b.test)](https://c.test)": "https://b.test https://c.test",
		"<https://b.test/c>":                     "https://b.test/c",
		"<ann@b.test>":                           "ann@b.test",
		"*x* https://b.test/c":                   "https://b.test/c",
		"*x* `https://b.test/c`":                 "https://b.test/c",
		"*x*\n\n```\nhttps://b.test/c\n```":      "",
		"*x*\n\n    https://b.test/c":            "",
		"*x* <a href=\"https://b.test/c\">y</a>": "https://b.test/c",
		"<div>\n<a href=\"//b.test/c\">\n</div>": "//b.test/c b.test/c",
		"plain www.b.test":                       "http://www.b.test",
		"*x* www.b.test":                         "http://www.b.test",
		"[a](/path)":                             "/path",
		"\\[a](https://b.test)":                  "https://b.test",
		"[a](https://b.test/?c=1&amp;d=2)":       "https://b.test/?c=1&d=2",
		`[a](https://b.test/c\_d)`:               "https://b.test/c_d",
		`![a](https://b.test/c\_d)`:              "https://b.test/c_d",
	} {
		links := slices.Sorted(slices.Values(proseOf(source).links))
		got := strings.Join(slices.Compact(links), " ")
		if got != want {
			t.Errorf("%q has %q, want %q", source, got, want)
		}
	}
}

// How many items a list has is counted for each list.
func TestProseLists(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]int{
		"none": nil, "- a\n- b": {2}, "1. a\n2. b\n3. c": {3}, "- a\n  - b\n  - c\n- d": {2, 2}, "- a\n\ntext\n\n1. b": {1, 1}, "- [x] a\n- [ ] b": {2},
	} {
		if diff := cmp.Diff(want, proseOf(source).lists); diff != "" {
			t.Errorf("%q (-want +got):\n%s", source, diff)
		}
	}
}

// What is markup is named by its kind and by how its text begins.
func TestProseConstructs(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"none":                              "",
		"*a b*":                             "emphasis:ab",
		"_a_":                               "emphasis:a",
		"**a**":                             "bold text:a",
		"***a***":                           "bold text:a emphasis:a",
		"~~a~~":                             "struck text:a",
		"# a 1":                             "a heading:a1",
		"a\n===":                            "a heading:a",
		"`a = 1`":                           "code:a1",
		"```go\na := 1\n```":                "a block of code:a1",
		"~~~\na\n~~~":                       "a block of code:a",
		"    a":                             "", // what is indented may be anything
		"[a](b)":                            "a link:a",
		"![a](b)":                           "an image:a",
		"[![a](b)](c)":                      "a link:a an image:a",
		"|a|b|\n|-|-|\n|c|d|":               "a table:abcd",
		"- a\n- b":                          "",
		"> a":                               "",
		"- [x] a":                           "",
		"---":                               "",
		"<b>a</b>":                          "",
		"`?!`":                              "", // it has nothing by which to compare it
		"# **a**":                           "a heading:a bold text:a",
		"2 * 3 * 4":                         "",
		"a_b_c":                             "",
		"*" + strings.Repeat("a", 70) + "*": "emphasis:" + strings.Repeat("a", 64),
	} {
		var got []string
		for b := range proseOf(source).built {
			got = append(got, b.kind+":"+b.begin)
		}
		slices.Sort(got)
		list := strings.Join(got, " ")
		if list != want && strings.Join(slices.Sorted(slices.Values(strings.Split(want, " "))), " ") != strings.Join(slices.Sorted(slices.Values(strings.Split(list, " "))), " ") {
			t.Errorf("%q has %q, want %q", source, list, want)
		}
	}
}

// A text without the characters of a construct needs no parser.
func TestMayHave(t *testing.T) {
	t.Parallel()
	for kind, texts := range map[string]map[string]bool{
		"a heading":       {"# a": true, "a\n===": true, "a\n---": true, "a\n-- \t": true, "a\n": false, "a - b": false, "a -": true},
		"a block of code": {"```\na": true, "~~~\na": true, "``a``": false},
		"code":            {"`a`": true, "`a": false, "": false},
		"a link":          {"[a](b)": true, "(a)": false},
		"an image":        {"![a](b)": true, "!": false},
		"a table":         {"a|b": true, "a": false},
		"struck text":     {"~a~": true, "~a": false, "~ a ~": false, "a ~ b": false},
		"bold text":       {"**a**": true, "__a__": true, "* a": false, "2 * 3 * 4": false, "*a b*": true, "*a\n\nb*": false, "*a\nb*": true, "*a *": false, "* a*": false, "a*b": false, "*a* b": true, "a *b": false},
		"emphasis":        {"_a_": true, "*a*": true, "a_": false, "_a": false, "_": false, "__": true, "_a\n\n_b_": true},
	} {
		for text, want := range texts {
			if got := mayHave(text, kind); got != want {
				t.Errorf("%q may have %s: %v, want %v", text, kind, got, want)
			}
		}
	}
}

// The feedback names one kind of what is left of the source's markup, always the same.
func TestPlainText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ source, text, want string }{
		{"", "plain", ""},
		{"", "**b** and *e*", "bold text"},
		{"", "# h and *e*", "a heading"},
		{"", "*e*", "emphasis"},
		{"", "~~s~~", "struck text"},
		{"", "`c`", "code"},
		{"", "[l](x)", "a link"},
		{"", "![i](x)", "an image"},
		{"", "|a|b|\n|-|-|\n|c|d|", "a table"},
		{"", "```\nc\n```", "a block of code"},
		{"**b**", "b", ""},
		{"**b**", "*b*", ""}, // it is not what was written
		{"**b**", "**b**!", "bold text"},
		{"**b**", "**c**", ""},
		{"**b** `**c**`", "b **c**", ""}, // characters that were code
		{"*e* and [l](x)", "e and [l](x)", "a link"},
		{"*e* and [l](x)", "e and l (x)", ""},
		{"# h", "h\n=", "a heading"},
		{"- a\n- b", "- a\n- b", ""},
		{"plain", "**b**", ""},
	} {
		o := verdict(t, "plain_text", "", Input{Source: tt.source, Text: tt.text})
		want := tt.want
		if want != "" {
			want = "The answer must be plain text, and has " + want + " as Markdown."
		}
		if o.Feedback != want || o.Passed != (want == "") {
			t.Errorf("%q of %q: %q, want %q", tt.text, tt.source, o.Feedback, want)
		}
	}
}

// Entities and escapes of the source are what they stand for.
func TestResolved(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{"": "", "plain": "plain", `\*`: "*", `\a`: `\a`, "&amp;": "&", "&#49;": "1", "&#x31;": "1", "&euro;": "€", "&none;": "&none;", "a & b": "a & b"} {
		if got := resolveText([]byte(source)); got != want {
			t.Errorf("%q is %q, want %q", source, got, want)
		}
	}
}

// Checks of one answer share what they find, and the Markdown that others have parsed.
func TestProseIsShared(t *testing.T) {
	t.Parallel()
	shared := reader.Source(nil, "**a** 5")
	in := Input{Text: "a 5", Source: "**a** 5", Markdown: shared}
	first := in.answerProse()
	if in.answerProse() != first || !maps.Equal(first.built, map[built]bool{{"bold text", "a"}: true}) {
		t.Errorf("%+v", first)
	}
	other := Input{Text: "*b*", Markdown: shared} // it is of another text
	if got := other.answerProse(); got.text != "b\n" {
		t.Errorf("%+v", got)
	}
	if first, again := in.sharedEvidence(), in.sharedEvidence(); first != again {
		t.Error("the evidence is read twice")
	}
}
