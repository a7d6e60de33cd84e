package check_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice/internal/markdown"
	"sluice/internal/markdown/markdowntest"
	"sluice/quality/check"
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
