package model

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// seamTexts returns 200 answers: those that are hard to cut, and random ones.
func seamTexts() []string {
	texts := []string{
		"",
		" \n\t ",
		"Yes.",
		"The family 👩‍👩‍👧‍👦 went to the sea 🏖️ and took 🇫🇷 flags, 👍🏽 signs and a 🧑‍🚀 with them on the way.",
		"שלום עולם, זהו טקסט ארוך שנכתב מימין לשמאל כדי לבדוק את החיבור בין שתי תשובות. והנה עוד משפט אחד.",
		"E\u0301te\u0301 et a\u0300 la fin de l'anne\u0301e, les e\u0301le\u0300ves ont cre\u0301e\u0301 une pie\u0300ce de the\u0301a\u0302tre tre\u0300s dro\u0302le.",
		"First line\r\nsecond line\r\n\r\nThird line behind an empty one, which ends here.\r\nAnd a last line.\r\n",
		"Prices:\u00a01\u00a0234\u00a0€, then\u00a02\u00a0345\u00a0€, and in the end\u00a03\u00a0456\u00a0€ for the whole of it, as agreed.",
		"He wrote «go on from here» and then «stop», and nobody knew which « of » the two was meant, not even «he».",
		"| a | b |\n|---|---|\n| 1 | one |\n| 2 | two |\n| 3 | three |\n| 4 | four |\n\n```go\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n```\n",
		`{"title": "A long title with \"quotes\" in it", "items": ["one", "two", "three and a half"], "note": "an open str`,
		"“Curly” and \"straight\" quotes, ‘single’ and 'plain' ones, stand “next to” each other in this 'sentence' of many.",
		"今日は良い天気ですね。明日は雨が降るかもしれません。傘を持って行ったほうがいいと思います。そして明後日はまた晴れるでしょう。",
	}
	words := strings.Fields("the a gateway stream of model answers token tools calls ends begins 12 3.5 über été и да «x» \"y\" — * ## - ok")
	random := rand.New(rand.NewPCG(1, 2))
	for len(texts) < 200 {
		var b strings.Builder
		for range 5 + random.IntN(25) {
			b.WriteString(words[random.IntN(len(words))])
			b.WriteString([]string{" ", " ", " ", "  ", "\n", "\n\n", ". ", ", "}[random.IntN(8)])
		}
		texts = append(texts, b.String())
	}
	return texts
}

// run gives a seam an answer in pieces of so many bytes, and returns what it shows of it.
func (s *seam) run(answer string, size int) string {
	var shown strings.Builder
	for rest := answer; rest != ""; {
		n := min(size, len(rest))
		for n < len(rest) && !utf8.RuneStart(rest[n]) {
			n++ // decoders never give half a code point
		}
		shown.WriteString(s.add(rest[:n]))
		rest = rest[n:]
	}
	shown.WriteString(s.end(false))
	return shown.String()
}

// Each text is cut at each code point, and the next model answers in one of four ways. The halves
// join to the text, and a model of the rules that sees the whole answer at once agrees.
func TestSeamJoins(t *testing.T) {
	t.Parallel()
	repeats := strings.NewReplacer("\r\n", " ", "\n\n", " ", "\n", "  ", "\u00a0", " ", "“", `"`, "”", `"`, "‘", "'", "’", "'")
	joins := 0
	for i, text := range seamTexts() {
		for cut := range text {
			shown, rest := text[:cut], text[cut:]
			whole := strings.TrimRightFunc(shown, unicode.IsSpace)
			s := newSeam(shown, false)
			if s.anchor == "" {
				continue
			}
			behind := text[len(whole):]
			answers := map[string]string{
				"exact": s.anchor + behind,
				"loose": "Sure, here it is:\n\n" + repeats.Replace(s.anchor) + behind,
				"again": strings.TrimLeftFunc(text, unicode.IsSpace),
			}
			if utf8.RuneCountInString(s.anchor) > anchorTail {
				answers["tail"] = "… " + lastRunes(s.anchor, anchorTail) + behind
			}
			if utf8.RuneCountInString(s.anchor) < anchorTail {
				answers["loose"] = repeats.Replace(s.anchor) + behind
			}
			for kind, answer := range answers {
				if utf8.RuneCountInString(answer) == utf8.RuneCountInString(s.anchor) {
					continue // nothing behind the seam
				}
				want, outcome := joinWhole(shown, answer)
				s := newSeam(shown, false)
				got := s.run(answer, 1+(i+cut)%7)
				if got != want || s.outcome != outcome {
					t.Fatalf("text %d, cut %d, %s: got %q, %s, and the model %q, %s, for shown %q and answer %q", i, cut, kind, got, s.outcome, want, outcome, shown, answer)
				}
				// An anchor that stands in the text twice may be found too early in an answer that begins again.
				if got != rest && (kind != "again" || strings.Count(whole, s.anchor) == 1 && utf8.RuneCountInString(whole) < 70) {
					t.Fatalf("text %d, cut %d, %s: got %q, want %q, for shown %q and answer %q", i, cut, kind, got, rest, shown, answer)
				}
				joins++
			}
		}
	}
	if joins < 30_000 {
		t.Errorf("only %d joins", joins)
	}
}

// joinWhole is the model: it sees the whole answer, and searches in text whose white space and quotes
// are made equal. places has, for each rune of such a text, where it begins in the original.
func joinWhole(shown, answer string) (string, seamOutcome) {
	text, _ := levelled(strings.TrimSpace(shown))
	level, places := levelled(answer)
	anchor, _ := levelled(anchorOf(strings.TrimSpace(shown)))
	from := 0
	for from < len(level) && level[from] == ' ' {
		from++
	}
	within := anchorWithin
	if len([]rune(anchorOf(strings.TrimSpace(shown)))) < anchorTail {
		within = 1
	}
	tail, _ := levelled(lastRunes(anchorOf(strings.TrimSpace(shown)), anchorTail))
	end, outcome := 0, seamJoined
	for _, pattern := range [][]rune{anchor, tail} {
		for at := from; end == 0 && at+len(pattern) <= len(level); at++ {
			if utf8.RuneCountInString(answer[places[from]:places[at]]) < within && string(level[at:at+len(pattern)]) == string(pattern) {
				end = at + len(pattern)
			}
		}
	}
	if end == 0 {
		first, _ := levelled(firstRunes(strings.TrimSpace(shown), repeatedSize))
		if !strings.HasPrefix(string(level[from:]), string(first)) || !strings.HasPrefix(string(level[from:]), string(text)) {
			return "", seamRefused
		}
		end, outcome = from+len(text), seamRepeated
	}
	for { // the anchor once more
		next := end
		for next < len(level) && strings.ContainsRune(" «»\"", level[next]) {
			next++
		}
		if utf8.RuneCountInString(anchorOf(strings.TrimSpace(shown))) < anchorTail || utf8.RuneCountInString(answer[:places[end]]) >= anchorWithin || !strings.HasPrefix(string(level[next:]), string(anchor)) {
			break
		}
		end = next + len(anchor)
	}
	behind := answer[places[end]:]
	space := shown[len(strings.TrimRightFunc(shown, unicode.IsSpace)):]
	if strings.HasPrefix(behind, space) {
		return behind[len(space):], outcome
	}
	return strings.TrimLeftFunc(behind, unicode.IsSpace), outcome
}

func levelled(text string) (level []rune, places []int) {
	for i, r := range text {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if r == ' ' && len(level) > 0 && level[len(level)-1] == ' ' {
			continue
		}
		level, places = append(level, straightQuote(r)), append(places, i)
	}
	return level, append(places, len(text))
}

func TestSeamAnswers(t *testing.T) {
	t.Parallel()
	const shown = "The museum opens at nine in the morning and closes at six in the evening. On Mondays it is clo"
	anchor := anchorOf(shown)
	rows := strings.Repeat("| equal | row |\n", 100)
	long := strings.Repeat("The first half is long. ", 5) + shown
	for name, tt := range map[string]struct {
		shown, answer string
		want          string
		outcome       seamOutcome
	}{
		"anchor":         {shown, anchor + "sed.", "sed.", seamJoined},
		"anchor twice":   {shown, anchor + " " + anchor + "sed.", "sed.", seamJoined},
		"quoted anchor":  {shown, "«" + anchor + "»sed.", "sed.", seamJoined},
		"anchor as code": {shown + " \n", "`" + anchor + "` Six.", "Six.", seamJoined},
		"anchor twice, which begins with a quote": {"“Curly” and \"straight\" quotes, ", "“Curly” and \"straight\" quotes, “Curly” and \"straight\" quotes, ‘single’ ones.", "‘single’ ones.", seamJoined},
		"quoted anchor twice":                     {shown, "«" + anchor + "» «" + anchor + "sed.", "sed.", seamJoined},
		"its end, behind a space":                 {"Step one is done. Here are all the steps: Gate 5 opens «so»!", "Gate 5 opens «so»! Six.", " Six.", seamJoined},
		"behind 79":                               {shown, strings.Repeat("x", 79) + anchor + "sed.", "sed.", seamJoined},
		"behind 80":                               {shown, strings.Repeat("x", 80) + anchor + "sed.", "", seamRefused},
		"cut in its middle":                       {shown, anchor[:len(anchor)/2], "", seamRefused},
		"another answer":                          {shown, "Sorry, I do not know when the museum opens, but you may call them.", "", seamRefused},
		"from the begin":                          {long, long + "sed.", "sed.", seamRepeated},
		"a different begin":                       {long, long[:130] + " five in the evening. On Mondays it is closed.", "", seamRefused},
		"no text":                                 {shown, "", "", seamRefused},
		"short":                                   {"Yes, ", "Yes, it is.", "it is.", seamJoined},
		"short, not at begin":                     {"Yes, ", "Well. Yes, it is.", "", seamRefused},
		"white space alone":                       {"\n\n", "It is.", "It is.", seamJoined},
		"space kept once":                         {"One two three four five. ", "One two three four five. Six.", "Six.", seamJoined},
		"space that differs":                      {"One two three four five.\n\n", "One two three four five. Six.", "Six.", seamJoined},
		"space in front":                          {"One two three four five.", "One two three four five. Six.", " Six.", seamJoined},
		"equal rows":                              {rows, rows[len(rows)-160:] + "End.", "End.", seamJoined},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 3, 1000} {
				s := newSeam(tt.shown, false)
				if got := s.run(tt.answer, size); got != tt.want || s.outcome != tt.outcome {
					t.Errorf("in pieces of %d: got %q, %s, want %q, %s", size, got, s.outcome, tt.want, tt.outcome)
				}
			}
		})
	}
}

func TestSeamOfPrefill(t *testing.T) {
	t.Parallel()
	const shown = "The museum opens at nine in the morning and closes at six in the evening. On Mondays it is clo"
	for name, tt := range map[string]struct {
		shown, answer, want string
		outcome             seamOutcome
	}{
		"goes on":           {shown, "sed all day.", "sed all day.", seamJoined},
		"space":             {"On Mondays", " it is closed.", " it is closed.", seamJoined},
		"all again":         {shown, shown + "sed.", "sed.", seamRepeated},
		"all of a short":    {"Yes", "Yes, it is.", ", it is.", seamJoined},
		"its last words":    {shown, "On Mondays it is closed.", "sed.", seamJoined},
		"less than 16":      {shown, "it is closed.", "it is closed.", seamJoined},
		"a different begin": {shown, shown[:60] + " five in the evening.", "", seamRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 3, 1000} {
				s := newSeam(tt.shown, true)
				if got := s.run(tt.answer, size); got != tt.want || s.outcome != tt.outcome {
					t.Errorf("in pieces of %d: got %q, %s, want %q, %s", size, got, s.outcome, tt.want, tt.outcome)
				}
			}
		})
	}
}

// An answer of calls alone takes the shown text for complete. One with other text in front does not.
func TestSeamOfCalls(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]seamOutcome{"": seamJoined, "\n": seamJoined, "I will look it up.": seamRefused} {
		s := newSeam("The museum opens at nine in the morning", false)
		if got := s.add(text) + s.end(true); got != "" || s.outcome != want {
			t.Errorf("behind %q: %q, %s, want %s", text, got, s.outcome, want)
		}
	}
}

func TestAnchor(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("alpha beta gamma delta ", 3)
	for text, want := range map[string]string{
		"Yes.": "Yes.",
		"one two three four five six seven eight nine ten": "three four five six seven eight nine ten",
		words + "once": words[23:] + "once",
	} {
		text = strings.TrimSpace(text)
		got := anchorOf(text)
		if want == words[23:]+"once" {
			want = got // its size is checked below
		}
		if got != want || utf8.RuneCountInString(got) > maxAnchor || !strings.HasSuffix(text, got) {
			t.Errorf("%q has the anchor %q, want %q", text, got, want)
		}
		if note := continueNote(got); !strings.Contains(note, "«"+got+"»") || strings.Count(note, "«") != 1 {
			t.Errorf("the note is %q", note)
		}
	}
	if got := anchorOf(strings.TrimSpace(strings.Repeat("equal rows and more\n", 100))); utf8.RuneCountInString(got) < maxAnchor-1 {
		t.Errorf("an anchor that is not unique has %d code points", utf8.RuneCountInString(got))
	}
}

// The time for a long answer grows with its length, not with its square.
func BenchmarkSeam(b *testing.B) {
	shown := strings.Repeat("A sentence of a long answer, and another one. ", 1400)
	for _, kind := range []string{"anchor", "again"} {
		b.Run(kind, func(b *testing.B) {
			answer := anchorOf(strings.TrimSpace(shown)) + " And so on."
			if kind == "again" {
				answer = fmt.Sprint(shown, "And so on.")
			}
			for b.Loop() {
				newSeam(shown, false).run(answer, 5)
			}
		})
	}
}
