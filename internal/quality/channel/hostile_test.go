package channel_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sluice/internal/base/markdown/markdowntest"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
)

// hostileSize is that of a hostile text in bytes where each form is looked at; the race
// detector is slow.
func hostileSize() int {
	if raceEnabled {
		return 2 << 10
	}
	return 8 << 10
}

// hostile returns texts that cost a parser, or us, more than they are worth, of about size
// bytes.
func hostile(size int) map[string]string {
	all := map[string]string{
		"a wide table":          "|" + strings.Repeat("a|", 200) + "\n|" + strings.Repeat("-|", 200) + "\n" + strings.Repeat("|b"+strings.Repeat("|c", 190)+"\n", 100),
		"a table of empty rows": "|" + strings.Repeat("a|", 5000) + "\n|" + strings.Repeat("-|", 5000) + "\n" + strings.Repeat("|\n", 20000),
		"a long header":         "|" + strings.Repeat("long ", 4000) + "|b|c|\n|-|-|-|\n" + strings.Repeat("|x|y|z\n", 6000),
		"nested quotes":         strings.Repeat(">", 5000) + "a\n" + strings.Repeat("a\n", 29000),
		"nested brackets":       strings.Repeat("[", size/2) + strings.Repeat("]", size/2),
		"a long link":           "[a](https://b.c/" + strings.Repeat("d", size) + ")",
		"a long word":           strings.Repeat("a", size),
		"one grapheme":          "a" + strings.Repeat("\u0301", size/2),
		"a long line of code":   "```\n" + strings.Repeat("x = \"y\" \\ ", size/10) + "\n```",
		"lines of code":         "```\n" + strings.Repeat("x\n", size/2) + "```",
		"a word of families":    strings.Repeat("👨\u200d👩\u200d👧\u200d👦", 10_000), // of seven code points each
	}
	all["quotes as deep as they may be"] = strings.Repeat(strings.Repeat(">", 31)+" a\n", 2000)
	all["quotes in lists"] = strings.Repeat(strings.Repeat("> - ", 15)+"a\n", 1100)
	for _, bomb := range markdowntest.Bombs(size) {
		all[bomb.Name] = bomb.Text
	}
	if raceEnabled {
		for name, text := range all {
			all[name] = text[:min(len(text), size)]
		}
	}
	return all
}

// Nothing panics, and nothing takes more than its share of time: what grows with the
// square takes minutes here. Each form is checked as in the other tests.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	specs := limits()
	for name, text := range hostile(hostileSize()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, spec := range specs {
				began := time.Now()
				r := format(spec, text)
				if elapsed := time.Since(began); elapsed > 10*time.Second {
					t.Errorf("%s took %v", spec.Name, elapsed)
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
	texts := hostile(4 << 10)
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
				for _, p := range channeltest.Format(f, channel.Input{Text: text}).Parts {
					if !fits(t, spec, p, 255) {
						t.Fatalf("%s, indicator as %s: %s", name, where, of)
					}
				}
			}
		}
	}
}

// What 64 KB of anything costs is at most 50 ms and 32 MB on a machine that does nothing
// else. All that is allocated is within the latter, garbage too, so that no peak is above
// it. Here a time is compared with that of a tame text, which a busy machine slows as well.
func TestHostileInputIsCheap(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("it measures")
	}
	const (
		factor = 60
		most   = 32 << 20
	)
	texts := hostile(64 << 10)
	tame := strings.Repeat("You have *three* meetings, [here](https://example.org). ", 64<<10/56)
	dearest, largest := 0.0, uint64(0)
	for _, name := range []string{channel.SMS, channel.WhatsApp, channel.Teams, channel.Email, channel.Plain} {
		f := channel.New(builtin(name))
		one := least(func() { channeltest.Format(f, channel.Input{Text: tame}) })
		for of, text := range texts {
			text = text[:min(len(text), 64<<10)]
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			elapsed := markdowntest.Timed(func() { channeltest.Format(f, channel.Input{Text: text}) })
			runtime.ReadMemStats(&after)
			if float64(elapsed)/float64(one) > factor { // once may be an accident
				elapsed = least(func() { channeltest.Format(f, channel.Input{Text: text}) })
			}
			allocated, times := after.TotalAlloc-before.TotalAlloc, float64(elapsed)/float64(one)
			if times > factor || allocated > most {
				t.Errorf("%s, %s: %v, %.0f times that of a tame text, %d MB", of, name, elapsed, times, allocated>>20)
			}
			dearest, largest = max(dearest, times), max(largest, allocated)
		}
	}
	t.Logf("figures: at most %.0f times the time of a tame text, and %d MB", dearest, largest>>20)
}

// least is the shortest of three times.
func least(f func()) time.Duration {
	return min(markdowntest.Timed(f), markdowntest.Timed(f), markdowntest.Timed(f))
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
	for _, text := range hostile(hostileSize()) {
		f.Add(text[:min(len(text), 300)])
	}
	specs := limits()
	var formatters []*channel.Formatter
	for _, s := range specs {
		formatters = append(formatters, channel.New(s))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for i, fm := range formatters {
			r := channeltest.Format(fm, channel.Input{Text: text})
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
