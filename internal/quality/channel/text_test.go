package channel_test

import (
	"html"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/markdown"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
)

// Blocks next to and within each other, as lines.
func TestLinesOfBlocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"blank lines around", "\n\na\n\n\n", "a"},
		{"paragraphs", "a\n\n\n\nb", "a\n\nb"},
		{"a heading and its text", "a\n\n# b\nc", "a\n\nb\nc"},
		{"headings in a row", "# a\n## b", "a\n\nb"},
		{"a list behind a text", "a\n- b\n- c\n\nd", "a\n\n- b\n- c\n\nd"},
		{"a loose list", "- a\n\n- b", "- a\n- b"},
		{"two paragraphs of an item", "- a\n\n  b\n- c", "- a\n  b\n- c"},
		{"numbers of two digits", "9. a\n10. b\n    - c", "9. a\n10. b\n    - c"},
		{"numbers of four digits", "1000. a\n      b", "1000. a\n    b"},
		{"code in an item", "- a\n\n      b\n      c", "- a\n  b\n  c"},
		{"code that an item begins with", "-     a\n      b", "- \n  a\n  b"},
		{"a heading in an item", "- # a\n  b", "- a\n  b"},
		{"a table in an item", "- |a|b|\n  |-|-|\n  |c|d|", "- \n  a: b\n  c: d"},
		{"a list in a quote", "> - a\n> - b\n>\n> c", "> - a\n> - b\n>\n> c"},
		{"code in a quote", "> ```\n> a\n>\n> b\n> ```", "> a\n>\n> b"},
		{"a table in a quote", "> |a|b|\n> |-|-|\n> |c|d|", "> a: b\n> c: d"},
		{"quotes in a row", "> a\n\n\n> b", "> a\n\n> b"},
		{"quotes apart", "> a\n\nb\n\n> c", "> a\n\nb\n\n> c"},
		{"a rule between lists", "- a\n\n---\n\n- b", "- a\n\n- b"},
		{"code between texts", "a\n```\nb\n```\nc", "a\n\nb\n\nc"},
		{"no code", "a\n\n```\n```\n\nb", "a\n\nb"},
		{"a line end in a cell", "|a|b|c|\n|-|-|-|\n|d<br>e|f|g|", "a: d<br>e; b: f; c: g"},
		{"an empty header", "||b|c|\n|-|-|-|\n|d|e|f|", "d; b: e; c: f"},
		{"a header that ends with a colon", "|a:|b:|c:|\n|-|-|-|\n|d|e|f|", "a: d; b: e; c: f"},
		{"a name that ends with a colon", "|a:|b|\n|-|-|\n|c:|d|", "a: b\nc: d"},
		{"one column", "|a|\n|-|\n|b|\n|c|", "a\nb\nc"},
		{"one column with surplus", "|a|\n|-|\n|b|c|", "a\nb: c"},
		{"two columns with surplus", "|a|b|\n|-|-|\n|c|d|e|", "a: b\nc: d; e"},
		{"empty cells at the end", "|a|b|c|\n|-|-|-|\n|d|||", "a: d; b:; c:"},
		{"markup in cells", "|a|**b**|c|\n|-|-|-|\n|`d`|[e](http://f)|~~g~~|", "a: d; b: e (http://f); c: [struck out: g]"},
	} {
		if got := format(builtin(channel.Plain), tt.in).Content; got != tt.want {
			t.Errorf("%s: %q is %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// Marks of WhatsApp next to and within each other; ^ is a guard.
func TestMarksOfWhatsApp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, want string
		degraded       []string
	}{
		{"each", "**a** _b_ ~~c~~ `d`", "*a* _b_ ~c~ `d`", nil},
		{"bold in a heading", "# **a**", "*a*", []string{"headers"}},
		{"bold in bold", "**a __b__ c**", "*a b c*", nil},
		{"nested", "**a _b ~~c~~_**", "*a _b ~c~_*", nil},
		{"over lines", "_a\nb\nc_", "_a_\n_b_\n_c_", nil},
		{"over lines of a quote", "> **a\n> b**", "> *a*\n> *b*", nil},
		{"over lines of an item", "- **a\n  b**", "- *a*\n  *b*", nil},
		{"blanks at the ends", "**a`b `**", "*ab* ", []string{"code"}},
		{"code with blanks", "`` `a` ``", "`a`", []string{"code"}},
		{"code in bold", "**`a`**", "*`a`*", nil},
		{"code of blanks", "` `", " ", []string{"code"}},
		{"a fence", "```\na\n```", "```\na\n```", nil},
		{"a fence in an item", "- a\n\n  ```\n  b\n    c\n  ```\n- d", "- a\n```\nb\n  c\n```\n- d", nil},
		{"a fence in a quote", "> ```\n> a\n> ```", "```\na\n```", nil},
		{"a fence that an item begins with", "- ```\n  a\n  ```", "- \n```\na\n```", nil},
		{"a fence of blanks", "x\n\n```\n \n```", "x\n\n ", []string{"code"}},
		{"a link in bold", "**[a](http://b)**", "a (http://b)", []string{"bold", "links"}},
		{"a URL in bold", "Open **https://b.c/x** now", "Open https://b.c/x now", []string{"bold"}},
		{"a URL at the end of bold", "**PR: https://b.c/x**", "PR: https://b.c/x", []string{"bold"}},
		{"a URL within bold", "**see https://b.c/x now**", "*see https://b.c/x now*", nil},
		{"a URL in italic in bold", "**_www.b.cd/x_**", "www.b.cd/x", []string{"bold", "italic"}},
		{"a URL that is struck", "a ~~https://b.c/x~~ **d**", "a [struck out: https://b.c/x ] *d*", []string{"strike"}},
		{"struck with bold and a URL", "~~**a** `b` https://b.c/x~~ **d**", "[struck out: *a* `b` https://b.c/x ] *d*", []string{"strike"}},
		{"a URL in a heading", "# Docs: https://b.c/x", "Docs: https://b.c/x", []string{"bold", "headers"}},
		{"a URL on a line of bold", "**a https://b.c/x\nd e**", "a https://b.c/x\nd e", []string{"bold"}},
		{"marks in a URL", "See https://b.c/?q=*a*&r=_b_ now", "See https://b.c/?q=*a*&r=_b_ now", nil},
		{"bold in a link", "[**a**](http://b)", "*a* (http://b)", []string{"links"}},
		{"an image", "![a](http://b)", "a (http://b)", []string{"images"}},
		{"within a word", "a**b**c _d_", "abc _d_", []string{"bold"}},
		{"a table", "|a|b|\n|-|-|\n|_c_|d|", "a: b\n_c_: d", []string{"tables"}},
		{"marks in a header", "|**a**|b|c|\n|-|-|-|\n|d|**e**|f|", "a: d; b: *e*; c: f", []string{"tables"}},
	} {
		r := format(builtin(channel.WhatsApp), tt.in)
		if got := strings.ReplaceAll(r.Content, "\u2060", "^"); got != tt.want {
			t.Errorf("%s: %q is %q, want %q", tt.name, tt.in, got, tt.want)
		}
		if !slices.Equal(r.Metadata.Degraded, tt.degraded) {
			t.Errorf("%s: degraded %q, want %q", tt.name, r.Metadata.Degraded, tt.degraded)
		}
		if r.Metadata.MarkdownRemoved != (len(tt.degraded) > 0) {
			t.Errorf("%s: markup is removed: %t", tt.name, r.Metadata.MarkdownRemoved)
		}
	}
}

// What a channel shows decides what counts as lost: plain text shows nothing, and lists and
// quotes by their lines.
func TestDegradedInPlainText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"a": {}, "# a": {"headers"}, "**a** _b_": {}, "~~a~~": {"strike"}, "`a`": {"code"}, "```\na\n```": {"code"}, "- a": {}, "> a": {}, "|a|\n|-|": {"tables"},
		"[a](http://b)": {"links"}, "<http://b>": {}, "![a](http://b)": {"images"}, "![](http://b)": {}, "[a](b)": {"links"},
		"# a\n\n~~b~~ `c` ~~d~~ ![e](http://f)": {"code", "headers", "images", "strike"},
	} {
		for _, name := range []string{channel.Plain, channel.SMS} {
			r := format(builtin(name), in)
			if diff := cmp.Diff(want, r.Metadata.Degraded); diff != "" {
				t.Errorf("%s of %q (-want +got):\n%s", name, in, diff)
			}
			if removed := in != "a" && in != "<http://b>"; r.Metadata.MarkdownRemoved != removed && !strings.HasPrefix(in, "[") && !strings.HasPrefix(in, "![") {
				t.Errorf("%s of %q: markup is removed: %t", name, in, r.Metadata.MarkdownRemoved)
			}
		}
	}
}

// The page gets its Markdown as it is, whatever it holds.
func TestWebIsUntouched(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 26, 13, 0, 0, 0, time.FixedZone("", 3600))
	in := channel.Input{RequestID: "req_7", Before: "Hi\r\n", Text: "**a**\x00 [b](javascript:c) 😀\u202e", After: "\xff😀", At: at}
	got := channeltest.Format(channel.New(builtin(channel.Web)), in)
	if got.Content != in.Before+in.Text+in.After || got.RequestID != "req_7" || got.Channel != "web" || got.ContentType() != "text/plain" {
		t.Errorf("%+v", got)
	}
	want := channel.Metadata{EmojisUsed: []string{"😀"}, Degraded: []string{}}
	if diff := cmp.Diff(want, got.Metadata); diff != "" || got.IsSplit || got.Parts == nil || got.FormattedAt != at.UTC() {
		t.Errorf("%+v, metadata (-want +got):\n%s", got, diff)
	}
}

// A source that somebody else has read gives the same as one's own; one of another text is
// not looked at.
func TestSharedSource(t *testing.T) {
	t.Parallel()
	const text = "# a\n\n**b** \x00c"
	for _, name := range []string{channel.SMS, channel.WhatsApp, channel.Teams, channel.Email, channel.Plain} {
		f := channel.New(builtin(name))
		want := channeltest.Format(f, channel.Input{Text: text})
		for of, source := range map[string]string{"the text": text, "the clean text": "# a\n\n**b** c", "another text": "other"} {
			shared := markdown.NewParser().Source(nil, source)
			if diff := cmp.Diff(want, channeltest.Format(f, channel.Input{Text: text, Source: shared}), cmp.AllowUnexported(channel.Response{})); diff != "" {
				t.Errorf("%s with %s (-want +got):\n%s", name, of, diff)
			}
		}
	}
}

// What stands around a text is worded with it.
func TestFramedText(t *testing.T) {
	t.Parallel()
	in := channel.Input{Before: "Hi **Ann**!\n\n", Text: "- a", After: "\n\n_Bye_"}
	for name, want := range map[string]string{
		channel.Plain: "Hi Ann!\n\n- a\n\nBye", channel.SMS: "Hi Ann!\n\n- a\n\nBye", channel.WhatsApp: "Hi *Ann*!\n\n- a\n\n_Bye_", channel.Teams: "Hi Ann!\n\n- a\n\nBye", channel.Email: "Hi Ann!\n\n- a\n\nBye",
	} {
		if got := channeltest.Format(channel.New(builtin(name)), in).Content; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A formatter keeps its memory, and no text shows in the next one.
func TestFormatterIsUsedAgain(t *testing.T) {
	t.Parallel()
	g := channeltest.New(33)
	texts := []string{"", strings.Repeat("**long** ", 9_000), "a", "> - `b`", "|a|b|c|\n|-|-|-|\n|1|2|3|"}
	for range 40 {
		texts = append(texts, g.Text().Markdown)
	}
	for _, name := range []string{channel.SMS, channel.WhatsApp, channel.Teams, channel.Email, channel.Plain} {
		used := channel.New(builtin(name))
		for _, text := range texts {
			got, want := channeltest.Format(used, channel.Input{Text: text}), format(builtin(name), text)
			got.RequestID, got.FormattedAt = want.RequestID, want.FormattedAt
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(channel.Response{})); diff != "" {
				t.Fatalf("%s, %.40q (-new +used):\n%s", name, text, diff)
			}
		}
	}
}

// An indicator stands in front of a part or behind it, on its own line next to a quote.
func TestIndicators(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in     string
		where        channel.Indicator
		form         string
		first, final string
	}{
		{"in front", strings.Repeat("word ", 12), channel.Prefix, channel.Plain, "(1/2) word", "(2/2) word"},
		{"behind", strings.Repeat("word ", 12), channel.Suffix, channel.Plain, "word", "word (2/2)"},
		{"none", strings.Repeat("word ", 12), channel.NoIndicator, channel.Plain, "word", "word"},
		{"above a quote", "> " + strings.Repeat("word ", 12), channel.Prefix, channel.WhatsApp, "(1/2)\n> word", "(2/2)\n> word"},
		{"below a quote", "> " + strings.Repeat("word ", 12), channel.Suffix, channel.WhatsApp, "> word", "word\n(2/2)"},
		{"above an item", "- " + strings.Repeat("word ", 12), channel.Prefix, channel.Plain, "(1/2)\n- word", "(2/2) word"},
	} {
		spec := builtin(tt.form)
		spec.MaxLength, spec.MaxParts, spec.Indicator, spec.Split = 50, 9, tt.where, channel.ByWord
		r := format(spec, tt.in)
		if len(r.Parts) != 2 || !strings.HasPrefix(r.Parts[0].Content, tt.first) || !strings.Contains(r.Parts[1].Content, tt.final) {
			t.Errorf("%s: %+v", tt.name, r.Parts)
			continue
		}
		for i, p := range r.Parts {
			if want := map[bool]string{true: "", false: []string{"(1/2)", "(2/2)"}[i]}[tt.where == channel.NoIndicator]; p.Indicator != want || p.Sequence != i+1 {
				t.Errorf("%s: part %d is %+v", tt.name, i, p)
			}
		}
	}
}

// Own fields are those of the channel: of the whole if it is one, of each part else.
func TestOwnFields(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 2_000)
	for _, name := range []string{channel.SMS, channel.WhatsApp, channel.Plain, channel.Email, channel.Teams} {
		short := format(builtin(name), "word").ChannelFields
		has := map[string]bool{
			channel.SMS: short.Encoding == channel.GSM7 && short.Segments == 1 && short.Units == 4, channel.WhatsApp: short.Chars == 4, channel.Plain: cmp.Equal(short, channel.ChannelFields{}),
			channel.Email: short.Subject == "word" && short.Text == "word" && short.HTML != "", channel.Teams: len(short.Card) > 0 && short.Bytes > 1024,
		}
		if !has[name] {
			t.Errorf("%s has %+v", name, short)
		}
		r := format(builtin(name), long)
		if r.IsSplit && !cmp.Equal(r.ChannelFields, channel.ChannelFields{}) {
			t.Errorf("%s is split, and the whole has %+v", name, r.ChannelFields)
		}
		for _, p := range r.Parts {
			if name == channel.SMS && p.Units != len(p.Content) || name == channel.WhatsApp && p.Chars != len(p.Content) {
				t.Errorf("%s: a part of %d bytes has %+v", name, len(p.Content), p.ChannelFields)
			}
		}
	}
}

// A bare URL stands whole in each channel, and no link points to a part of it.
func TestURLsStayWhole(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"https://de.example.org/wiki/Köln", "https://example.com/a*b", "https://example.com/?q=*a*&r=1", "https://example.com/x|y", "https://example.com/😀",
		"https://example.com/½×2", "https://example.com/straße?x=ü", "https://example.com/_a_/~~b~~c", "http://localhost:8080/a_b_c", "https://xn--mnchen-3ya.example/ü#a", "www.example.com/ö_a_b",
	} {
		for _, in := range []string{"See " + url + " now", "See " + url + ".", "“" + url + "”", "- " + url + "\n- b"} {
			for _, name := range []string{channel.SMS, channel.Plain, channel.WhatsApp, channel.Email, channel.Teams} {
				r := format(builtin(name), in)
				if content := strings.ReplaceAll(r.Content, "\u2060", ""); !strings.Contains(content, url) {
					t.Errorf("%s: %q became %q", name, in, content)
				}
				href := html.EscapeString(url)
				if strings.HasPrefix(url, "www.") {
					href = "http://" + href
				}
				if name == channel.Email && !strings.Contains(r.HTML, `href="`+href+`"`) && strings.Contains(r.HTML, "href=") {
					t.Errorf("%q has the link in %s", in, r.HTML)
				}
				if card := html.UnescapeString(string(r.Card)); strings.Contains(card, "](") && !strings.Contains(card, url+")") {
					t.Errorf("%q has the card %s", in, card)
				}
			}
		}
	}
}
