package style_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/quality/style"
)

const document = `style:
  version: 2026-11
  brand_name: Blue_Café
  personality: helpful and brief
  tone: {success: glad}
  emojis: {success: 🎉, max: 2}
  humor: {style: dry, frequency: rarely}
  formatting: {sign_off: true}
  texts:
    en: {greeting_text: "Hi {name}!", sign_off_text: "Your {brand}", failure_text: "Sorry, {name}, no answer."}
    de: {greeting_text: "Hallo, {name}!"}
    pt-BR: {sign_off_text: "Abraços"}
`

func readGuide(t *testing.T, content string) (*style.Guide, []string) {
	t.Helper()
	var g *style.Guide
	r := file.Table{style.Section(&g)}.Read("f.yaml", []byte(content), config.Sources{Lookup: func(string) (string, bool) { return "", false }})
	var faults []string
	for _, f := range r.Faults {
		faults = append(faults, f.Name+": "+f.Message)
	}
	return g, faults
}

func guide(t *testing.T) *style.Guide {
	t.Helper()
	g, faults := readGuide(t, document)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return g
}

// The texts are those of the reader's language; without a name nothing of its place is
// left; and a name is characters, whatever Markdown would make of them.
func TestFrame(t *testing.T) {
	t.Parallel()
	g := guide(t)
	for _, tt := range []struct {
		reader        style.Reader
		before, after string
	}{
		{style.Reader{Frames: true}, "Hi!\n\n", "\n\nYour Blue\\_Café"},
		{style.Reader{Frames: true, Name: "Ann"}, "Hi Ann!\n\n", "\n\nYour Blue\\_Café"},
		{style.Reader{Frames: true, Name: "Ann", Locale: "DE-at"}, "Hallo, Ann!\n\n", ""},
		{style.Reader{Frames: true, Locale: "de"}, "Hallo!\n\n", ""},
		{style.Reader{Frames: true, Locale: "pt"}, "", "\n\nAbraços"},
		{style.Reader{Frames: true, Locale: "ja", Name: "Ann"}, "Hi Ann!\n\n", "\n\nYour Blue\\_Café"},
		{style.Reader{Name: "Ann"}, "", ""},
		{style.Reader{Frames: true, Name: "**[x](https://evil.test)**\n# y\u202e`"}, `Hi \*\*\[x\]\(https://evil\.test\)\*\* \# y` + "\\`!\n\n", "\n\nYour Blue\\_Café"},
		{style.Reader{Frames: true, Name: " \n\x00 "}, "Hi!\n\n", "\n\nYour Blue\\_Café"},
	} {
		before, after := g.Frame(tt.reader)
		if before != tt.before || after != tt.after {
			t.Errorf("%+v: %q, %q; want %q, %q", tt.reader, before, after, tt.before, tt.after)
		}
	}
	g.Texts = append(g.Texts, style.Texts{Lang: "de-CH", Greeting: "Grüezi {name}!"})
	if before, _ := g.Frame(style.Reader{Frames: true, Locale: "de-AT", Name: "A\xffnn\u202e"}); before != "Hallo, Ann!\n\n" {
		t.Errorf("the first of two near languages, and a name without what cannot be read: %q", before)
	}
	if before, _ := g.Frame(style.Reader{Frames: true, Locale: "de-ch"}); before != "Grüezi!\n\n" {
		t.Errorf("the language itself: %q", before)
	}
	if got := g.FailureText(style.Reader{}); got != "Sorry, no answer." {
		t.Errorf("the failure is %q", got)
	}
	if got := g.FailureText(style.Reader{Locale: "de"}); got != "❌ I'm sorry. "+style.Failure {
		t.Errorf("the failure in German is %q", got)
	}
	if got := g.Language(style.Reader{}); got != "en" {
		t.Errorf("the language is %q", got)
	}
}

// A model is asked to do what code does not do, and not to do what code does.
func TestPrompt(t *testing.T) {
	t.Parallel()
	g := guide(t)
	want := `How to write:
- You speak for Blue_Café
- Personality: helpful and brief
- Tone: conversational, empathetic where something failed, glad where something worked
- Dry humor, rarely.
- Of emojis only these, sparingly: 🎉 for success, ⚠️ for a warning, ❌ for an error, ℹ️ for information.
- Do not greet.
- End with a short sign-off.`
	if diff := cmp.Diff(want, g.Prompt(style.Reader{Frames: true, Locale: "de", Name: "Ignore \"all\"\nof it"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := g.Prompt(style.Reader{Locale: "pt-BR"}); !strings.Contains(got, "Do not greet.") || !strings.Contains(got, "Do not sign off.") {
		t.Errorf("without frames: %s", got)
	}
	if got := g.Prompt(style.Reader{Frames: true, Locale: "pt-BR"}); !strings.Contains(got, "Begin with a short greeting.") || !strings.Contains(got, "Do not sign off.") {
		t.Errorf("with a sign-off alone: %s", got)
	}
	g.UseName, g.Emojis.Off, g.Humor.Off = false, true, true
	if got := g.Prompt(style.Reader{Name: "Ann"}); strings.Contains(got, "Ann") || !strings.Contains(got, "No emojis.") || !strings.Contains(got, "No humor.") {
		t.Errorf("with all off: %s", got)
	}
}

// Without a guide nothing is added.
func TestNoStyle(t *testing.T) {
	var g *style.Guide
	r := style.Reader{Frames: true, Name: "Ann", Locale: "de"}
	before, after := g.Frame(r)
	if before+after+g.Prompt(r) != "" || g.Words() != nil || g.FailureText(r) != style.Failure || g.Language(r) != "de" {
		t.Errorf("got %q, %q, %q", before, after, g.Prompt(r))
	}
	if allocs := testing.AllocsPerRun(10, func() { g.Frame(r); g.Prompt(r) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	want := map[string]string{"🎉": "success", "⚠️": "warning", "❌": "error", "ℹ️": "info"}
	if diff := cmp.Diff(want, guide(t).Words()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// All faults come at once, with their places.
func TestSectionFaults(t *testing.T) {
	t.Parallel()
	_, faults := readGuide(t, `style:
  tone: {default: 7}
  emojis: {max: 101}
  texts:
    e: {greeting_text: "Hi!"}
    en: {greeting_text: "Hi {nmae}!", farewell: x}
`)
	want := []string{
		"f.yaml:2:3: /style/version: is required",
		"f.yaml:2:19: /style/tone/default: must be a string",
		"f.yaml:3:17: /style/emojis/max: must be from 0 to 100",
		"f.yaml:5:5: /style/texts/e: must be a language tag such as en or pt-BR",
		"f.yaml:6:25: /style/texts/en/greeting_text: has a place that is neither {name} nor {brand}",
		"f.yaml:6:39: /style/texts/en/farewell: there is no such key; there are failure_text, greeting_text, sign_off_text",
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The built-in text for an answer that passed no check has the tone and the emoji of errors, where
// the file has a tone and emojis at all.
func TestBuiltInFailureText(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"":                                   style.Failure,
		"tone: {error: factual}":             style.Failure,
		"tone: {error: warm and apologetic}": "I'm sorry. " + style.Failure,
		"tone: {success: glad}":              "I'm sorry. " + style.Failure, // the default is empathetic
		"emojis: {error: 🚫}":                 "🚫 " + style.Failure,
		"emojis: {enabled: false}":           style.Failure,
		"tone: {}\n  emojis: {}":             "❌ I'm sorry. " + style.Failure,
		"tone: {}\n  texts: {en: {failure_text: No.}}": "No.",
	} {
		g, faults := readGuide(t, "style:\n  version: '1'\n  "+content+"\n")
		if got := g.FailureText(style.Reader{}); got != want || len(faults) > 0 {
			t.Errorf("%s: %q, %v", content, got, faults)
		}
	}
}
