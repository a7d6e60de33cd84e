package channel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/quality/channel"
)

// block, heading and quoted are elements of a card.
func block(text string) string {
	quoted, _ := json.Marshal(text)
	return `{"type":"TextBlock","text":` + string(quoted) + `,"wrap":true}`
}

func heading(text, size string) string {
	return strings.TrimSuffix(block(text), "}") + `,"style":"heading","weight":"Bolder","size":"` + size + `"}`
}

func quoted(elements ...string) string {
	return `{"type":"Container","style":"emphasis","items":[` + strings.Join(elements, ",") + `]}`
}

func codeLine(text string) string {
	return `{"type":"RichTextBlock","spacing":"None","inlines":[{"type":"TextRun","fontType":"Monospace","text":"` + text + `"}]}`
}

func grid(columns int, rows ...[]string) string {
	b := `{"type":"Table","columns":[` + strings.TrimSuffix(strings.Repeat(`{"width":1},`, columns), ",") + `],"rows":[`
	for i, cells := range rows {
		if i > 0 {
			b += ","
		}
		b += `{"type":"TableRow","cells":[`
		for k, text := range cells {
			if k > 0 {
				b += ","
			}
			b += `{"type":"TableCell","items":[` + block(text) + `]}`
		}
		b += "]}"
	}
	return b + "]}"
}

// Each construct as elements of a card.
func TestElementsOfACard(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"text", "a", []string{block("a")}},
		{"two lines", "a\nb", []string{block("a\n\nb")}},
		{"two paragraphs", "a\n\nb", []string{block("a"), block("b")}},
		{"emphasis", "**a** _b_ **c _d_**", []string{block("**a** _b_ **c _d_**")}},
		{"struck", "~~a~~ b", []string{block(`\[struck out: a\] b`)}},
		{"headings", "# a\n\n## **b**\n\nc", []string{heading("a", "Large"), heading("**b**", "Medium"), block("c")}},
		{"a rule", "a\n\n---\n\nb", []string{block("a"), block("b")}},
		{"a code span", "a `*b*` c", []string{block(`a \*b\* c`)}},
		{"code", "```\na\n\n  b \"c\"\n```", []string{quoted(codeLine("a"), codeLine(" "), codeLine("\u00a0\u00a0b \\\"c\\\""))}},
		{"code of blanks", "a\n\n```\n\n \n```", []string{block("a")}},
		{"a quote", "> a\n>\n> b", []string{quoted(block("a")), quoted(block("b"))}},
		{"a quote and text behind it", "> a\n\nb", []string{quoted(block("a")), block("b")}},
		{"a list", "- a\n- b", []string{block("- a\n- b")}},
		{"numbers", "3. a\n4. b", []string{block("3. a\n4. b")}},
		{"a list between texts", "x\n\n- a\n\ny", []string{block("x"), block("- a"), block("y")}},
		{"a line end in an item", "- a\n  b", []string{block("- a b")}},
		{"a line end in a heading", "a\nb\n===", []string{heading("a b", "Large")}},
		{"a link", "[a](https://b.c)", []string{block("[a](https://b.c)")}},
		{"a link in bold", "**a [b](https://c.d) e**", []string{block("**a [b](https://c.d) e**")}},
		{"a link that is its target", "<https://b.c/d_e>", []string{block(`[https://b.c/d\_e](https://b.c/d_e)`)}},
		{"a link without a text", "[](https://b.c)", []string{block("[https://b.c](https://b.c)")}},
		{"a link with a title", `[a](https://b.c "t*")`, []string{block(`[a](https://b.c) "t\*"`)}},
		{"a target that is dropped", `[a](ftp://b.c "t")`, []string{block(`a "t"`)}},
		{"an image", "![a](https://b.c)", []string{block("[a](https://b.c)")}},
		{"a mention", "<at>a</at> @b", []string{block(`\<at>a\</at> @b`)}},
		{"a table", "|a|b|\n|-|-|\n|**c**||", []string{grid(2, []string{"a", "b"}, []string{"**c**", ""})}},
		{"a table between texts", "x\n\n|a|\n|-|\n|b|\n\ny", []string{block("x"), grid(1, []string{"a"}, []string{"b"}), block("y")}},
		{"a table with a surplus cell", "|a|\n|-|\n|b|c|", []string{grid(2, []string{"a"}, []string{"b", "c"})}},
		{"a table that is too wide", "|a|b|c|d|e|f|g|h|i|\n" + strings.Repeat("|-", 9) + "|\n|1|2|3|4|5|6|7|8|9|", []string{block("a: 1; b: 2; c: 3; d: 4; e: 5; f: 6; g: 7; h: 8; i: 9")}},
		{"a line that looks like a list", `12\. a`, []string{block(`12\. a`)}},
		{"a number that no list begins with", "1234567890. a", []string{block("1234567890. a")}},
		{"marks behind the begin of a line", "a # - + > = | b.", []string{block("a # - + > = | b.")}},
		{"nothing", "", nil},
	} {
		r := format(builtin(channel.Teams), tt.in)
		_, body, _ := strings.Cut(string(r.Card), `"body":[`)
		want := strings.ReplaceAll(strings.Join(tt.want, ","), `\u003c`, "<")
		want = strings.ReplaceAll(want, `\u003e`, ">")
		if diff := cmp.Diff(want+"]}", body); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// joinCard is what a test reads of one.
type joinCard struct {
	Type, Version, FallbackText string
	RTL                         bool
	Body                        []struct {
		Type, Text, Size string
		IsSubtle         bool
		Rows             []any
		Items            []any
	}
}

func readCard(t *testing.T, raw []byte) (c joinCard) {
	t.Helper()
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	if c.Type != "AdaptiveCard" || c.Version != "1.5" {
		t.Errorf("it is %s %s", c.Type, c.Version)
	}
	return c
}

// Each of several cards has its indicator as an element, where the channel has it, and the
// plain form of its own elements for a notification.
func TestSeveralCards(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(strings.Repeat("word ", 60)+"\n\n", 60)
	for where, first := range map[channel.Indicator]bool{channel.Prefix: true, channel.Suffix: false} {
		spec := builtin(channel.Teams)
		spec.MaxLength, spec.Indicator, spec.MaxParts = 12_000, where, 20
		r := format(spec, text)
		if len(r.Parts) < 3 || r.Card != nil || r.Bytes != 0 || r.Metadata.Truncated {
			t.Fatalf("%d parts, %+v", len(r.Parts), r.Metadata)
		}
		words := 0
		for i, p := range r.Parts {
			c := readCard(t, p.Card)
			mark, n := c.Body[0], len(c.Body)
			if !first {
				mark = c.Body[n-1]
			}
			if mark.Text != p.Indicator || !mark.IsSubtle || mark.Size != "Small" || p.Sequence != i+1 || c.FallbackText != p.Content {
				t.Errorf("part %d has %+v, and says %.40q", i+1, mark, c.FallbackText)
			}
			words += strings.Count(p.Content, "word")
			if p.Bytes > 12_000 || i+1 < len(r.Parts) && p.Bytes < 8_000 {
				t.Errorf("part %d of %d has %d bytes", i+1, len(r.Parts), p.Bytes)
			}
		}
		if words != 60*60 {
			t.Errorf("%d words", words)
		}
	}
	spec := builtin(channel.Teams)
	spec.MaxLength, spec.Indicator = 12_000, channel.NoIndicator
	for _, p := range format(spec, text).Parts {
		if c := readCard(t, p.Card); p.Indicator != "" || strings.HasPrefix(c.Body[0].Text, "(") {
			t.Errorf("without an indicator it has %q", c.Body[0].Text)
		}
	}
}

// The last card of those that there may be says that more is missing, and so does the whole.
func TestTruncatedCards(t *testing.T) {
	t.Parallel()
	spec := builtin(channel.Teams)
	spec.MaxLength, spec.MaxParts, spec.Indicator = 6_000, 2, channel.Suffix
	r := format(spec, strings.Repeat(strings.Repeat("word ", 40)+"end.\n\n", 60))
	if !r.Metadata.Truncated || len(r.Parts) != 2 || !strings.HasSuffix(r.Content, "end. …") {
		t.Fatalf("%d parts, %+v, …%q", len(r.Parts), r.Metadata, r.Content[len(r.Content)-20:])
	}
	first, last := readCard(t, r.Parts[0].Card), readCard(t, r.Parts[1].Card)
	n := len(last.Body)
	if last.Body[n-2].Text != "…" || last.Body[n-1].Text != "(2/2)" || !strings.HasSuffix(last.FallbackText, "end. … (2/2)") {
		t.Errorf("the last card ends with %+v", last.Body[n-2:])
	}
	for _, e := range first.Body {
		if e.Text == "…" {
			t.Error("the first card has dots")
		}
	}
	joined := strings.TrimSuffix(r.Parts[0].Content, " (1/2)") + "\n\n" + strings.TrimSuffix(r.Parts[1].Content, " (2/2)")
	if squeezed(joined) != squeezed(r.Content) {
		t.Error("the parts are not the content")
	}
}

// A long paragraph becomes several blocks, at words, with the marks that are open closed and
// opened again; a long line of code becomes several lines; a long table several tables.
func TestLongElements(t *testing.T) {
	t.Parallel()
	c := readCard(t, format(builtin(channel.Teams), "**"+strings.Repeat("words of bold ", 400)+"end**").Card)
	if len(c.Body) < 3 {
		t.Fatalf("%d blocks", len(c.Body))
	}
	for _, b := range c.Body {
		if !strings.HasPrefix(b.Text, "**w") && !strings.HasPrefix(b.Text, "**o") && !strings.HasPrefix(b.Text, "**b") || !strings.HasSuffix(b.Text, "**") || len(b.Text) > 3_100 {
			t.Errorf("a block of %d bytes: %.20q … %q", len(b.Text), b.Text, b.Text[len(b.Text)-8:])
		}
		for word := range strings.FieldsSeq(strings.Trim(b.Text, "*")) {
			if !strings.Contains(" words of bold end ", " "+word+" ") {
				t.Errorf("a word is cut: %q", word)
			}
		}
	}
	c = readCard(t, format(builtin(channel.Teams), "```\n"+strings.Repeat("é", 2_000)+"\n```").Card)
	if len(c.Body) == 0 || len(c.Body[0].Items) < 2 {
		t.Errorf("a line of 4,000 bytes is %+v", c.Body)
	}
	wide := builtin(channel.Teams)
	wide.MaxLength = 0
	c = readCard(t, format(wide, "|a|b|\n|-|-|\n"+strings.Repeat("|cell of a row|another cell|\n", 100)).Card)
	rows := 0
	for _, e := range c.Body {
		if e.Type != "Table" {
			t.Errorf("a %s", e.Type)
		}
		rows += len(e.Rows)
	}
	if rows != 101 || len(c.Body) < 2 {
		t.Errorf("%d rows in %d tables", rows, len(c.Body))
	}
}

// A channel without a limit is one card, however long.
func TestCardWithoutALimit(t *testing.T) {
	t.Parallel()
	spec := builtin(channel.Teams)
	spec.MaxLength, spec.MaxParts = 0, 0
	r := format(spec, strings.Repeat("A sentence of words. ", 4_000))
	if r.IsSplit || r.Bytes < 80_000 || len(readCard(t, r.Card).Body) < 10 {
		t.Errorf("%d parts, %d bytes", len(r.Parts), r.Bytes)
	}
	if c := readCard(t, format(spec, "<b>").Card); c.FallbackText != "<b>" || c.RTL {
		t.Errorf("%+v", c)
	}
	if c := readCard(t, format(spec, "שלום world").Card); !c.RTL {
		t.Errorf("%+v", c)
	}
}
