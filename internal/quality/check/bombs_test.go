package check_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/internal/base/markdown"
	"sluice/internal/base/markdown/markdowntest"
	"sluice/internal/quality/check"
)

// No known bomb costs a check much more than a tame text of its length does.
func TestBombsAreCheap(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("it measures")
	}
	const size, factor = 16 << 10, 60
	result := check.Evidence{Tool: "t", Result: `{"a":1,"link":"https://a.b/c"}`, Completed: true}
	elapsed := func(c check.Check, text string) float64 {
		return float64(markdowntest.Timed(func() {
			c.Run(&check.Input{Text: text, Question: "How many?", Locale: "en", Finish: "stop", Parts: 1, Evidence: []check.Evidence{result}})
		}))
	}
	tame := strings.Repeat("You have *three* meetings, [here](https://example.org). ", size/56)
	for name, args := range map[string]string{
		"plain_text": "", "links_backed": `{"hosts":["a.b"]}`, "script": "", "no_pii": "", "max_length": `{"words":10}`, "contains": `{"all":["zzz"]}`, "matches": `{"pattern":"(a+)+zz"}`,
	} {
		c := compile(t, name, args)
		one := max(min(elapsed(c, tame), elapsed(c, tame), elapsed(c, tame)), float64(200*time.Microsecond))
		for _, bomb := range markdowntest.Bombs(size) {
			times := elapsed(c, bomb.Text) / one
			if times > factor { // once may be an accident
				times = min(elapsed(c, bomb.Text), elapsed(c, bomb.Text)) / one
			}
			if times > factor {
				t.Errorf("%s of %s takes %.0f times as long as a tame text", name, bomb.Name, times)
			}
		}
	}
}

// A check ends when the turn has: an expression may take microseconds for each character.
func TestChecksEndWithTheirWatch(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	text := strings.Repeat("_a*", 1000) + "end"
	c := compile(t, "matches", `{"pattern":"end"}`)
	if !c.Run(&check.Input{Text: text}).Passed || c.Run(&check.Input{Text: text, Watch: markdown.NewWatch(ctx)}).Passed {
		t.Error("the text is read to its end")
	}
	c = compile(t, "plain_text", "")
	text = strings.Repeat("a *b* ", 1000)
	if c.Run(&check.Input{Text: text}).Passed || !c.Run(&check.Input{Text: text, Watch: markdown.NewWatch(ctx)}).Passed {
		t.Error("the Markdown is read to its end")
	}
}

// The cost of judging numbers grows with the length of a text and its evidence, and not with the
// square of it.
func TestCostIsLinear(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("it measures")
	}
	const small, times, factor = 200, 8, 4
	c := compile(t, "numbers_backed", "")
	for name, unit := range map[string]string{
		"sentences": "You logged 32 of 40 hours by November 24, 80 %% of %d. ", "one sentence": "you logged %d of 40 hours, ", "pairs": "%d:1 2/3 4-5 ", "lines": "1. item %d\n", "tokens": "INV-%d p95 ", "links": "https://a.test/b%d ",
		"percentages": "12 %% of %d is ", "spans": "7 h 12 min %d ", "phones": "+1 (415) 555-%d ", "names": "alpha beta gamma %d ", "dates": "24.11.%d, 2026-11-24 ", "capitals": "The Error %d Of Page ",
	} {
		elapsed := func(n int) time.Duration {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, unit, i)
			}
			text, least := b.String(), time.Hour
			for range 3 {
				in := check.Input{Text: text, Question: text, Now: now, Evidence: []check.Evidence{{Result: text}, {Result: `[{"n":"alpha","v":7},{"n":"beta","v":9},{"n":"gamma","v":12}]`}}}
				least = min(least, time.Duration(markdowntest.Timed(func() { c.Run(&in) })))
			}
			return max(least, time.Millisecond)
		}
		if one, many := elapsed(small), elapsed(small*times); many > one*times*factor {
			t.Errorf("%s: %d times as much costs %v, after %v", name, times, many, one)
		}
	}
}
