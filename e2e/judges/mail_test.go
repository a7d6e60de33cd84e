package judges

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jhillyerd/enmime/v2"
	"github.com/microcosm-cc/bluemonday"

	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
)

// mailPolicy is the closed set of what an e-mail's HTML may have.
func mailPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowNoAttrs().OnElements("span")
	p.AllowElements("p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "code", "blockquote", "ul", "ol", "li", "table", "tbody", "tr", "th", "td", "strong", "em", "del", "br", "hr", "div", "span", "a")
	p.AllowAttrs("dir").Matching(regexp.MustCompile(`^(ltr|rtl)$`)).Globally()
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^\d+$`)).OnElements("ol")
	p.AllowAttrs("href", "title").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto", "tel")
	p.RequireParseableURLs(false)
	p.AllowStyles("font-family", "font-size", "line-height", "padding", "margin", "background-color", "white-space", "border-left", "border-right", "max-width", "overflow-x", "border-bottom", "color", "border", "border-collapse", "text-align").
		MatchingHandler(func(string) bool { return true }).Globally()
	return p
}

// mailBody returns the HTML between the tags of the body.
func mailBody(t *testing.T, html string) string {
	t.Helper()
	_, rest, ok := strings.Cut(html, "<body>")
	inner, _, closed := strings.Cut(rest, "</body>")
	if !ok || !closed {
		t.Fatalf("there is no body: %.200s", html)
	}
	return inner
}

// A sanitizer that we did not write finds nothing to take out, and a reader of MIME that
// we did not write reads the same texts.
func TestMailIsCleanAndReadable(t *testing.T) {
	t.Parallel()
	texts := []string{"# Week\n\n| Task | Due |\n| --- | --- |\n| Write **it** | `now` |\n\n1. Start\n\n> Note\n", "<script>alert(1)</script> <img src=x onerror=y> [a](javascript:x) [b](https://c.d/?e=f&g=h \"i'j\")", "\"quotes\" & 'more' <b>", "```\n\nfirst line is empty\n```", "--sluice-0\nContent-Type: text/html\n\n.\n"}
	g := channeltest.New(5)
	for range 300 {
		texts = append(texts, g.Text().Markdown)
	}
	p := mailPolicy()
	spec := channel.ByName(nil)[channel.Email]
	spec.Brand = "Blue \"Café\" & <Co>\r\nX: y"
	f := channel.New(spec)
	at := time.Unix(1_770_000_000, 0).UTC()
	for _, text := range texts {
		r := channeltest.Format(f, channel.Input{Text: text, Subject: "Grüße – 你好"})
		if html := mailBody(t, r.HTML); p.Sanitize(html) != html {
			t.Fatalf("the sanitizer changes\n%s\nto\n%s", html, p.Sanitize(html))
		}
		message, err := r.MIME(at)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := r.MIME(at); !bytes.Equal(message, again) {
			t.Error("the bytes do not repeat")
		}
		for line := range bytes.SplitSeq(message, []byte("\r\n")) {
			if len(line) > 78 {
				t.Errorf("a line has %d bytes: %s", len(line), line)
			}
		}
		e, err := enmime.ReadEnvelope(bytes.NewReader(message))
		if err != nil || len(e.Errors) > 0 {
			t.Fatalf("%v %v", err, e.Errors)
		}
		read := func(s string) string { return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n") }
		if read(e.Text) != read(r.Text) || read(e.HTML) != read(r.HTML) || e.GetHeader("Subject") != "Grüße – 你好" {
			t.Fatalf("read back as %q\nfrom %q", e.Text, r.Text)
		}
	}
	t.Logf("figures: %d e-mails sanitized and read back", len(texts))
}
