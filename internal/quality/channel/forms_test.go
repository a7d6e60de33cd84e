package channel_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
)

// One table and what is around it, in each channel. UPDATE=1 rewrites the files.
func TestGoldenForms(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("testdata/table.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, pick := range map[string]func(*channel.Response) string{
		channel.SMS:      func(r *channel.Response) string { return r.Content },
		channel.WhatsApp: func(r *channel.Response) string { return r.Content },
		channel.Teams:    func(r *channel.Response) string { return string(r.Card) },
		channel.Email:    func(r *channel.Response) string { return r.HTML },
	} {
		got := pick(format(builtin(name), string(source)))
		file := "testdata/table." + name + ".txt"
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, _ := os.ReadFile(file)
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What becomes of each construct.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, plain, whatsapp string }{
		{"both emphases", "***x***", "x", "_*x*_"},
		{"heading with bold", "## A **b** c", "A b c", "*A b c*"},
		{"within a word", "un*believ*able", "unbelievable", "unbelievable"},
		{"identifiers", "use snake_case_name and 2 * 3 * 4", "use snake_case_name and 2 * 3 * 4", "use snake_case_name and 2 * 3 * 4"},
		{"literal marks that pair", `\*not bold\*`, "*not bold*", "*\u2060not bold*\u2060"},
		{"pipes in a sentence", "a | b | c", "a | b | c", "a | b | c"},
		{"fence with a language", "```python\nx = 1\n```", "x = 1", "```\nx = 1\n```"},
		{"fence with words behind it", "```what it says\nx\n```", "what it says\n\nx", "what it says\n\n```\nx\n```"},
		{"fence in a fence", "````\n```\nx\n```\n````", "```\nx\n```", "```\nx\n```"},
		{"code with a backtick", "``a`b``", "a`b", "a`b"},
		{"code", "`a *b*`", "a *b*", "`a *b*`"},
		{"struck", "~~a~~ b", "[struck out: a] b", "~a~ b"},
		{"bold over lines", "**a\nb**", "a\nb", "*a*\n*b*"},
		{"link", "[a](https://b.c)", "a (https://b.c)", "a (https://b.c)"},
		{"link that is its text", "<https://b.c> and www.b.c and a@b.cc", "https://b.c and www.b.c and a@b.cc", "https://b.c and www.b.c and a@b.cc"},
		{"link with a title", `[a](https://b.c "t u")`, `a (https://b.c) "t u"`, `a (https://b.c) "t u"`},
		{"link elsewhere", "[a](javascript:alert(1)) [b](data:text/html,x) [c](/d)", "a b c", "a b c"},
		{"image", "![a](https://b.c/d.png) ![](https://e.f)", "a (https://b.c/d.png) https://e.f", "a (https://b.c/d.png) https://e.f"},
		{"reference", "[a][1]\n\n[1]: https://b.c\n[2]: https://d.e", "a (https://b.c)\n\n[1]: https://b.c\n\n[2]: https://d.e", "a (https://b.c)\n\n[1]: https://b.c\n\n[2]: https://d.e"},
		{"HTML", "<b>x</b> <!-- y -->\n\n<div>\nz\n</div>", "<b>x</b> <!-- y -->\n\n<div>\nz\n</div>", "<b>x</b> <!-- y -->\n\n<div>\nz\n</div>"},
		{"lists", "3. a\n4. b\n   - c\n     - d\n", "3. a\n4. b\n   - c\n     - d", "3. a\n4. b\n   - c\n     - d"},
		{"tasks", "- [ ] a\n- [x] b", "- [ ] a\n- [x] b", "- [ ] a\n- [x] b"},
		{"an empty item", "- a\n-\n- b", "- a\n- \n- b", "- a\n- \n- b"},
		{"quotes", "> a\n> > b\n\nc", "> a\n>\n> > b\n\nc", "> a\n>\n> > b\n\nc"},
		{"quotes in items", "- > a\n  > b\n- c\n- > d\n  > - e\n-\t> > f\n- >\n- g", "- > a\n  > b\n- c\n- > d\n  > - e\n- > > f\n\n- \n- g", "- > a\n  > b\n- c\n- > d\n  > - e\n- > > f\n\n- \n- g"},
		{"table", "|A|B|C|\n|-|-|-|\n|1|2||\n|4|5|6|7|", "A: 1; B: 2; C:\nA: 4; B: 5; C: 6; 7", "A: 1; B: 2; C:\nA: 4; B: 5; C: 6; 7"},
		{"table of two columns", "|A|B|\n|-|-|\n|1|**2**|", "A: B\n1: 2", "A: B\n1: *2*"},
		{"table without rows", "|A|B|C|\n|-|-|-|", "A: B; C", "A: B; C"},
		{"entities and escapes", `&lt;a&gt; \& &amp;amp; &#65; \_x\_`, "<a> & &amp; A _x_", "<a> & &amp; A _\u2060x_\u2060"},
		{"rule", "a\n\n---\n\nb", "a\n\nb", "a\n\nb"},
		{"overrides", "a\u202eb\u2066c\u2069d\u2067e", "ab\u2066c\u2069de", "ab\u2066c\u2069de"},
		{"what turns the order, around marks and beside an entity", "\u2067a *b* R&D &lt; \\& c\u2069 d&copy", "\u2067a b R&D < & c\u2069 d&copy", "\u2067a _b_ R&D < & c\u2069 d&copy"},
		{"entities that turn the order", "a&#x2067;b&#8294;c&#x202e;d&#8297; &#x2069;e&; &&amp;& &#x41;", "abcd e&; &&& A", "abcd e&; &&& A"},
		{"controls", "a\x00b\x1bc\r\nd\fe\vf\u0085g\u0080h\u009fi\x7fj", "abc\nd\ne\nf\ng" + "hij", "abc\nd\ne\nf\ng" + "hij"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := format(builtin(channel.Plain), tt.in).Content; got != tt.plain {
				t.Errorf("plain is %q, want %q", got, tt.plain)
			}
			if got := format(builtin(channel.WhatsApp), tt.in).Content; got != tt.whatsapp {
				t.Errorf("whatsapp is %q, want %q", got, tt.whatsapp)
			}
		})
	}
}

// What a channel is not to show as markup is written as text, and listed; what it is to show
// stays as it is without the others.
func TestFeatures(t *testing.T) {
	t.Parallel()
	source := map[string]string{
		"headers": "# Head", "bold": "a **b** c", "italic": "a *i* c", "strike": "a ~~s~~ c", "links": `[l](https://a.b "t") <https://c.d>`, "code": "`c`\n\n```\nx\n  y\n```",
		"lists": "3. a\n   - b", "quotes": "> q\n> r", "tables": "|A|B|C|\n|-|-|-|\n|1|2|3|",
	}
	html := map[string]string{
		"headers": `<p dir="ltr">Head</p>`, "bold": `<p dir="ltr">a b c</p>`, "italic": `<p dir="ltr">a i c</p>`, "strike": `<p dir="ltr">a [struck out: s] c</p>`,
		"links": `<p dir="ltr">l (https://a.b) &#34;t&#34; https://c.d</p>`, "code": "<p dir=\"ltr\">c</p>\n<p dir=\"ltr\">x<br>\n\u00a0\u00a0y</p>",
		"lists": "<p dir=\"ltr\">3. a<br>\n\u00a0\u00a0\u00a0- b</p>", "quotes": "<p dir=\"ltr\">&gt; q<br>\n&gt; r</p>", "tables": `<p dir="ltr">A: 1; B: 2; C: 3</p>`,
	}
	block := func(texts ...string) string {
		var all []string
		for _, text := range texts {
			all = append(all, `{"type":"TextBlock","text":"`+text+`","wrap":true}`)
		}
		return strings.Join(all, ",")
	}
	card := map[string]string{
		"headers": block("Head"), "bold": block("a b c"), "italic": block("a i c"), "strike": block(`a \\[struck out: s\\] c`),
		"links": block(`l (https://a.b) \"t\" https://c.d`), "code": block("c", "x", "y"), "lists": block(`3\\. a`, `\\- b`), "quotes": block(`\\> q`, `\\> r`), "tables": block("A: 1; B: 2; C: 3"),
	}
	for _, name := range channel.FeatureNames() {
		for _, form := range []string{channel.Email, channel.Teams} {
			want := map[string]string{channel.Email: html[name], channel.Teams: card[name]}[form]
			without := builtin(form)
			without.Features = channel.FeaturesOf(slices.DeleteFunc(channel.FeatureNames(), func(s string) bool { return s == name })...)
			none := builtin(form)
			none.Markdown = false
			for _, spec := range []channel.Spec{without, none} {
				r := format(spec, source[name])
				if got := r.HTML + string(r.Card); !strings.Contains(got, want) || !slices.Contains(r.Metadata.Degraded, name) || !r.Metadata.MarkdownRemoved {
					t.Errorf("%s without %s lacks\n%s\nin %s\n%+v", form, name, want, got, r.Metadata)
				}
			}
			if r := format(builtin(form), source[name]); strings.Contains(r.HTML+string(r.Card), want) && (form != channel.Teams || name != "strike") {
				t.Errorf("%s with %s has\n%s", form, name, want)
			}
		}
	}
	bare := builtin(channel.WhatsApp)
	bare.Markdown = false
	if r := format(bare, "**a**"); r.Content != "a" || !r.Metadata.MarkdownRemoved {
		t.Errorf("without markup: %q, %+v", r.Content, r.Metadata)
	}
	bare = builtin(channel.WhatsApp)
	bare.Features = channel.FeaturesOf("italic")
	if r := format(bare, "**a** _b_"); r.Content != "a _b_" || !r.Metadata.MarkdownRemoved || !slices.Equal(r.Metadata.Degraded, []string{"bold"}) {
		t.Errorf("without bold: %q, %+v", r.Content, r.Metadata)
	}
}

// Counts of 3GPP TS 23.038 and 23.040.
func TestSegments(t *testing.T) {
	t.Parallel()
	spec := builtin(channel.SMS)
	spec.MaxParts, spec.Transliterate, spec.Emojis = 1, false, channel.EmojisKeep
	for _, tt := range []struct {
		name     string
		text     string
		encoding channel.Encoding
		units    int
		segments int
	}{
		{"one", strings.Repeat("a", 160), channel.GSM7, 160, 1},
		{"two", strings.Repeat("a", 161), channel.GSM7, 161, 2},
		{"an escape pair is not parted", strings.Repeat("a", 152) + "€" + strings.Repeat("a", 10), channel.GSM7, 164, 2},
		{"and may fill one more", strings.Repeat("a", 152) + "€" + strings.Repeat("a", 152), channel.GSM7, 306, 3},
		{"capital c with cedilla", "Ç", channel.GSM7, 1, 1},
		{"small c with cedilla", "ç", channel.UCS2, 1, 1},
		{"line feed", "a\nb", channel.GSM7, 3, 1},
		{"literal backtick", "`` ` ``", channel.UCS2, 1, 1},
		{"extension", "x^{}~|€", channel.GSM7, 13, 1},
		{"UCS-2, one", strings.Repeat("я", 70), channel.UCS2, 70, 1},
		{"UCS-2, two", strings.Repeat("я", 71), channel.UCS2, 71, 2},
		{"pairs are not parted", strings.Repeat("😀", 36), channel.UCS2, 72, 2},
	} {
		r := format(spec, tt.text)
		if r.Encoding != tt.encoding || r.Units != tt.units || r.Segments != tt.segments {
			t.Errorf("%s: %s %d units %d segments, want %s %d %d", tt.name, r.Encoding, r.Units, r.Segments, tt.encoding, tt.units, tt.segments)
		}
	}
}

// The whole alphabet of 3GPP TS 23.038, section 6.2.1, by its rows, and nothing else of the
// basic plane. Line ends and the escape are no characters of a text.
func TestWholeAlphabet(t *testing.T) {
	t.Parallel()
	spec := builtin(channel.SMS)
	spec.Transliterate, spec.Emojis = false, channel.EmojisKeep
	f := channel.New(spec)
	cost := map[rune]int{}
	for _, r := range "@£$¥èéùìòÇØøÅå" + "Δ_ΦΓΛΩΠΨΣΘΞÆæßÉ" + " !\"#¤%&'()*+,-./" + "0123456789:;<=>?" + "¡ABCDEFGHIJKLMNO" + "PQRSTUVWXYZÄÖÑÜ§" + "¿abcdefghijklmno" + "pqrstuvwxyzäöñüà" {
		cost[r] = 1
	}
	for _, r := range "^{}\\[~]|€" {
		cost[r] = 2
	}
	if len(cost) != 128-3+9 {
		t.Fatalf("%d characters", len(cost))
	}
	for r := ' '; r <= 0xffff; r++ {
		if r >= 0x7f && r < 0xa0 || r >= 0xd800 && r < 0xe000 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			continue // cleaned, or no characters
		}
		got := channeltest.Format(f, channel.Input{Text: "x" + string(r) + "y"}).ChannelFields
		if n := cost[r]; n > 0 && (got.Encoding != channel.GSM7 || got.Units != 2+n) || n == 0 && got.Encoding != channel.UCS2 {
			t.Errorf("%U %c: %s, %d units", r, r, got.Encoding, got.Units)
		}
	}
}

// All signs that are replaced, and what by.
func TestTransliteration(t *testing.T) {
	t.Parallel()
	f := channel.New(builtin(channel.SMS))
	for signs, want := range map[string]string{
		"‘’‚‛′‹›": "'", "“”„‟″«»": `"`, "‐‑‒–—―−⁃": "-", "…": "...", "•◦▪‣·●○■": "-", "→⇒➔➜": "->", "←⇐": "<-", "↔⇔": "<->", "×": "x",
		"\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000": " ", "\u200b\u2060\ufeff\u00ad\u200e\u200f": "",
		"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8",
	} {
		for _, r := range signs {
			if got := channeltest.Format(f, channel.Input{Text: "x" + string(r) + "y"}); got.Content != "x"+want+"y" || got.Encoding != channel.GSM7 || !got.Metadata.Transliterated {
				t.Errorf("%U %c: %q in %s", r, r, got.Content, got.Encoding)
			}
		}
	}
	if got := channeltest.Format(f, channel.Input{Text: "x\u2067y\u2069 `\t` z"}); got.Content != "xy   z" || got.Encoding != channel.GSM7 {
		t.Errorf("controls of order and a tab: %q in %s", got.Content, got.Encoding)
	}
}

func TestSMSAlphabet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, want string
		encoding channel.Encoding
	}{
		{"“Hi” – it’s… 1½ × 2 → 3\u00a0€", `"Hi" - it's... 1 1/2 x 2 -> 3 €`, channel.GSM7},
		{"“Привет” – 1½", "“Привет” – 1½", channel.UCS2},
		{"All ✅ done 🎉 now", "All success done now", channel.GSM7},
		{"Готово ✅ 🎉", "Готово ✅ 🎉", channel.UCS2},
		{"a🎉b 🎉", "a b", channel.GSM7},
		{"Done✅next❌❌, 2✅3, ✅\nx✅\ny", "Done success next error error, 2 success 3, success\nx success\ny", channel.GSM7},
		{"a🎉\u200bb 🎉\u200b c 🎉🎉 d\u200b e🎉\u00ad", "a b c d e", channel.GSM7},
		{"a 🎉  b \n🎉 c", "a  b\nc", channel.GSM7},
		{"✅\ufe0f ⚠️ ❌\ufe0f ℹ️", "success warning error info", channel.GSM7},
		{"façade “x”", "façade “x”", channel.UCS2}, // letters stay, and then so does all else
	} {
		spec := builtin(channel.SMS)
		spec.Words = map[string]string{"✅": "success", "⚠️": "warning", "❌": "error", "ℹ️": "info"}
		r := format(spec, tt.in)
		if r.Content != tt.want || r.Encoding != tt.encoding {
			t.Errorf("%q became %q in %s, want %q in %s", tt.in, r.Content, r.Encoding, tt.want, tt.encoding)
		}
	}
}

// Emojis that cost segments go with the blank that they leave, unless nothing is left then.
// They have no words but those of a style: an answer may be in any language.
func TestEmojisThatGo(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"✅ bezahlt ❌ offen": "bezahlt offen",
		"Done 👍.":           "Done.",
		"Done 👍 🎉 !":        "Done!",
		"Done👍 🎉, then 👍":   "Done, then",
		"a 👍\nb 🎉\n\nc":     "a\nb\n\nc",
		"👍 **a** 👍 _b_ (👍)": "a b ()",
		"👍":                 "👍",
		"👍🏽 🎉\n\n❤️":        "👍🏽 🎉\n\n❤️",
		"2*3*4 = 24 👍":      "2*3*4 = 24",
	} {
		in, want = strings.ReplaceAll(in, `\n`, "\n"), strings.ReplaceAll(want, `\n`, "\n")
		if got := format(builtin(channel.SMS), in).Content; got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	spec := builtin(channel.Plain)
	spec.Emojis = channel.EmojisStrip
	if got := format(spec, "Done 👍.\nb 👍\n\n- c 👍\n- **d** 👍 e").Content; got != "Done.\nb\n\n- c\n- d e" {
		t.Errorf("stripped: %q", got)
	}
}

// No part of an SMS is empty, nor longer than one may be, wherever the emojis are that go.
func TestPartsOfEmojis(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("👍 ", 400)
	for _, in := range []string{
		many, many + many + many, many + "\n\nThe end.", "Begin.\n\n" + many, strings.Repeat("A sentence. ", 120) + many + strings.Repeat("Another one. ", 120),
		strings.Repeat(many+"\n\n"+strings.Repeat("word ", 300)+"\n\n", 3), many + "é😀" + strings.Repeat("х", 900),
	} {
		spec := builtin(channel.SMS)
		r := format(spec, in)
		for _, p := range r.Parts {
			if text := strings.TrimSpace(strings.TrimPrefix(p.Content, p.Indicator)); text == "" || p.Units > spec.MaxLength || p.Segments > spec.MaxSegments {
				t.Errorf("%.20q…: part %d is %q, %d units, %d segments", in, p.Sequence, text, p.Units, p.Segments)
			}
		}
		if strings.TrimSpace(r.Content) == "" {
			t.Errorf("%.20q… became %q", in, r.Content)
		}
	}
}

// A mark between digits, or a digit and a letter, is a sign and no markup.
func TestSignsOfArithmetic(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2*3*4 = 24":           "2*3*4 = 24",
		"2**3 is 8, 3**2 is 9": "2**3 is 8, 3**2 is 9",
		"2*x*3 and a*2*b":      "2*x*3 and a*2*b",
		"5~10~15 and 1_000_0":  "5~10~15 and 1_000_0",
		"*2*3*4* is **24**":    "2*3*4 is 24",
		"共**3**个, a*b*c":       "共3个, abc",
	} {
		for _, name := range []string{channel.SMS, channel.Plain, channel.Email} {
			if got := format(builtin(name), in).Content; got != want {
				t.Errorf("%s: %q became %q, want %q", name, in, got, want)
			}
		}
	}
}

func TestCuts(t *testing.T) {
	t.Parallel()
	spec := builtin(channel.Plain)
	spec.MaxLength, spec.MaxParts, spec.Split, spec.Indicator = 40, 9, channel.BySentence, channel.Prefix
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"First one. Second sentence is here. Third one ends.", []string{"(1/3) First one.", "(2/3) Second sentence is here.", "(3/3) Third one ends."}},
		{"We met Dr. Smith at 3.5 Main St. at noon, and left. Then home.", []string{"(1/2) We met Dr. Smith at 3.5 Main St.", "(2/2) at noon, and left. Then home."}},
		{"Call +49 30 1234 5678 or +49 30 8765 4321 today please", []string{"(1/2) Call +49 30 1234 5678 or", "(2/2) +49 30 8765 4321 today please"}},
		{"aaaa bbbb cccc https://example.com/abc?d=e1 dddd", []string{"(1/2) aaaa bbbb cccc", "(2/2) https://example.com/abc?d=e1 dddd"}},
		{"今天我们开会讨论预算。明天下午三点提交报告给经理审核。后天休息一天不用上班。晚安晚安。", []string{"(1/2) 今天我们开会讨论预算。明天下午三点提交报告给经理审核。", "(2/2) 后天休息一天不用上班。晚安晚安。"}},
		{"Call us at this number now ٠٣٠ ١٢٣٤ ٥٦٧٨ please", []string{"(1/2) Call us at this number now", "(2/2) ٠٣٠ ١٢٣٤ ٥٦٧٨ please"}},
		{"These are 1  2 and 3 digits of 25  26 27 28", []string{"(1/2) These are 1  2 and 3 digits of 25", "(2/2) 26 27 28"}},
		{"Call +49 30 1234 5678 +49 30 8765 4321 now", []string{"(1/2) Call +49 30 1234 5678", "(2/2) +49 30 8765 4321 now"}},
		{"The meeting of all is on Monday, the 31. of May 2027", []string{"(1/2) The meeting of all is on Monday,", "(2/2) the 31. of May 2027"}},
		{strings.Repeat("会議予定", 6) + "オンラインミーティングルームです会議", []string{"(1/2) " + strings.Repeat("会議予定", 6), "(2/2) オンラインミーティングルームです会議"}},
		{"It was said that in total 12\u2007345\u2007678 of all", []string{"(1/2) It was said that in total", "(2/2) 12\u2007345\u2007678 of all"}},
		{strings.Repeat("👨‍👩‍👧‍👦", 5), []string{"(1/2) " + strings.Repeat("👨‍👩‍👧‍👦", 3), "(2/2) " + strings.Repeat("👨‍👩‍👧‍👦", 2)}},
	} {
		r := format(spec, tt.in)
		var got []string
		for _, p := range r.Parts {
			got = append(got, p.Content)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.in, diff)
		}
	}
}

// What GSM-7 needs more units for than UCS-2 is written in the latter where the part would
// have too many: arrows, and characters with an escape.
func TestPartsFitInTheEncodingTheyGet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		text              string
		units, segments   int
		parts             int
		encoding          channel.Encoding
		first, firstUnits int
	}{
		{"dots", strings.Repeat("…", 100), 1600, 1, 2, channel.UCS2, 1, 70},
		{"dots that fit", strings.Repeat("…", 53), 1600, 1, 0, channel.GSM7, 1, 159},
		{"words of emojis", strings.Repeat("✅ ", 60), 1600, 1, 2, channel.UCS2, 1, 69},
		{"escapes", strings.Repeat("€", 60), 40, 0, 2, channel.UCS2, 1, 40},
		{"escapes that fit", strings.Repeat("€", 20), 40, 0, 0, channel.GSM7, 1, 40},
		{"fractions, as it is built in", strings.Repeat("½", 700), 1600, 10, 2, channel.UCS2, 10, 670},
	} {
		spec := builtin(channel.SMS)
		spec.MaxLength, spec.MaxSegments = tt.units, tt.segments
		r := format(spec, tt.text)
		first := r.ChannelFields
		if r.IsSplit {
			first = r.Parts[0].ChannelFields
		}
		if len(r.Parts) != tt.parts || first.Encoding != tt.encoding || first.Segments != tt.first || first.Units != tt.firstUnits || r.Metadata.Truncated {
			t.Errorf("%s: %d parts, the first one %+v", tt.name, len(r.Parts), first)
		}
	}
}

// A text that has no end is cut at a sentence, and says so.
func TestTruncated(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("This is a sentence of some length, which is here. ", 200)
	r := format(builtin(channel.SMS), text)
	last := r.Parts[len(r.Parts)-1]
	if !r.Metadata.Truncated || len(r.Parts) != 3 || !strings.HasSuffix(last.Content, "here. ...") || !strings.HasSuffix(r.Content, "here. ...") || last.Segments > 10 {
		t.Errorf("%d parts, the last one %+v", len(r.Parts), last)
	}
	r = format(builtin(channel.SMS), strings.Repeat("Это предложение, и оно не очень длинное. ", 100))
	last = r.Parts[len(r.Parts)-1]
	if !r.Metadata.Truncated || !strings.HasSuffix(last.Content, "длинное. …") || last.Segments > 10 {
		t.Errorf("%d parts, the last one %+v", len(r.Parts), last)
	}
}

func TestMarksAreOpenedAgain(t *testing.T) {
	t.Parallel()
	spec := builtin(channel.WhatsApp)
	spec.MaxLength, spec.Split = 60, channel.ByWord
	r := format(spec, "```\nfirst line of code\nsecond line of code\nthird line of code\n```")
	for _, p := range r.Parts {
		body := strings.TrimPrefix(p.Content, p.Indicator+"\n")
		if !strings.HasPrefix(body, "```\n") || !strings.HasSuffix(body, "\n```") {
			t.Errorf("%q is no fence below its indicator", p.Content)
		}
	}
	r = format(spec, "> **"+strings.Repeat("word ", 30)+"end**")
	for _, p := range r.Parts {
		body := strings.TrimPrefix(p.Content, p.Indicator+"\n")
		if !strings.HasPrefix(body, "> *") || !strings.HasSuffix(body, "*") {
			t.Errorf("%q is no bold quote", p.Content)
		}
	}
}

func TestSubject(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 40)
	for _, tt := range []struct{ text, subject, want string }{
		{"text\n\n# A *heading*\r\nBcc: x", "", "A heading"},
		{"We met Dr. Smith. Then home.", "", "We met Dr. Smith."},
		{"# A&#13;&#10;Bcc: x&#10;&#13;b\u2028c\u0085d", "", "A Bcc: x b"},
		{"A&#13;&#10;Bcc: x@example.com more", "", "A"},
		{long, "", strings.TrimSpace(strings.Repeat("word ", 15))},
		{"|Todo|Due|\n|-|-|\n|Milk|1|\n|Bread|2|", "", "Todo (2)"},
		{"|Todo|Due|\n|-|-|\n|Milk|1|\n\nAnd more.", "", "Todo: Due"},
		{"x", "given\r\nBcc: evil@example.com", "given Bcc: evil@example.com"},
	} {
		f := channel.New(builtin(channel.Email))
		r := channeltest.Format(f, channel.Input{Text: tt.text, Subject: tt.subject, At: time.Unix(0, 0)})
		if r.Subject != tt.want {
			t.Errorf("the subject of %q is %q, want %q", tt.text, r.Subject, tt.want)
		}
		m, err := r.MIME(time.Unix(0, 0))
		if err != nil || strings.Contains(strings.SplitN(string(m), "\r\n\r\n", 2)[0], "\nBcc:") {
			t.Errorf("%v: %s", err, m)
		}
	}
}

// Each block of an e-mail runs as its own text does, and lies where that begins. Blocks
// without letters run as what they stand in.
func TestDirectionsOfAMail(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"- אחת\n- שתיים":                     "<ul dir=\"rtl\">\n<li>אחת</li>\n<li>שתיים</li>\n</ul>",
		"3. אחת\n4. Done.":                   "<ol start=\"3\" dir=\"rtl\">\n<li>אחת</li>\n<li><span dir=\"ltr\">Done.</span></li>\n</ol>",
		"- one\n- 2\n- مرحبا":                "<ul dir=\"ltr\">\n<li>one</li>\n<li>2</li>\n<li><span dir=\"rtl\">مرحبا</span></li>\n</ul>",
		"> ציטוט":                            "<blockquote dir=\"rtl\" style=\"margin: 0 8px 0 0; padding: 0 8px 0 0; border-right: 3px solid #cccccc\">\n<p dir=\"rtl\">ציטוט</p>",
		"> quote":                            "<blockquote dir=\"ltr\" style=\"margin: 0 0 0 8px; padding: 0 0 0 8px; border-left: 3px solid #cccccc\">\n<p dir=\"ltr\">quote</p>",
		"## 12. كلمة":                        "<h2 dir=\"rtl\">",
		"12 / 34":                            "<p>12 / 34</p>",
		"`x` ו":                              "<p dir=\"ltr\">",
		"|שם|כמה|\n|-|-:|\n|חלב|12|":         "<table dir=\"rtl\" ",
		"hello\n\nשלום":                      "<body><div dir=\"ltr\" ",
		"12\n\nשלום\n\nhello":                "<body><div dir=\"rtl\" ",
		"|a|b|c|\n|:-|-:|:-:|\n|d|**12**|e|": "#f4f4f4; text-align: center\">c</th></tr>\n<tr><td dir=\"ltr\" style=\"padding: 4px 8px; border: 1px solid #cccccc; text-align: left\">d</td><td style=\"padding: 4px 8px; border: 1px solid #cccccc; text-align: right\"><strong>12</strong></td>",
	} {
		if got := format(builtin(channel.Email), in).HTML; !strings.Contains(got, want) {
			t.Errorf("%q lacks\n%s\nin\n%s", in, want, got)
		}
	}
}

// A wide table scrolls, and every style that a mail can have is listed.
func TestStylesOfAMail(t *testing.T) {
	t.Parallel()
	all := channel.InlineStyles()
	html := format(builtin(channel.Email), "> a\n\n> א\n\n`c`\n\n    d\n\n|a|b|c|d|\n|:-|-:|:-:|-|\n|1|2|3|4|").HTML
	if !strings.Contains(html, `<div style="max-width: 100%; overflow-x: auto"><table`) {
		t.Errorf("the table stands in no box that scrolls: %s", html)
	}
	for _, part := range strings.Split(html, `style="`)[1:] {
		if style, _, _ := strings.Cut(part, `"`); !slices.Contains(all, style) {
			t.Errorf("%q is not listed", style)
		}
	}
}

// A number stands once, however its digits are parted.
func TestNumbersThatAreLinks(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"[+49 30 123-456](tel:+4930123456)": "+49 30 123-456",
		"[(030) 123](tel:030123)":           "(030) 123",
		"[tel:112](tel:112)":                "tel:112",
		"[call](tel:112)":                   "call (tel:112)",
		"[a @b.de](mailto:a@b.de)":          "a @b.de",
		"[a](mailto:a@b.de)":                "a (mailto:a@b.de)",
		"[112](tel:113)":                    "112 (tel:113)",
	} {
		for _, name := range []string{channel.SMS, channel.Plain, channel.Email} {
			if got := format(builtin(name), in).Content; got != want {
				t.Errorf("%s: %q became %q, want %q", name, in, got, want)
			}
		}
	}
}
