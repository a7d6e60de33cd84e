package channel_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sluice/channel"
	"sluice/channel/channeltest"
)

// hostileSize is that of a hostile text in bytes; the race detector is slow.
func hostileSize() int {
	if raceEnabled {
		return 4 << 10
	}
	return 64 << 10
}

// hostile returns texts that cost a parser, or us, more than they are worth.
func hostile() map[string]string {
	all := map[string]string{
		"a wide table":          "|" + strings.Repeat("a|", 200) + "\n|" + strings.Repeat("-|", 200) + "\n" + strings.Repeat("|b"+strings.Repeat("|c", 190)+"\n", 100),
		"a table of empty rows": "|" + strings.Repeat("a|", 5000) + "\n|" + strings.Repeat("-|", 5000) + "\n" + strings.Repeat("|\n", 20000),
		"a long header":         "|" + strings.Repeat("long ", 4000) + "|b|c|\n|-|-|-|\n" + strings.Repeat("|x|y|z\n", 6000),
		"nested quotes":         strings.Repeat(">", 5000) + "a\n" + strings.Repeat("a\n", 29000),
		"nested brackets":       strings.Repeat("[", hostileSize()/2) + strings.Repeat("]", hostileSize()/2),
		"a long link":           "[a](https://b.c/" + strings.Repeat("d", hostileSize()) + ")",
		"a long word":           strings.Repeat("a", hostileSize()),
		"one grapheme":          "a" + strings.Repeat("\u0301", hostileSize()/2),
		"a long line of code":   "```\n" + strings.Repeat("x = \"y\" \\ ", hostileSize()/10) + "\n```",
		"lines of code":         "```\n" + strings.Repeat("x\n", hostileSize()/2) + "```",
		"deep lists":            deepLists(),
		"a word of families":    strings.Repeat("👨\u200d👩\u200d👧\u200d👦", 10_000), // of seven code points each
	}
	all["nested emphasis"] = strings.Repeat("*a _b ", 5000) + strings.Repeat("_ c* ", 5000)
	all["marks without text"] = strings.Repeat("**", 16000) + "a" + strings.Repeat("**", 16000)
	all["quotes as deep as they may be"] = strings.Repeat(strings.Repeat(">", 31)+" a\n", 2000)
	all["quotes in lists"] = strings.Repeat(strings.Repeat("> - ", 15)+"a\n", 1100)
	for _, unit := range []string{
		"_*", "***", "*_~~`", "[a][b] ", "[[a](b)](c) ", "- - - ", "+ a\n  ", "- ```\n", "&#x41;", "`` ` ``", "a\\\n", "| a | b |\n|---|---|\n| c | d |\n\n", "# a\n", "<b>", "*[a](b)* ", "~~*a*~~ ", "Dr. ", "你好。", "e\u0301",
		"> ", "> - ", "1. ", "- ", "[", "]", "[a](", "[a](\"", "![", "*", "*a ", "*a _b ", "a**b", "_a", "~~a ", "`", "``a`", "<", "<a ", "<!--", "<?", "&amp", "\\", "#", "|", "|a|\n",
		"```\n", "~~~a\n", "<div>\n", "[a]: <", "[a]:", "*[a", "http://", "www.", "a@b.", "- [ ] a\n", "a\n=", "\u202e", "\u2067", "👨‍👩‍👧‍👦", "\x00", "\xff", "“", "€", "1 ", "1.000,5", "a\u2060", "* a\n\n", "> a\n", "\r", "a\r\n\r\n", "🇩", "ा", "\n",
		"👍\u200b", "a🎉\ufeffb", "✅\u00ad✅", "> 2. [a](\n", "2. [a](\n", "*a*b", "|a|b|\n|-|-|\n", "{{DATE(", "\"", "=\n", "[x](y) ", "<https://a.b> ", "![a](https://b.c/d.png) ",
	} {
		all[fmt.Sprintf("%q", unit)] = strings.Repeat(unit, hostileSize()/len(unit))
	}
	if raceEnabled {
		for name, text := range all {
			all[name] = text[:min(len(text), hostileSize())]
		}
	}
	return all
}

func deepLists() string {
	var b strings.Builder
	for i := 0; b.Len() < hostileSize(); i++ {
		b.WriteString(strings.Repeat(" ", i*2%700) + "- a\n")
	}
	return b.String()
}

// Nothing panics, and nothing takes more than its share of time: what grows with the
// square takes minutes here. Each form is checked as in the other tests.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	specs := limits()
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, spec := range specs {
				began := time.Now()
				r := format(spec, text)
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("%s took %v", spec.Name, took)
				}
				checkResponse(t, spec, r)
			}
		})
	}
}

// The shortest parts that a configuration may ask for hold an indicator, marks and any
// emoji: no part is longer, whatever the text.
func TestShortestParts(t *testing.T) {
	t.Parallel()
	texts := hostile()
	texts["flags in marks"] = "> > > > > > ***~~" + strings.Repeat("🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F", 30) + "~~***"
	g := channeltest.New(11)
	for i := range 200 {
		texts[fmt.Sprint("generated ", i)] = g.Text().Markdown
	}
	for _, name := range []string{channel.SMS, channel.WhatsApp, channel.Plain, channel.Teams} {
		for _, where := range []channel.Indicator{channel.Prefix, channel.Suffix} {
			spec := builtin(name)
			spec.MaxLength, spec.MaxParts, spec.Indicator = 40, 20, where
			if name == channel.Teams {
				spec.MaxLength = 4096
			}
			if faults := spec.Check(); len(faults) > 0 {
				t.Fatal(faults)
			}
			f := channel.New(spec)
			for of, text := range texts {
				text = strings.ToValidUTF8(text[:min(len(text), 4<<10)], "")
				if oneGrapheme(text) {
					continue
				}
				for _, p := range f.Format(channel.Input{Text: text}).Parts {
					if !fits(t, spec, p, 255) {
						t.Fatalf("%s, indicator as %s: %s", name, where, of)
					}
				}
			}
		}
	}
}

// What 64 KB of anything costs: a quarter of a second and 32 MB are the aim. All that is
// allocated is within the latter, garbage too, so that no peak is above it. The former has
// room for a machine that is busy.
func TestHostileInputIsCheap(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("it measures")
	}
	const (
		longest = 2500 * time.Millisecond
		most    = 32 << 20
	)
	var slowest time.Duration
	var largest uint64
	for name, text := range hostile() {
		text = text[:min(len(text), 64<<10)]
		for _, spec := range limits() {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			format(spec, text)
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			if took > longest || allocated > most {
				t.Errorf("%s, %s: %v, %d MB", name, spec.Name, took, allocated>>20)
			}
			slowest, largest = max(slowest, took), max(largest, allocated)
		}
	}
	t.Logf("figures: at most %v and %d MB", slowest, largest>>20)
}

func checkResponse(t *testing.T, spec channel.Spec, r *channel.Response) {
	t.Helper()
	if !utf8.ValidString(r.Content) || strings.ContainsAny(r.Content, "\x00\r\u202d\u202e") {
		t.Errorf("%s: the content has what no text may have", r.Channel)
	}
	if r.IsSplit != (len(r.Parts) > 0) || spec.MaxParts > 0 && len(r.Parts) > spec.MaxParts {
		t.Errorf("%s has %d parts", r.Channel, len(r.Parts))
	}
	if strings.ContainsAny(r.Subject, "\r\n") {
		t.Errorf("the subject is %q", r.Subject)
	}
	for _, card := range append([]string{string(r.Card)}, cards(r)...) {
		if card != "" && !json.Valid([]byte(card)) {
			t.Errorf("the card is no JSON: %.200s", card)
		}
	}
	if !oneGrapheme(r.Content) {
		checkParts(t, spec, r)
	}
}

// oneGrapheme says whether a text has a grapheme that no part holds: it must be cut.
func oneGrapheme(text string) bool {
	return strings.Contains(text, strings.Repeat("\u0301", 20)) || strings.Contains(text, strings.Repeat("ा", 20)) || strings.Contains(text, "\u2060a\u2060")
}

func cards(r *channel.Response) (list []string) {
	for _, p := range r.Parts {
		list = append(list, string(p.Card))
	}
	return list
}

func FuzzFormat(f *testing.F) {
	f.Add(answer)
	for _, text := range hostile() {
		f.Add(text[:min(len(text), 300)])
	}
	specs := limits()
	var formatters []*channel.Formatter
	for _, s := range specs {
		formatters = append(formatters, channel.New(s))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for i, fm := range formatters {
			r := fm.Format(channel.Input{Text: text})
			if !utf8.ValidString(r.Content) || r.IsSplit != (len(r.Parts) > 0) {
				t.Errorf("%s: %q", r.Channel, r.Content)
			}
			for _, p := range r.Parts {
				if !strings.Contains(text, "\u0301") && len(p.Content) < 10_000 {
					fits(t, specs[i], p, specs[i].MaxSegments)
				}
			}
			for _, card := range append([]string{string(r.Card)}, cards(r)...) {
				if card != "" && !json.Valid([]byte(card)) {
					t.Errorf("the card is no JSON: %.200s", card)
				}
			}
		}
	})
}
