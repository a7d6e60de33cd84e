package browser

import (
	"strconv"
	"strings"
	"testing"
	"unicode"

	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
)

// mailed is the HTML of an e-mail, and what must be seen of it.
type mailed struct {
	Name  string   `json:"name"`
	HTML  string   `json:"html"`
	words []string // without white space
}

// mails are generated texts, and some that would rather do something else than be read.
func mails() (all []mailed) {
	spec := channel.ByName(nil)[channel.Email]
	spec.Brand = `Blue <img src="https://evil.test/brand.png"> Café`
	f := channel.New(spec)
	add := func(markdown string, words ...string) {
		html := channeltest.Format(f, channel.Input{Text: markdown}).HTML
		all = append(all, mailed{"mail " + strconv.Itoa(len(all)), html, words})
	}
	for _, hostile := range []string{
		`<script>fetch("https://evil.test/")</script>`, `<img src="https://evil.test/a.png" onerror="alert(1)">`, `![a](https://evil.test/b.png)`,
		`<iframe src="https://evil.test/"></iframe>`, `<link rel="stylesheet" href="https://evil.test/c.css"><style>@import "https://evil.test/d.css"</style>`,
		`[a](javascript:alert(1)) [b](data:text/html,<script>alert(2)</script>)`, `<meta http-equiv="refresh" content="0;url=https://evil.test/">`,
		"</div></body><body onload=alert(3)>", `[x](https://a.b/"onclick="alert(4))`, "# <svg onload=alert(5)>", `<base href="https://evil.test/"> [r](relative)`,
	} {
		add(hostile)
	}
	g := channeltest.New(7)
	for range 300 {
		text := g.Text()
		add(text.Markdown, text.Words...)
	}
	return all
}

func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u00ad' {
			return -1
		}
		return r
	}, text)
}

// Chromium opens e-mails, shows their words, runs nothing of them, and asks nobody for
// anything.
func TestMailsAskForNothing(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	list := mails()
	type report struct {
		Name     string
		Requests []string
		Faults   []string
		Text     string
	}
	reports := drive[report](t, "mails.mjs", map[string]any{"chromium": browser, "mails": list})
	if len(reports) != len(list) {
		t.Fatalf("%d reports on %d e-mails", len(reports), len(list))
	}
	for i, r := range reports {
		if len(r.Requests)+len(r.Faults) > 0 {
			t.Errorf("%s: requests %q, faults %q\n%s", r.Name, r.Requests, r.Faults, list[i].HTML)
		}
		seen := squeezed(r.Text)
		if strings.Contains(r.Text, "evil.test") != strings.Contains(list[i].HTML, "evil.test") {
			t.Errorf("%s hides where it points to: %s", r.Name, r.Text)
		}
		for _, word := range list[i].words {
			if !strings.Contains(seen, squeezed(word)) {
				t.Errorf("%s lacks %q: %s", r.Name, word, r.Text)
			}
		}
	}
	t.Logf("figures: %d e-mails opened", len(list))
}
