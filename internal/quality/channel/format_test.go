package channel_test

import (
	"encoding/json"
	"html"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
)

func builtin(name string) channel.Spec { return channel.ByName(nil)[name] }

func format(spec channel.Spec, text string) *channel.Response {
	return channeltest.Format(channel.New(spec), channel.Input{RequestID: "req_1", Text: text, At: time.Unix(1_770_000_000, 0)})
}

// bare returns a text without white space, and for WhatsApp without what marks it up.
func bare(text string, marked bool) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || marked && strings.ContainsRune("*_~`>\u2060", r) {
			return -1
		}
		return r
	}, text)
}

// squeezed is a text in which white space counts once.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

// showsTarget returns the text of a card's elements.
func showsTarget(t *testing.T, card []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(card, &v); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var visit func(any)
	visit = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if s, ok := v["text"].(string); ok {
				b.WriteString(strings.ReplaceAll(s, `\`, "") + " ")
			}
			for _, key := range []string{"body", "items", "inlines", "rows", "cells"} {
				visit(v[key])
			}
		case []any:
			for _, e := range v {
				visit(e)
			}
		}
	}
	visit(v)
	return b.String()
}

// forms returns all that a reader of a response gets to see, in its forms.
func forms(t *testing.T, r *channel.Response) map[string]string {
	t.Helper()
	all := map[string]string{"content": r.Content}
	if r.HTML != "" {
		all["html"] = html.UnescapeString(r.HTML)
	}
	if r.Card != nil {
		all["card"] = showsTarget(t, r.Card)
	}
	var parts, cards strings.Builder
	for _, p := range r.Parts {
		parts.WriteString(" " + strings.Replace(p.Content, p.Indicator, "", 1))
		if p.Card != nil {
			cards.WriteString(strings.Replace(showsTarget(t, p.Card), p.Indicator, "", 1))
		}
	}
	if r.IsSplit {
		all["parts"] = parts.String()
		if cards.Len() > 0 {
			all["cards"] = cards.String()
		}
	}
	return all
}

func limits() []channel.Spec {
	var list []channel.Spec
	for _, name := range []string{channel.SMS, channel.WhatsApp, channel.Teams, channel.Email, channel.Plain} {
		spec := builtin(name)
		list = append(list, spec)
		if name == channel.Email {
			spec.Markdown = false
			list = append(list, spec)
			continue
		}
		spec.MaxParts, spec.Indicator = 20, channel.Suffix
		switch name {
		case channel.SMS:
			spec.MaxSegments = 3
		case channel.Teams:
			spec.MaxLength = 8000
			list = append(list, spec)
			spec.Features = channel.FeaturesOf("italic", "headers")
		default:
			spec.MaxLength = 300
		}
		list = append(list, spec)
	}
	return list
}

// Whatever the script: nothing is missing, parts fit, no grapheme is parted, and parts
// joined are the content.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	const runs = 4
	texts := 10_000
	if testing.Short() || raceEnabled {
		texts = 40
	}
	for seed := range runs {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			g := channeltest.New(uint64(seed))
			specs := limits()
			var formatters []*channel.Formatter
			for _, spec := range specs {
				formatters = append(formatters, channel.New(spec))
			}
			for i := range texts / runs {
				text := g.Text()
				for k, spec := range specs {
					r := channeltest.Format(formatters[k], channel.Input{Text: text.Markdown})
					if !checkWhole(t, text, r) || !checkParts(t, spec, r) {
						t.Fatalf("text %d, %s:\n%s", i, r.Channel, text.Markdown)
					}
				}
			}
		})
	}
}

func checkWhole(t *testing.T, text channeltest.Text, r *channel.Response) bool {
	if r.Metadata.Truncated {
		return true
	}
	isMarked := r.Channel == channel.WhatsApp
	spaced := text.Script != "Thai" && text.Script != "Han" && text.Script != "Japanese"
	for form, content := range forms(t, r) {
		isMarked := isMarked || strings.HasPrefix(form, "card")
		flat := squeezed(content)
		closed := sync.OnceValue(func() string { return bare(content, isMarked) })
		for _, word := range append(text.Words, text.Links...) {
			if strings.Contains(flat, word) {
				continue
			}
			unspaced := strings.ContainsFunc(word, func(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) })
			whole := spaced && !unspaced || strings.ContainsAny(word, ":+") // links and phone numbers in any script
			if (r.Channel == channel.WhatsApp || !whole) && strings.Contains(closed(), bare(word, isMarked)) {
				continue
			}
			t.Errorf("the %s lacks %q:\n%s", form, word, content)
			return false
		}
	}
	return true
}

func checkParts(t *testing.T, spec channel.Spec, r *channel.Response) bool {
	if !r.IsSplit {
		return true
	}
	isMarked := spec.Form == channel.WhatsApp
	var joined strings.Builder
	for _, p := range r.Parts {
		body := strings.TrimSpace(strings.Replace(p.Content, p.Indicator, "", 1))
		joined.WriteString(body)
		if !fits(t, spec, p, spec.MaxSegments) {
			return false
		}
	}
	if got, want := bare(joined.String(), isMarked), bare(r.Content, isMarked); got != want {
		t.Errorf("parts joined are\n%s\nand the content is\n%s", got, want)
		return false
	}
	return isMarked || checkGraphemes(t, r)
}

func fits(t *testing.T, spec channel.Spec, p channel.Part, segments int) bool {
	size := len(utf16.Encode([]rune(p.Content)))
	switch spec.Form {
	case channel.SMS:
		if p.Segments > segments || p.Units > spec.MaxLength {
			t.Errorf("part %d has %d segments, %d units: %s", p.Sequence, p.Segments, p.Units, p.Content)
			return false
		}
	case channel.Teams:
		if p.Bytes > spec.MaxLength {
			t.Errorf("part %d has %d bytes", p.Sequence, p.Bytes)
			return false
		}
	default:
		if size > spec.MaxLength {
			t.Errorf("part %d has %d units: %s", p.Sequence, size, p.Content)
			return false
		}
	}
	return true
}

// checkGraphemes looks for the ends of parts among those of the content's graphemes.
func checkGraphemes(t *testing.T, r *channel.Response) bool {
	ends, n := map[int]bool{}, 0
	for it := graphemes.FromString(r.Content); it.Next(); {
		n += len(bare(it.Value(), false))
		ends[n] = true
	}
	at := 0
	for _, p := range r.Parts {
		at += len(bare(strings.Replace(p.Content, p.Indicator, "", 1), false))
		if !ends[at] {
			t.Errorf("part %d ends within a grapheme: %q", p.Sequence, p.Content)
			return false
		}
	}
	return true
}
