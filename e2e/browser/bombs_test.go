package browser

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/base/markdown/markdowntest"
)

// TestMarkdownBombs has the page draw 64 KiB of each text that is known to cost readers of
// Markdown far more than its length. What a tab takes is compared with a tame text of the same
// length and the same run: a reader whose time grows with the square takes hundreds of times
// as long.
func TestMarkdownBombs(t *testing.T) {
	browser := chromium(t)
	const size = 64 << 10
	type text struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	tame := strings.Repeat("Some *words* and a [link](https://example.com/a) in a paragraph.\n\n- an item\n- another\n\n", size/90)
	texts := []text{{"tame", tame}}
	for _, neutral := range []string{"> 1\n>\n", "- 1\n\n  ", "> - 1\n>\n>   1\n>\n", "| 1 | 2 |\n"} { // no letter that has a direction
		texts = append(texts, text{"neutral " + strconv.Quote(neutral), strings.Repeat(neutral, size/len(neutral))})
	}
	texts = append(texts, text{"neutral table", "|1|\n|-|\n" + strings.Repeat("|1\n", size/3)})
	for _, b := range markdowntest.Bombs(size) {
		texts = append(texts, text{b.Name, strings.ToValidUTF8(b.Text, "")})
	}
	type report struct {
		Name string
		MS   float64
	}
	g := startGateway(t, nil)
	draw := func(texts []text) []report {
		reports := drive[report](t, "bombs.mjs", map[string]any{"chromium": browser, "base": g.base, "texts": texts})
		if len(reports) != len(texts) {
			t.Fatalf("%d reports on %d texts", len(reports), len(texts))
		}
		return reports
	}
	reports := draw(texts)
	again := texts[:1:1] // with the tame one
	for i, r := range reports {
		if r.MS > 60*reports[0].MS {
			again = append(again, texts[i])
		}
	}
	if len(again) > 1 { // once more: a machine that does other work stops a tab at any time
		second := draw(again)
		for _, r := range second[1:] {
			if r.MS > 60*second[0].MS {
				t.Errorf("%s took %.0f ms, a tame text %.0f, and that twice", r.Name, r.MS, second[0].MS)
			}
		}
	}
	worst := slices.MaxFunc(reports, func(a, b report) int { return int(1000 * (a.MS - b.MS)) })
	t.Logf("figures: %d texts, the dearest %s with %.0f ms, a tame one %.0f ms", len(texts)-1, worst.Name, worst.MS, reports[0].MS)
}
