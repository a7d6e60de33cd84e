// Package style is the voice of answers: the instructions for a model, and the texts that code adds
// itself, because code is exact. It knows neither models nor channels.
package style

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Failure is sent in place of an answer that did not pass its checks, unless a Guide has a text for
// it.
const Failure = "I could not give a reliable answer. Please try again."

// Guide is the section style of the configuration file. A nil *Guide adds nothing.
type Guide struct {
	Version     string  `key:"version"`
	Brand       string  `key:"brand_name"`
	Personality string  `key:"personality"`
	Tone        Tone    `key:"tone"`
	Emojis      Emojis  `key:"emojis"`
	Humor       Humor   `key:"humor"`
	Greeting    bool    `key:"formatting/greeting"`      // answers begin with one
	SignOff     bool    `key:"formatting/sign_off"`      // answers end with one
	UseName     bool    `key:"formatting/use_user_name"` // of the user, if it is known
	Texts       []Texts `key:"texts"`
}

// Tone is how answers sound: as a rule, about what failed, and about what worked.
type Tone struct {
	Default string `key:"default"`
	Error   string `key:"error"`
	Success string `key:"success"`
	Named   bool   // the file has them
}

// Emojis are those that answers use.
type Emojis struct {
	Off     bool   `key:"enabled" is:"false"`
	Success string `key:"success"`
	Warning string `key:"warning"`
	Error   string `key:"error"`
	Info    string `key:"info"`
	Max     int    `key:"max"` // of one answer; -1: no bound
	Named   bool   // the file has them, which gives them words
}

// Humor is of a kind, and as often as it says.
type Humor struct {
	Off       bool   `key:"enabled" is:"false"`
	Style     string `key:"style"`
	Frequency string `key:"frequency"`
}

// Texts are Markdown in one language, with {name} and {brand}. Each may be empty.
type Texts struct {
	Lang     string `key:"@"` // BCP 47
	Greeting string `key:"greeting_text"`
	SignOff  string `key:"sign_off_text"`
	Failure  string `key:"failure_text"`
}

// Reader is who gets an answer, and where.
type Reader struct {
	Locale string // BCP 47; empty: the first language
	Name   string // empty: it is not known
	// Frames says that the channel has room for greeting and sign-off.
	Frames bool
}

// Language is the tag of the language that r is written to in; empty: any.
func (g *Guide) Language(r Reader) string {
	if t := g.textsFor(r); r.Locale == "" && t != nil {
		return t.Lang
	}
	return r.Locale
}

// textsFor returns the texts of a reader's language, of one with the same first tag, or the first
// texts. It returns nil without texts.
func (g *Guide) textsFor(r Reader) *Texts {
	if g == nil || len(g.Texts) == 0 {
		return nil
	}
	base := func(tag string) string {
		first, _, _ := strings.Cut(strings.ToLower(tag), "-")
		return first
	}
	var near *Texts
	for i := range g.Texts {
		switch t := &g.Texts[i]; {
		case strings.EqualFold(t.Lang, r.Locale):
			return t
		case near == nil && base(t.Lang) == base(r.Locale):
			near = t
		}
	}
	return cmp.Or(near, &g.Texts[0])
}

// Frame returns the texts in front of an answer and behind it, as Markdown. Each is empty, or ends
// or begins with a blank line.
func (g *Guide) Frame(r Reader) (before, after string) {
	t := g.textsFor(r)
	if t == nil || !r.Frames {
		return "", ""
	}
	if s := g.fillNames(t.Greeting, r); g.Greeting && s != "" {
		before = s + "\n\n"
	}
	if s := g.fillNames(t.SignOff, r); g.SignOff && s != "" {
		after = "\n\n" + s
	}
	return before, after
}

// FailureText returns the text in place of an answer that passed no check, as Markdown. Without a
// text of the file it is the built-in one, in the tone and with the emoji that the file has for
// errors.
func (g *Guide) FailureText(r Reader) string {
	if t := g.textsFor(r); t != nil && t.Failure != "" {
		return cmp.Or(g.fillNames(t.Failure, r), Failure)
	}
	if g == nil {
		return Failure
	}
	text := Failure
	if g.Tone.Named && soundsSorry(g.Tone.Error) {
		text = "I'm sorry. " + Failure
	}
	if g.Emojis.Named && !g.Emojis.Off && g.Emojis.Error != "" {
		text = g.Emojis.Error + " " + text
	}
	return text
}

// soundsSorry reports whether a tone is one that apologises.
func soundsSorry(tone string) bool {
	tone = strings.ToLower(tone)
	return slices.ContainsFunc([]string{"empath", "apolog", "sorry", "warm", "kind", "friendly", "caring", "gentle", "compassion"}, func(word string) bool {
		return strings.Contains(tone, word)
	})
}

// fillNames puts the names into a text. Without a name its place goes, with the white space
// and the comma before it.
func (g *Guide) fillNames(text string, r Reader) string {
	name := ""
	if g.UseName && r.Name != "" {
		name = escapeMarkdown(oneLine(r.Name))
	}
	return strings.TrimSpace(replacePlace(replacePlace(text, "{name}", name), "{brand}", escapeMarkdown(g.Brand)))
}

// replacePlace replaces a placeholder. Without a value the sentence that it stands in is
// dropped, so that no half of one is shown.
func replacePlace(text, place, value string) string {
	if value != "" || !strings.Contains(text, place) {
		return strings.ReplaceAll(text, place, value)
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, place)
		if !found {
			b.WriteString(text)
			return b.String()
		}
		before = strings.TrimSuffix(strings.TrimRight(before, " \t"), ",")
		if before == "" && b.Len() == 0 {
			after = strings.TrimLeft(after, " ,")
		}
		b.WriteString(before)
		text = after
	}
}

// maxName bounds a name, in characters.
const maxName = 64

// oneLine drops controls and line ends, so that a name is a name.
func oneLine(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d', unicode.IsControl(r):
			return -1
		}
		return r
	}, name)
	name = strings.TrimSpace(name)
	for n := range name {
		if utf8.RuneCountInString(name[:n]) == maxName {
			return strings.TrimSpace(name[:n])
		}
	}
	return name
}

// escapeMarkdown is a text of which Markdown shows every character.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)) && !strings.ContainsRune(",-'/;:?%", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Words returns a word for each emoji of the guide, for use in an SMS. A guide without emojis of
// its own returns nil, because an answer may be in any language.
func (g *Guide) Words() map[string]string {
	if g == nil || !g.Emojis.Named {
		return nil
	}
	words := map[string]string{}
	for emoji, word := range map[string]string{g.Emojis.Success: "success", g.Emojis.Warning: "warning", g.Emojis.Error: "error", g.Emojis.Info: "info"} {
		if emoji != "" {
			words[emoji] = word
		}
	}
	return words
}

// Prompt returns the instruction of the style to a model, for one turn; it may be empty. It does
// not contain the user's name, since that is data.
func (g *Guide) Prompt(r Reader) string { return g.Prompter().Prompt(r) }

// Prompter says Prompt for many turns: most of it is the same for all.
type Prompter struct {
	guide *Guide
	same  string
}

// Prompter returns that of the guide as it is now.
func (g *Guide) Prompter() Prompter {
	if g == nil {
		return Prompter{}
	}
	same := "How to write:"
	for _, line := range []struct{ label, text string }{
		{"You speak for ", g.Brand}, {"Personality: ", g.Personality}, {"Tone: ", g.tonePrompt()}, {"", g.humorPrompt()}, {"", g.emojiPrompt()},
	} {
		if line.text != "" {
			same += bulletLine(line.label + line.text)
		}
	}
	return Prompter{g, same}
}

// bulletLine is a line of a prompt.
func bulletLine(line string) string { return "\n- " + line }

// Prompt is that of the guide.
func (p Prompter) Prompt(r Reader) string {
	g := p.guide
	if g == nil {
		return ""
	}
	greet, signOff := g.framePrompts(r)
	return p.same + bulletLine(greet) + bulletLine(signOff)
}

// tonePrompt words the tones for the prompt.
func (g *Guide) tonePrompt() string {
	var list []string
	for _, t := range []struct{ tone, when string }{{g.Tone.Default, ""}, {g.Tone.Error, " where something failed"}, {g.Tone.Success, " where something worked"}} {
		if t.tone != "" {
			list = append(list, t.tone+t.when)
		}
	}
	return strings.Join(list, ", ")
}

// humorPrompt words the humor for the prompt.
func (g *Guide) humorPrompt() string {
	if g.Humor.Off {
		return "No humor."
	}
	what := strings.TrimSpace(g.Humor.Style + " humor")
	if g.Humor.Frequency == "" {
		return "Humor: " + cmp.Or(g.Humor.Style, "where it fits") + "."
	}
	return strings.ToUpper(what[:1]) + what[1:] + ", " + g.Humor.Frequency + "."
}

// emojiPrompt words which emojis may be used for the prompt.
func (g *Guide) emojiPrompt() string {
	if g.Emojis.Off || g.Emojis.Max == 0 {
		return "No emojis."
	}
	var list []string
	for _, e := range []struct{ emoji, what string }{{g.Emojis.Success, "success"}, {g.Emojis.Warning, "a warning"}, {g.Emojis.Error, "an error"}, {g.Emojis.Info, "information"}} {
		if e.emoji != "" {
			list = append(list, e.emoji+" for "+e.what)
		}
	}
	if len(list) == 0 {
		return "Emojis sparingly."
	}
	return "Of emojis only these, sparingly: " + strings.Join(list, ", ") + "."
}

// framePrompts says to a model what to say as greeting and sign-off: a text that code adds must
// not come twice.
func (g *Guide) framePrompts(r Reader) (greet, signOff string) {
	before, after := g.Frame(r)
	greet, signOff = "Do not greet.", "Do not sign off."
	if g.Greeting && r.Frames && before == "" {
		greet = "Begin with a short greeting."
	}
	if g.SignOff && r.Frames && after == "" {
		signOff = "End with a short sign-off."
	}
	return greet, signOff
}
