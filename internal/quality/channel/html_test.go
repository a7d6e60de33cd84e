package channel_test

import (
	"html"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
)

const (
	th    = `<th dir="ltr" style="padding: 4px 8px; border: 1px solid #cccccc; background-color: #f4f4f4; text-align: `
	td    = `<td dir="ltr" style="padding: 4px 8px; border: 1px solid #cccccc; text-align: `
	pre   = `<pre dir="ltr" style="padding: 8px; background-color: #f4f4f4; font-family: Consolas, Menlo, monospace; font-size: 13px; white-space: pre-wrap">`
	code  = `<code style="font-family: Consolas, Menlo, monospace; font-size: 13px">`
	quote = `<blockquote dir="ltr" style="margin: 0 0 0 8px; padding: 0 0 0 8px; border-left: 3px solid #cccccc">` + "\n"
	table = `<div style="max-width: 100%; overflow-x: auto"><table dir="ltr" style="border-collapse: collapse"><tbody>` + "\n"
)

// bodyOf is what the mail of a text has within its one box.
func bodyOf(t *testing.T, r *channel.Response) string {
	t.Helper()
	_, rest, ok := strings.Cut(r.HTML, "line-height: 1.5\">\n")
	inner, closed := strings.CutSuffix(rest, "</div></body></html>\n")
	if !ok || !closed {
		t.Fatalf("there is no box: %s", r.HTML)
	}
	return inner
}

// Each construct as an element, and nothing besides.
func TestElementsOfAMail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"text", "a\nb", "<p dir=\"ltr\">a<br>\nb</p>\n"},
		{"a hard line end", "a  \nb", "<p dir=\"ltr\">a<br>\nb</p>\n"},
		{"two paragraphs", "a\n\nb", "<p dir=\"ltr\">a</p>\n<p dir=\"ltr\">b</p>\n"},
		{"emphasis", "**a** _b_ ~~c~~ ***d***", `<p dir="ltr"><strong>a</strong> <em>b</em> <del>c</del> <em><strong>d</strong></em></p>` + "\n"},
		{"headings", "# a\n\n###### b", "<h1 dir=\"ltr\">a</h1>\n<h6 dir=\"ltr\">b</h6>\n"},
		{"a rule", "a\n\n***", "<p dir=\"ltr\">a</p>\n<hr>\n"},
		{"code", "`a<b`", `<p dir="ltr">` + code + "a&lt;b</code></p>\n"},
		{"a block of code", "```\na &amp; <b>\n  c\n```", pre + "a &amp;amp; &lt;b&gt;\n  c</pre>\n"},
		{"a block of no code", "```\n```", "<pre style=\"" + strings.SplitN(pre, `style="`, 2)[1] + "</pre>\n"},
		{"a quote", "> a", quote + "<p dir=\"ltr\">a</p>\n</blockquote>\n"},
		{"a quote in a quote", "> > a", quote + quote + "<p dir=\"ltr\">a</p>\n</blockquote>\n</blockquote>\n"},
		{"a list", "- a\n- b", "<ul dir=\"ltr\">\n<li>a</li>\n<li>b</li>\n</ul>\n"},
		{"a list with numbers", "1) a\n2) b", "<ol dir=\"ltr\">\n<li>a</li>\n<li>b</li>\n</ol>\n"},
		{"a list from zero", "0. a", "<ol start=\"0\" dir=\"ltr\">\n<li>a</li>\n</ol>\n"},
		{"a list in a list", "- a\n  - b", "<ul dir=\"ltr\">\n<li>a\n<ul dir=\"ltr\">\n<li>b</li>\n</ul>\n</li>\n</ul>\n"},
		{"a quote in a list", "- a\n  > b", "<ul dir=\"ltr\">\n<li>a\n" + quote + "<p dir=\"ltr\">b</p>\n</blockquote>\n</li>\n</ul>\n"},
		{"a list in a quote", "> - a", quote + "<ul dir=\"ltr\">\n<li>a</li>\n</ul>\n</blockquote>\n"},
		{"tasks", "- [ ] a\n- [x] b", "<ul dir=\"ltr\">\n<li>[ ] a</li>\n<li>[x] b</li>\n</ul>\n"},
		{"a link", `[a](https://b.c/?d=e&f="g" "t")`, `<p dir="ltr"><a href="https://b.c/?d=e&amp;f=%22g%22" title="t">a</a></p>` + "\n"},
		{"a link that is its target", "<https://b.c>", `<p dir="ltr"><a href="https://b.c">https://b.c</a></p>` + "\n"},
		{"an address", "a@b.cc", `<p dir="ltr"><a href="mailto:a@b.cc">a@b.cc</a></p>` + "\n"},
		{"an image", "![a](https://b.c/d.png)", `<p dir="ltr"><a href="https://b.c/d.png">a</a></p>` + "\n"},
		{"an image without a text", "![](https://b.c)", `<p><a href="https://b.c">https://b.c</a></p>` + "\n"},
		{"a target that is dropped", "[a **b**](javascript:c)", `<p dir="ltr">a <strong>b</strong></p>` + "\n"},
		{"HTML", "<b onclick=\"x\">a</b>", `<p dir="ltr">&lt;b onclick=&#34;x&#34;&gt;a&lt;/b&gt;</p>` + "\n"},
		{"what must be escaped", `" ' & < >`, `<p>&#34; &#39; &amp; &lt; &gt;</p>` + "\n"},
		{
			"a table", "|a|b|\n|-|-:|\n|c|d|\n|e|f|",
			table + "<tr>" + th + `start">a</th>` + th + "right\">b</th></tr>\n<tr>" + td + `start">c</td>` + td + "right\">d</td></tr>\n<tr>" + td + `start">e</td>` + td + "right\">f</td></tr>\n</tbody></table></div>\n",
		},
		{
			"two tables", "|a|\n|:-|\n\ntext\n\n|b|\n|:-:|",
			table + "<tr>" + th + "left\">a</th></tr>\n</tbody></table></div>\n<p dir=\"ltr\">text</p>\n" + table + "<tr>" + th + "center\">b</th></tr>\n</tbody></table></div>\n",
		},
		{
			"a surplus cell", "|a|\n|-|\n|b|c|",
			table + "<tr>" + th + "start\">a</th></tr>\n<tr>" + td + `start">b</td>` + td + "start\">c</td></tr>\n</tbody></table></div>\n",
		},
	} {
		r := format(builtin(channel.Email), tt.in)
		if diff := cmp.Diff(tt.want, bodyOf(t, r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if r.Text != r.Content || r.IsSplit || len(r.Metadata.Degraded) > 0 && !strings.Contains(tt.name, "image") {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

// The frame has the language, the subject and the brand as texts, and no more.
func TestFrameOfAMail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, locale, brand, subject, want string
	}{
		{"bare", "", "", "s", "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>s</title></head>\n<body><div dir=\"ltr\" style="},
		{"a language", "de-DE", "", "s", "<!DOCTYPE html>\n<html lang=\"de-DE\"><head><meta charset=\"utf-8\"><title>s</title></head>\n<body>"},
		{"a title that is text", "", "", `<b> & "c"`, "<title>&lt;b&gt; &amp; &#34;c&#34;</title>"},
		{"a brand", "", "A & B", "s", "line-height: 1.5\">\n<p dir=\"ltr\" style=\"margin: 0 0 16px 0; padding: 0 0 8px 0; border-bottom: 1px solid #cccccc; color: #666666\">A &amp; B</p>\n<p dir=\"ltr\">x</p>"},
		{"a brand from right to left", "", "מותג", "s", "<p dir=\"rtl\" style=\"margin: 0 0 16px 0;"},
		{"a brand of several lines", "", "A\r\n B", "s", ">A B</p>\n"},
	} {
		spec := builtin(channel.Email)
		spec.Brand = tt.brand
		r := channeltest.Format(channel.New(spec), channel.Input{Text: "x", Locale: tt.locale, Subject: tt.subject})
		if !strings.Contains(r.HTML, tt.want) {
			t.Errorf("%s lacks\n%s\nin\n%s", tt.name, tt.want, r.HTML)
		}
		if tt.brand == "" && strings.Contains(r.HTML, "border-bottom") {
			t.Errorf("%s: there is a brand in %s", tt.name, r.HTML)
		}
		if strings.Contains(r.Text, "A &") || r.Text != "x" {
			t.Errorf("%s: the text is %q", tt.name, r.Text)
		}
	}
}

// What a mail may not show as markup is text in the same order, with its marks of lists and
// quotes; what is left of the features is shown.
func TestMailWithoutFeatures(t *testing.T) {
	t.Parallel()
	const in = "# a\n\n**b** [c](https://d.e) `f`\n\n> g\n\n- h\n\n|i|j|\n|-|-|\n|k|l|\n\n~~m~~ ![n](https://o.p \"q\")"
	for _, tt := range []struct {
		keep []string
		want string
	}{
		{nil, "<p dir=\"ltr\">a</p>\n<p dir=\"ltr\">b c (https://d.e) f</p>\n<p dir=\"ltr\">&gt; g</p>\n<p dir=\"ltr\">- h</p>\n<p dir=\"ltr\">i: j<br>\nk: l</p>\n" +
			"<p dir=\"ltr\">[struck out: m] n (https://o.p) &#34;q&#34;</p>\n"},
		{[]string{"bold", "lists"}, "<p dir=\"ltr\">a</p>\n<p dir=\"ltr\"><strong>b</strong> c (https://d.e) f</p>\n<p dir=\"ltr\">&gt; g</p>\n<ul dir=\"ltr\">\n<li>h</li>\n</ul>\n<p dir=\"ltr\">i: j<br>\nk: l</p>\n" +
			"<p dir=\"ltr\">[struck out: m] n (https://o.p) &#34;q&#34;</p>\n"},
		{[]string{"headers", "links", "strike"}, "<h1 dir=\"ltr\">a</h1>\n<p dir=\"ltr\">b <a href=\"https://d.e\">c</a> f</p>\n<p dir=\"ltr\">&gt; g</p>\n<p dir=\"ltr\">- h</p>\n<p dir=\"ltr\">i: j<br>\nk: l</p>\n" +
			"<p dir=\"ltr\"><del>m</del> <a href=\"https://o.p\" title=\"q\">n</a></p>\n"},
	} {
		spec := builtin(channel.Email)
		spec.Features = channel.FeaturesOf(tt.keep...)
		r := format(spec, in)
		if diff := cmp.Diff(tt.want, bodyOf(t, r)); diff != "" {
			t.Errorf("with %q (-want +got):\n%s", tt.keep, diff)
		}
		var want []string
		for _, name := range []string{"bold", "code", "headers", "images", "links", "lists", "quotes", "strike", "tables"} {
			kept := strings.Contains(strings.Join(tt.keep, " "), name)
			if name == "images" || !kept {
				want = append(want, name)
			}
		}
		if diff := cmp.Diff(want, r.Metadata.Degraded); diff != "" {
			t.Errorf("with %q degraded (-want +got):\n%s", tt.keep, diff)
		}
	}
}

// No text of any script opens an element: read without its tags a mail says what its source
// says, and the only tags are ours.
func TestMailHasNoOtherTags(t *testing.T) {
	t.Parallel()
	const ours = " p h1 h2 h3 h4 h5 h6 pre code blockquote ul ol li table tbody tr th td strong em del br hr div span a "
	g := channeltest.New(21)
	f := channel.New(builtin(channel.Email))
	for range 300 {
		text := g.Text().Markdown + "x <script>x</script> <img src=y> &lt;i&gt; \"'"
		inner := bodyOf(t, channeltest.Format(f, channel.Input{Text: text}))
		for _, tag := range strings.Split(inner, "<")[1:] {
			name, rest, ok := strings.Cut(tag, ">")
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "/"), " ")
			if !ok || !strings.Contains(ours, " "+name+" ") || strings.Contains(rest, ">") {
				t.Fatalf("<%s in the mail of\n%s", tag, text)
			}
		}
		if read := html.UnescapeString(inner); !strings.Contains(read, "<script>x</script>") || !strings.Contains(read, "<img src=y> <i> \"'") {
			t.Fatalf("HTML of the source is lost in\n%s", inner)
		}
	}
}
