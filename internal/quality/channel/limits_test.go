package channel_test

import (
	"bytes"
	"encoding/json"
	"net/mail"
	"strings"
	"testing"
	"time"

	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
)

// The figures that docs/channel-rules.md names, each at its edge.
func TestEdgesOfMail(t *testing.T) {
	t.Parallel()
	spec := builtin(channel.Email)
	empty := len(format(spec, "a").HTML) - 2 // the text stands in the title too
	for size, want := range map[int]bool{102_400: false, 102_401: true} {
		subject := "b"
		r := channeltest.Format(channel.New(spec), channel.Input{Text: strings.Repeat("a", size-empty-len(subject)), Subject: subject})
		if len(r.HTML) != size || r.Metadata.ClipRisk != want {
			t.Errorf("%d bytes of HTML: clip_risk is %t", len(r.HTML), r.Metadata.ClipRisk)
		}
	}
	if got := format(spec, "# "+strings.Repeat("a", 78)+"\n\nx").Subject; got != strings.Repeat("a", 78) {
		t.Errorf("78 characters are a subject as they are, and not %q", got)
	}
	if got := format(spec, "# "+strings.Repeat("é", 79)+"\n\nx").Subject; got != strings.Repeat("é", 78) {
		t.Errorf("of 79 characters 78 are a subject, and not %q", got)
	}
	for _, subject := range []string{"=?UTF-8?B?QQ==?=", "a =? b", strings.Repeat("a", 69), strings.Repeat("a", 70), strings.Repeat("word ", 39) + "end", "\x7f ~", strings.Repeat("é😀", 90)} {
		r := channeltest.Format(channel.New(spec), channel.Input{Text: "x", Subject: subject})
		text, err := r.MIME(time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := bytes.Cut(text, []byte("\r\n\r\n"))
		for line := range bytes.SplitSeq(head, []byte("\r\n")) {
			if len(line) > 78 {
				t.Errorf("%q: a line of %d bytes", subject, len(line))
			}
		}
		m, err := mail.ReadMessage(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Header.Get("Subject"); strings.Contains(subject, "=?") && got == subject {
			t.Errorf("%q stands as it is: it reads as encoded", subject)
		}
	}
}

// A list counts from where it begins, and its items are paragraphs if one has several; the
// first line of code is shown though it is empty; a language is an attribute and no markup.
func TestHTMLOfMail(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"3. a\n4. b":         "<ol start=\"3\" dir=\"ltr\">\n<li>a</li>\n<li>b</li>\n</ol>",
		"1. a\n2. b":         "<ol dir=\"ltr\">\n<li>a</li>",
		"- a\n\n  b\n- c":    "<ul dir=\"ltr\">\n<li><p dir=\"ltr\">a</p>\n<p dir=\"ltr\">b</p>\n</li>\n<li><p dir=\"ltr\">c</p>\n</li>\n</ul>",
		"- a\n\n- b":         "<ul dir=\"ltr\">\n<li>a</li>\n<li>b</li>\n</ul>",
		"```\n\nx\n```":      "pre-wrap\">\n\nx</pre>",
		"[a](/b \"t <u>\")":  `<p dir="ltr">a &#34;t &lt;u&gt;&#34;</p>`,
		"[](tel:+1 '\"')":    `<a href="tel:+1" title="&#34;">tel:+1</a>`,
		"a\n\n---\n\n#### b": "<hr>\n<h4 dir=\"ltr\">b</h4>",
	} {
		r := channeltest.Format(channel.New(builtin(channel.Email)), channel.Input{Text: in, Locale: `"><b>`})
		if !strings.Contains(r.HTML, want) || !strings.Contains(r.HTML, `<html lang="&#34;&gt;&lt;b&gt;">`) {
			t.Errorf("%q lacks\n%s\nin\n%s", in, want, r.HTML)
		}
	}
}

// cardOf returns the card of a text, and its size as a reader of JSON counts it.
func cardOf(t *testing.T, text string) (card string, r *channel.Response) {
	t.Helper()
	r = format(builtin(channel.Teams), text)
	quoted, err := json.Marshal(string(r.Card))
	if err != nil {
		t.Fatal(err)
	}
	if plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted)); r.Bytes != len(plain)+1024 {
		t.Errorf("the card counts %d bytes, and not %d", r.Bytes, len(plain)+1024)
	}
	return string(r.Card), r
}

// What is a table, a heading, code or a direction in a card, at its edges.
func TestEdgesOfCards(t *testing.T) {
	t.Parallel()
	table := func(columns, cell int) string {
		return strings.Repeat("|a", columns) + "|\n" + strings.Repeat("|-", columns) + "|\n|" + strings.Repeat("b", cell) + strings.Repeat("|c", columns-1) + "|"
	}
	for _, tt := range []struct {
		name, in, has string
		want          bool
	}{
		{"eight columns", table(8, 1), `"type":"Table"`, true},
		{"nine columns", table(9, 1), `"type":"Table"`, false},
		{"a long cell", table(2, 400), `"type":"Table"`, true},
		{"a longer cell", table(2, 401), `"type":"Table"`, false},
		{"a table in a list", "- x\n\n  |a|b|\n  |-|-|\n  |c|d|", `"type":"Table"`, false},
		{"a table that is parted has one header", table(2, 1) + strings.Repeat("\n|"+strings.Repeat("d", 300)+"|e|", 30), `,"firstRowAsHeaders":false}`, true},
		{"a table has a header", table(2, 1), "firstRowAsHeaders", false},
		{"Hebrew", "1. (שלום) hello", `,"rtl":true,"body"`, true},
		{"Arabic behind marks", "**12 - مرحبا**", `,"rtl":true,"body"`, true},
		{"Hebrew behind Latin", "a שלום", "rtl", false},
		{"Hebrew behind Greek", "α שלום", "rtl", false},
		{"Hebrew behind Han", "你 שלום", "rtl", false},
		{"no letters", "1 + 2", "rtl", false},
		{"a heading", "# a", `"size":"Large"`, true},
		{"a smaller heading", "## a", `"style":"heading","weight":"Bolder","size":"Medium"`, true},
		{"code keeps its indent", "```\n \tx\n```", "\"text\":\"\u00a0\u00a0\u00a0\u00a0\u00a0x\"", true},
		{"a quote", `say "x\y"`, `"fallbackText":"say \"x\\y\""`, true},
		{"literal markup", "\\# a\n\\> b\n\\+ c\n\\- d\n1\\. e\n\\| f\n\\= g", `"text":"\\# a\n\n\\> b\n\n\\+ c\n\n\\- d\n\n1\\. e\n\n\\| f\n\n\\= g"`, true},
		{"literal spans", "a \\*b\\* \\_c\\_ \\`d\\` \\[e\\](f) \\<g> \\~h &amp;lt; \\\\", `"text":"a \\*b\\* \\_c\\_ \\` + "`d\\\\`" + ` \\[e\\](f) \\<g> \\~h \\&lt; \\\\"`, true},
		{"a target with brackets", `[a](<https://b.c/(d)\\e> "t")`, `"text":"[a](https://b.c/%28d%29%5Ce) \"t\""`, true},
	} {
		card, _ := cardOf(t, tt.in)
		if strings.Contains(card, tt.has) != tt.want {
			t.Errorf("%s: %s", tt.name, card)
		}
	}
}

// A header of 60 bytes stands in each row, a longer one in the first.
func TestLongHeaders(t *testing.T) {
	t.Parallel()
	for size, times := range map[int]int{60: 2, 61: 1} {
		header := strings.Repeat("h", size)
		r := format(builtin(channel.Plain), "|"+header+"|b|c|\n|-|-|-|\n|1|2|3|\n|4|5|6|")
		if got := strings.Count(r.Content, header); got != times {
			t.Errorf("%d bytes: %d times in %s", size, got, r.Content)
		}
	}
}

// What may stand behind a link's text, and what is the same as it.
func TestTargets(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"[+49 30 1](tel:+49301)": "+49 30 1", "[+1](tel:+1)": "+1", "[a@b.cc](mailto:a@b.cc)": "a@b.cc", "[b.c](http://b.c)": "b.c", "[b.c](https://b.c)": "b.c",
		"[b.c](https://b.c/)": "b.c (https://b.c/)", "[a](HTTPS://b.c)": "a (HTTPS://b.c)", "[a](ftp://b.c)": "a", "[a](//b.c)": "a", "[a](java&#x09;script:b)": "a", "[a](<https://b.c/ d\"<e>)": "a (https://b.c/%20d%22%3Ce)",
	} {
		if got := format(builtin(channel.Plain), in).Content; got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// The type of what is sent, by the form of the channel.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		channel.Teams: "application/vnd.microsoft.card.adaptive", channel.Email: "multipart/alternative", channel.SMS: "text/plain", channel.WhatsApp: "text/plain", channel.Plain: "text/plain",
	} {
		spec := builtin(name)
		spec.Name = "own"
		if got := format(spec, "x").ContentType(); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
}

// A source above 256 KiB is text, and says so.
func TestLongSourceIsText(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]bool{256 << 10: false, 256<<10 + 1: true} {
		text := "**a** " + strings.Repeat("b", size-6)
		r := format(builtin(channel.Plain), text)
		if r.Metadata.MarkupIgnored != want || (r.Content == text) != want {
			t.Errorf("%d bytes: %+v, %.10s", size, r.Metadata, r.Content)
		}
	}
}

// Where a text is cut, no control of order is left without its partner: in a part, in a
// block of a card, in what a card's notification says, in a subject.
func TestCutsBalanceTheOrder(t *testing.T) {
	t.Parallel()
	text := "\u2067" + strings.Repeat("word ", 3000) + "end\u2069"
	odd := func(s string) bool { return strings.Count(s, "\u2067") != strings.Count(s, "\u2069") }
	for _, name := range []string{channel.SMS, channel.WhatsApp, channel.Plain, channel.Teams} {
		spec := builtin(name)
		spec.MaxParts, spec.MaxLength = 20, 4096
		r := format(spec, text)
		if !r.IsSplit {
			t.Errorf("%s is not split", name)
		}
		for _, p := range r.Parts {
			var card struct {
				FallbackText string
				Body         []struct{ Text string }
			}
			if p.Card != nil {
				if err := json.Unmarshal(p.Card, &card); err != nil {
					t.Fatal(err)
				}
			}
			for _, block := range card.Body {
				if odd(block.Text) {
					t.Errorf("a block of part %d: %.20q", p.Sequence, block.Text)
				}
			}
			if odd(p.Content) || odd(card.FallbackText) {
				t.Errorf("%s, part %d: %.20q, %.20q", name, p.Sequence, p.Content, card.FallbackText)
			}
		}
	}
	if r := format(builtin(channel.Email), "# "+text); odd(r.Subject) || r.Subject == "" {
		t.Errorf("the subject is %q", r.Subject)
	}
}

// An indicator stands on a line of its own next to a fence, and above an indented line.
func TestIndicatorsNextToCode(t *testing.T) {
	t.Parallel()
	spec := builtin(channel.WhatsApp)
	spec.MaxLength, spec.Indicator = 60, channel.Suffix
	for _, p := range format(spec, "```\n"+strings.Repeat("a line of code\n", 8)+"```").Parts {
		if !strings.HasSuffix(p.Content, "\n```\n"+p.Indicator) {
			t.Errorf("%q", p.Content)
		}
	}
	spec = builtin(channel.Plain)
	spec.MaxLength, spec.MaxParts, spec.Indicator = 40, 9, channel.Prefix
	for i, p := range format(spec, "```\n"+strings.Repeat("  a line of code\n", 8)+"```").Parts {
		if want := p.Indicator + "\n  a line"; !strings.HasPrefix(p.Content, want) {
			t.Errorf("part %d is %q", i, p.Content)
		}
	}
	spec = builtin(channel.Plain)
	spec.SupportsEmojis = false
	if got := format(spec, "a 😀 b").Content; got != "a b" {
		t.Errorf("without emojis: %q", got)
	}
}

// Dots behind code stand below its fence.
func TestDotsBelowAFence(t *testing.T) {
	t.Parallel()
	for _, where := range []channel.Indicator{channel.Prefix, channel.Suffix} {
		spec := builtin(channel.WhatsApp)
		spec.MaxLength, spec.MaxParts, spec.Indicator = 60, 2, where
		r := format(spec, "```\n"+strings.Repeat("a line of code\n", 20)+"```")
		last := strings.TrimSuffix(r.Parts[len(r.Parts)-1].Content, " (2/2)")
		if !r.Metadata.Truncated || !strings.HasSuffix(last, "\n```\n…") || !strings.HasSuffix(r.Content, "\n```\n…") {
			t.Errorf("%s: %q, %q", where, last, r.Content)
		}
	}
}

// Ten parts and more have a longer indicator, for which there is room; lists keep
// their nesting; emojis that come again are listed once; the longest emoji of
// Unicode is one grapheme.
func TestMoreEdges(t *testing.T) {
	t.Parallel()
	spec := builtin(channel.Plain)
	spec.MaxLength, spec.MaxParts, spec.Split, spec.Indicator = 40, 20, channel.ByWord, channel.Prefix
	r := format(spec, strings.Repeat(strings.Repeat("a", 16)+" ", 18)+"end") // two would fit next to (1/9)
	if len(r.Parts) < 10 {
		t.Fatalf("%d parts", len(r.Parts))
	}
	for _, p := range r.Parts {
		if len(p.Content) > 40 {
			t.Errorf("%q has %d characters", p.Content, len(p.Content))
		}
	}
	if got := format(builtin(channel.Plain), "😀 👍 😀").Metadata.EmojisUsed; len(got) != 2 || got[0] != "😀" || got[1] != "👍" {
		t.Errorf("emojis used are %q", got)
	}
	var deep strings.Builder
	for i := range 12 {
		deep.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	if got := format(builtin(channel.Plain), deep.String()).Content + "\n"; got != deep.String() {
		t.Errorf("lists in lists are %q", got)
	}
	kiss := "👩🏽\u200d❤️\u200d💋\u200d👩🏿"
	spec.Emojis = channel.EmojisMax(1)
	if got := format(spec, kiss+kiss).Content; got != kiss {
		t.Errorf("one of two is %q", got)
	}
}
