package check

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Addresses are found as clients make links of them: with a scheme, www., or a host with a path.
func TestWrittenLinks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"see https://a.test/b":             "https://a.test/b",
		"see HTTP://a.test":                "HTTP://a.test",
		"(https://a.test/b).":              "https://a.test/b",
		"https://a.test/b, https://c.test": "https://a.test/b https://c.test",
		"https://a.test/(b)":               "https://a.test/(b)",
		"<https://a.test>":                 "https://a.test",
		`"https://a.test/b"`:               "https://a.test/b",
		"'https://a.test/b'!":              "https://a.test/b",
		"`https://a.test/b`":               "https://a.test/b",
		"»https://a.test/b«":               "https://a.test/b",
		"„https://a.test/b”":               "https://a.test/b",
		"https://a.test/b…":                "https://a.test/b",
		"x=https://a.test/?q=1":            "https://a.test/?q=1",
		"http://a.test?u=https://b.test":   "http://a.test?u=https://b.test",
		"https://a.test?u=http://b.test":   "https://a.test?u=http://b.test",
		"https://a.test\u00a0is":           "https://a.test",
		"https://a.test\nnext":             "https://a.test",
		"https://a.test|b":                 "https://a.test|b",
		"**https://a.test/b**":             "https://a.test/b",
		"https://a.test/b_c_":              "https://a.test/b_c",
		"www.a.test":                       "www.a.test",
		"WWW.a.test.":                      "WWW.a.test",
		"(www.a.test)":                     "www.a.test",
		"www.a":                            "",
		"www.":                             "",
		"a.test":                           "", // without a path it may be anything
		"a.test/":                          "",
		"a.test/b":                         "a.test/b",
		"(a.test/b)":                       "a.test/b",
		"[a.test/b](x":                     "a.test/b",
		"a.test/b(c)":                      "a.test/b(c)",
		"a.test/b*c":                       "a.test/b*c",
		"sub.a.test/b?c=d#e":               "sub.a.test/b?c=d#e",
		"bücher.test/b":                    "bücher.test/b",
		"and/or":                           "",
		"24.11/25.11":                      "",
		"1/2":                              "",
		"Node.js/Express":                  "",
		"main.go/x":                        "",
		"style.css/x index.html/x a.json/b c.PDF/d": "",
		"a.t/b":        "",
		".test/b":      "",
		"a.b1/c":       "",
		"a_b.test/c":   "",
		"a b.test/c":   "b.test/c",
		"ftp://a.test": "ftp://a.test",
		"/a/b":         "",
		"//a.test/b":   "a.test/b",
		"?!.":          "",
		"":             "",
		"!/!":          "",
	} {
		if got := strings.Join(linksInText(text), " "); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}

// The targets of raw HTML are links, whichever attribute has them and however it is quoted.
func TestAttributes(t *testing.T) {
	t.Parallel()
	for html, want := range map[string]string{
		`<a href="https://a.test/b">`:            "https://a.test/b",
		`<a href='https://a.test/b'>`:            "https://a.test/b",
		`<a href=https://a.test/b>`:              "https://a.test/b",
		`<a HREF = "x">`:                         "x",
		`<a href="https://a.test/?b=1&amp;c=2">`: "https://a.test/?b=1&c=2",
		`<img src="a" alt="b">`:                  "a",
		`<form action="a"><button formaction=b>`: "a b",
		`<object data="a"><video poster="b">`:    "a b",
		`<body background="a"><q cite="b">`:      "a b",
		`<a data-href="x" title="href">`:         "x", // the name ends so
		`<a xhref="x">`:                          "",
		`<a href="">`:                            "",
		`<a href>`:                               "",
		`<br>`:                                   "",
		`<a href="a" href="b">`:                  "a b",
	} {
		if got := strings.Join(attributeTargets(html), " "); got != want {
			t.Errorf("%s has %q, want %q", html, got, want)
		}
	}
}

// A link must stand in the evidence as a whole.
func TestHasLink(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, link string
		want       bool
	}{
		{"https://a.test/b", "https://a.test/b", true},
		{"see https://a.test/b.", "https://a.test/b", true},
		{"see https://a.test/b, and", "https://a.test/b", true},
		{"https://a.test/b/", "https://a.test/b", true},
		{"https://a.test/b", "https://a.test/b/", true},
		{"https://a.test", "https://a.test/", true},
		{"(https://a.test/b)", "https://a.test/b", true},
		{`"https://a.test/b"`, "https://a.test/b", true},
		{"https://a.test/b?", "https://a.test/b", true},
		{"https://a.test/b&", "https://a.test/b", true},
		{"https://a.test/bc", "https://a.test/b", false},
		{"https://a.test/b/c", "https://a.test/b", false},
		{"https://a.test/b?c=d", "https://a.test/b", false},
		{"https://a.test/b.html", "https://a.test/b", false},
		{"https://a.test/b#c", "https://a.test/b", false},
		{"https://a.test/b-c", "https://a.test/b", false},
		{"https://a.test/b_c", "https://a.test/b", false},
		{"https://a.test/b%20c", "https://a.test/b", false},
		{"https://a.test/b.%20", "https://a.test/b", false},
		{"https://a.test/b~", "https://a.test/b", false},
		{"https://a.test/b+", "https://a.test/b", false},
		{"https://a.test/b@c", "https://a.test/b", false},
		{"https://a.test:8080/b", "https://a.test/b", false},
		{"https://a.test", "https://a.test/b", false},
		{"https://a.test.evil.test", "https://a.test", false},
		{"https://evil-a.test/b", "https://a.test/b", false},
		{"https://evil.a.test/b", "https://a.test/b", false},
		{"https://evila.test/b", "https://a.test/b", false},
		{"https://u@a.test/b", "https://a.test/b", false},
		{"https://u_a.test/b", "https://a.test/b", false},
		{"https://u%a.test/b", "https://a.test/b", false},
		{"https://A.TEST/b", "https://a.test/b", true}, // a host has no case
		{"https://a.test/b", "https://A.Test/b", true},
		{"https://a.test/B", "https://a.test/b", false},
		{"HTTPS://a.test/b", "https://a.test/b", true},
		{"http://a.test/b", "https://a.test/b", false},
		{"https://a.test/b", "http://a.test/b", false},
		{"http://a.test/b https://a.test/b", "https://a.test/b", true},
		{"a.test/b", "https://a.test/b", true}, // it has none in the evidence
		{"shttp://a.test/b", "http://a.test/b", false},
		{"ftp://a.test/b", "http://a.test/b", false},
		{"://a.test/b", "http://a.test/b", false},
		{"https://a.test/b", "a.test/b", true},
		{"https://a.test/bb https://a.test/b", "https://a.test/b", true},
		{"mail ann@a.test", "mailto:ann@a.test", true},
		{"mail ann@a.test", "mailto:ann@a.test?subject=x", true},
		{"mail joann@a.test", "mailto:ann@a.test", false},
		{"call +1-555", "tel:+1-555", true},
		{"call +1-5556", "tel:+1-555", false},
		{"javascript:x", "javascript:x", true},
		{"", "https://a.test", false},
		{"x", "%zz", false},
		{"x", "http://%zz", false},
		{"https://", "https://", false},
	} {
		c := &linksBacked{}
		if got := c.isBacked(&Input{Evidence: []Evidence{{Result: tt.text}}}, tt.link); got != tt.want {
			t.Errorf("%q backs %q: %v", tt.text, tt.link, got)
		}
	}
}

// A host that is allowed backs all links to it, and to no other.
func TestHosts(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]bool{
		"https://a.test/b": true, "http://A.TEST": true, "//a.test/b": true, "a.test/b": true, "https://a.test:8080/b": true, "https://u@a.test/b": true,
		"https://www.a.test/b": false, "https://a.test.evil.test": false, "https://evil.test/a.test": false, "https://a.test@evil.test": false, "https://evil.test?a.test": false, "mailto:ann@a.test": false, "a.test": true, "javascript:a.test": false,
	} {
		c, err := Compile("links_backed", []byte(`{"hosts":["A.test"]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.(*linksBacked).isBacked(&Input{}, link); got != want {
			t.Errorf("%s is allowed: %v", link, got)
		}
	}
}

// The feedback names five links at most, and an answer may not have more than can be looked for.
func TestLinksBacked(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("https://a.test/" + strings.Repeat("x", i+1) + " ")
		}
		return b.String()
	}
	for _, tt := range []struct {
		text, args, want string
		none             bool
	}{
		{"No link.", "", "The answer has no link.", true},
		{"https://b.test https://a.test https://b.test", "", `These links are in no result of a tool: "https://a.test", "https://b.test".`, false},
		{many(6), "", `These links are in no result of a tool: "https://a.test/x", "https://a.test/xx", "https://a.test/xxx", "https://a.test/xxxx", "https://a.test/xxxxx".`, false},
		{many(200), `{"hosts":["a.test"]}`, "", false},
		{many(201), `{"hosts":["a.test"]}`, "The answer has too many links.", false},
		{strings.Repeat("https://a.test ", 300), `{"hosts":["a.test"]}`, "", false},
		{"[a](https://c.test)", "", `These links are in no result of a tool: "https://c.test".`, false},
		{"![a](https://c.test)", "", `These links are in no result of a tool: "https://c.test".`, false},
		{"```\nhttps://c.test\n```", "", "The answer has no link.", true},
	} {
		o := verdict(t, "links_backed", tt.args, Input{Text: tt.text})
		if diff := cmp.Diff(tt.want, o.Feedback); diff != "" || o.NotApplicable != tt.none || o.Passed != (tt.none || tt.want == "") {
			t.Errorf("%.40q: %+v (-want +got):\n%s", tt.text, o, diff)
		}
	}
}

// The link of a result, a question and an argument backs the answer's.
func TestLinksOfAllEvidence(t *testing.T) {
	t.Parallel()
	const link = "https://a.test/b"
	for name, in := range map[string]Input{
		"a result":                 {Evidence: []Evidence{{Result: link}}},
		"a result, as a text":      {Evidence: []Evidence{{Result: `{"a":["` + link + `"]}`}}},
		"a result, within a text":  {Evidence: []Evidence{{Result: `{"a":"see ` + link + `"}`}}},
		"a result, JSON in a text": {Evidence: []Evidence{{Result: `{"a":"{\"b\":\"` + link + `\"}"}`}}},
		"a table":                  {Evidence: []Evidence{{Result: "name|link\na|x\nb|" + link}}},
		"arguments":                {Evidence: []Evidence{{Arguments: `{"a":"` + link + `"}`}}},
		"the question":             {Question: "What is at " + link + "?"},
	} {
		in.Text = "It is at " + link + "."
		if o := verdict(t, "links_backed", "", in); !o.Passed || o.NotApplicable {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// Lower case of ASCII keeps the length of a text and changes no other character.
func FuzzLinks(f *testing.F) {
	f.Add("see HTTPS://Ä.test/b?c=ß", "https://ä.test/b")
	f.Add("<a href=x>www.a.test</a> //a.test/b", "a.test")
	f.Fuzz(func(t *testing.T, text, link string) {
		if lower := lowerASCII(text); len(lower) != len(text) || strings.ContainsAny(lower, latin[26:]) || lowerASCII(lower) != lower {
			t.Fatalf("%q in lower case is %q", text, lower)
		}
		for _, address := range linksInText(text) {
			if !strings.Contains(text, address) || strings.ContainsAny(address, " \n<>\"") {
				t.Fatalf("%q has the address %q", text, address)
			}
			if again := linksInText(address); !slices.Equal(again, []string{address}) {
				t.Fatalf("%q is read as %q", address, again)
			}
		}
		attributeTargets(text)
		// What stands in the evidence alone backs itself.
		c := &linksBacked{}
		if u, err := url.Parse(link); err == nil && u.Host != "" && u.Scheme == "https" && link == u.String() && strings.Trim(link, latin+":/.") == "" {
			if !c.isBacked(&Input{Question: link}, link) {
				t.Fatalf("%q does not back itself", link)
			}
		}
	})
}
