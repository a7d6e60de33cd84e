package channel

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/markdown/markdowntest"
)

// Where a sentence ends, by the sign, what may follow it, and what stands in front of it.
func TestEndsSentence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"It is done.", true},
		{"It is done", false},
		{"Is it done?", true},
		{"It is done!  ", true},
		{"It goes on…", true},
		{"He said \"done.\"", true},
		{"(It is done.)", true},
		{"**It is done.**", true},
		{"«Готово.»", true},
		{"完成。", true},
		{"完成！」", true},
		{"完成？", true},
		{"完成．", true},
		{"完成｡", true},
		{"पूरा हुआ।", true},
		{"पूरा हुआ॥", true},
		{"هل انتهى؟", true},
		{"ختم۔", true},
		{"Ավարտ։", true},
		{"ተጠናቀቀ።", true},
		{"ပြီးပါပြီ။", true},
		{"បានបញ្ចប់។", true},
		{"one, two;", false},
		{"as follows:", false},
		{"", false},
		{".", true},
		{"J. R.", false},
		{"on the 3.", false},
		{"on the 31.", false},
		{"in 2026.", true},
		{"We met Dr.", false},
		{"We met dr.", false},
		{"We met (Dr.", false},
		{"We met \"Dr.", false},
		{"and so on, etc.", false},
		{"z.B.", false},
		{"e.g.", false},
		{"und d.h.", false},
		{"т.е.", false},
		{"Подробности см. стр.", false},
		{"a handrail.", true},
		{"It is in the dr2.", true},
		{"Ж.", false},
		{"٣.", false},
		{strings.Repeat("w", 50) + ".", true},
		{strings.Repeat("w", 40) + " Dr.", false},
	} {
		if got := endsSentence(tt.text); got != tt.want {
			t.Errorf("%q ends a sentence: %t", tt.text, got)
		}
	}
}

// None of the words that are listed ends a sentence, in either case, and a longer word that
// ends as one of them does.
func TestAbbreviations(t *testing.T) {
	t.Parallel()
	const list = "dr mr mrs ms prof st sr jr vs etc e.g i.e cf approx no vol fig inc ltd co corp dept est a.m p.m u.s " +
		"jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun " +
		"z.b d.h u.a bzw ca nr str hr fr evtl ggf usw inkl zzgl abs tel " +
		"mme mlle env art p.ex av bd sra srta ud uds pág núm p.ej ej aprox sig dott ecc pag sig.ra " +
		"г ул им т.е т.д руб стр д о.э np tzn ul tj např ing mgr"
	for word := range strings.FieldsSeq(list) {
		for _, as := range []string{word, strings.ToUpper(word), "(" + word} {
			if endsSentence("We saw " + as + ".") {
				t.Errorf("%s. ends a sentence", as)
			}
		}
		if !endsSentence("We saw xx" + word + ".") {
			t.Errorf("xx%s. ends no sentence", word)
		}
	}
}

// white is a splitter whose parts hold so many units.
func white(text string, limit int) *splitter {
	return &splitter{text: text, meter: units{&flat{text: text}, limit}, maxParts: 20, indicator: noIndicator}
}

// White space that parts a number is not cut at; other white space is.
func TestInNumber(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string // with | at the space that is asked about
		want bool
	}{
		{"+49|30 123", true},
		{"+49 30|123", true},
		{"call|123", false},
		{"123|call", false},
		{"1|2", true},
		{"1,000|000.50", true},
		{"(030)|123", true},
		{"123|+49 30", false},
		{"2 *|3", false},
		{"٠٣٠|١٢٣", true},
		{"1 |2", false},
		{"1| 2", false},
		{"12345 12345 12345|12345 12345 12345", true},
		{"12345 12345 12345 12345|12345 12345 12345 12345", false},
		{"+12345 12345 12345 1|+12345 12345 12345", false},
		{"1 2+3|4", true},
		{"你1|2", true},
	} {
		at := strings.IndexByte(tt.text, '|')
		s := white(strings.Replace(tt.text, "|", " ", 1), 0)
		if got := s.inNumber(at); got != tt.want {
			t.Errorf("%q is within a number: %t", tt.text, got)
		}
	}
	if s := white("12", 0); s.inNumber(2) || s.inNumber(1) {
		t.Error("the end of a text, or a digit, parts a number")
	}
}

// The last end of each thing up to a place; where there is none it is the start.
func TestEnds(t *testing.T) {
	t.Parallel()
	const text = "One two. Three\nfour.\n\nFive 1 2 六七。八 カタカナ end"
	s := white(text, 0)
	at := func(of string) int { return strings.Index(text, of) }
	for _, tt := range []struct {
		name       string
		cut        func(int, int) int
		start, end int
		want       int
	}{
		{"paragraph", s.paragraphEnd, 0, len(text), at("\n\n")},
		{"paragraph that ends with the part", s.paragraphEnd, 0, at("\n\n"), at("\n\n")},
		{"no paragraph", s.paragraphEnd, 0, at("four"), -1},
		{"sentence", s.sentenceEnd, 0, at("Three"), at(" Three")},
		{"line", s.sentenceEnd, 0, at("our."), at("\nfour")},
		{"sentence at the end of the part", s.sentenceEnd, 0, at(" Three"), at(" Three")},
		{"no sentence", s.sentenceEnd, 0, at("wo."), 0},
		{"sentence without a space", s.sentenceEnd, at("Five"), at("カ"), at("八")},
		{"word", s.wordEnd, 0, at("ree"), at(" Three")},
		{"word, not within a number", s.wordEnd, at("Five"), at("2"), at(" 1")},
		{"no word", s.wordEnd, 0, 2, 0},
		{"ideograph", s.ideographEnd, at("六"), at("。"), at("七")},
		{"not within katakana", s.ideographEnd, at("カ"), at(" end"), at("カ")},
	} {
		if got := tt.cut(tt.start, tt.end); got != tt.want {
			t.Errorf("%s: %d (%q), want %d", tt.name, got, text[tt.start:max(got, tt.start)], tt.want)
		}
	}
}

// A span that is kept begins where a cut within it goes; its ends are no inside.
func TestWhole(t *testing.T) {
	t.Parallel()
	s := &splitter{text: strings.Repeat("x", 40), unsplit: []span{{5, 10}, {10, 12}, {20, 30}}}
	for at, want := range map[int]int{0: 0, 4: 4, 5: 5, 6: 5, 9: 5, 10: 10, 11: 10, 12: 12, 19: 19, 20: 20, 21: 20, 29: 20, 30: 30, 40: 40} {
		if got := s.unsplitStart(at); got != want {
			t.Errorf("at %d it is %d, want %d", at, got, want)
		}
	}
}

// What stands between two parts belongs to neither, but for what indents a line.
func TestSkipAndTrim(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, skipped string }{
		{"  b", "b"},
		{"\n\n  b", "  b"},
		{" \n  b", "b"},
		{"\u3000\u2003\tb", "b"},
		{"\u00a0b", "\u00a0b"},
		{"\u2007b", "\u2007b"},
		{"b", "b"},
		{"  ", ""},
	} {
		s := white("a"+tt.text, 0)
		if got := s.text[s.skipSpace(1):]; got != tt.skipped {
			t.Errorf("behind %q is %q, want %q", tt.text, got, tt.skipped)
		}
	}
	s := white("a b \n\u2003c\u00a0 ", 0)
	for end, want := range map[int]string{4: "a b", 5: "a b", 8: "a b", 9: "a b \n\u2003c", 12: "a b \n\u2003c\u00a0", 2: "a"} {
		if got := s.text[:s.trimEnd(0, end)]; got != want {
			t.Errorf("up to %d it is %q, want %q", end, got, want)
		}
	}
}

// The room for an indicator lies where it stands, and is that of the longest.
func TestRoom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		where     Indicator
		maxParts  int
		i, of     int
		truncated bool
		want      room
	}{
		{indicatorPrefix, 9, 0, 3, false, room{6, 0}},
		{indicatorPrefix, 10, 0, 3, false, room{8, 0}},
		{indicatorSuffix, 9, 1, 3, false, room{0, 6}},
		{indicatorSuffix, 20, 1, 3, false, room{0, 8}},
		{noIndicator, 9, 1, 3, false, room{0, 0}},
		{indicatorPrefix, 9, 0, 1, false, room{}},
		{indicatorPrefix, 3, 2, 3, true, room{6, 4}},
		{indicatorSuffix, 3, 2, 3, true, room{0, 10}},
		{noIndicator, 3, 2, 3, true, room{0, 4}},
		{indicatorPrefix, 3, 1, 3, true, room{6, 0}},
		{indicatorPrefix, 1, 0, 1, true, room{6, 4}},
	} {
		s := &splitter{maxParts: tt.maxParts, indicator: tt.where}
		if got := s.roomOf(tt.i, tt.of, tt.truncated); got != tt.want {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

// Each strategy cuts at what it names, then at smaller things, and loses the rest only if
// not even graphemes make few enough parts.
func TestStrategies(t *testing.T) {
	t.Parallel()
	const text = "One. Two two.\n\nThree three. Four."
	for _, tt := range []struct {
		name      string
		first     Strategy
		text      string
		limit     int
		maxParts  int
		want      []string
		truncated bool
	}{
		{"all of it fits", strategyByParagraph, text, len(text), 1, []string{text}, false},
		{"paragraphs", strategyByParagraph, text, 30, 9, []string{"One. Two two.", "Three three. Four."}, false},
		{"sentences", strategyBySentence, text, 30, 9, []string{"One. Two two.\n\nThree three.", "Four."}, false},
		{"words", strategyByWord, text, 21, 9, []string{"One. Two two.\n\nThree", "three. Four."}, false},
		{"sentences where a paragraph does not fit", strategyByParagraph, text, 16, 9, []string{"One. Two two.", "Three three.", "Four."}, false},
		{"words where sentences make too many", strategyBySentence, "Aa bb cc. Dd ee ff. Gg hh.", 14, 2, []string{"Aa bb cc. Dd", "ee ff. Gg hh."}, false},
		{"the rest is lost", strategyBySentence, "Aa bb. Cc dd. Ee ff. Gg hh. Ii jj.", 16, 2, []string{"Aa bb. Cc dd. Ee", "ff. Gg hh."}, true},
		{"graphemes of a word", strategyByWord, "aaaaaaaaaa bb", 6, 9, []string{"aaaaaa", "aaaa", "bb"}, false},
		{"graphemes of ideographs", strategyByWord, "会議予定会議", 4, 9, []string{"会議予定", "会議"}, false},
		{"white space in front", strategyByWord, "  aa bb", 4, 9, []string{"  aa", "bb"}, false},
	} {
		s := white(tt.text, tt.limit)
		s.maxParts = tt.maxParts
		parts, truncated := s.split(tt.first)
		var got []string
		for _, p := range parts {
			got = append(got, tt.text[p.start:p.end])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || truncated != tt.truncated {
			t.Errorf("%s: truncated %t, parts (-want +got):\n%s", tt.name, truncated, diff)
		}
	}
}

// Of the ends of graphemes up to a place it is the last, wherever the search begins.
func TestGraphemeBefore(t *testing.T) {
	t.Parallel()
	g := markdowntest.Texts(rand.New(rand.NewPCG(3, 3)))
	texts := []string{"", "a", "a\u0301b", strings.Repeat("👨‍👩‍👧", 40), strings.Repeat("é", 300), strings.Repeat("🇩🇪", 80), "x" + strings.Repeat("\u0301", 200) + "y"}
	for range 20 {
		texts = append(texts, g())
	}
	for _, text := range texts {
		ends := []int{0}
		for at := 0; at < len(text); {
			at = endOfGrapheme(text, at)
			ends = append(ends, at)
		}
		for at := range len(text) + 1 {
			i, found := slices.BinarySearch(ends, at)
			if !found {
				i--
			}
			if got := graphemeBefore(text, 0, at); got != ends[i] {
				t.Fatalf("%q: before %d it is %d, want %d", text, at, got, ends[i])
			}
			if got := lengthUTF16(text[:ends[i]]); got != len(utf16.Encode([]rune(text[:ends[i]]))) {
				t.Fatalf("%q has %d units", text[:ends[i]], got)
			}
		}
	}
}

// The part of ASCII that is passed over is ASCII, and leaves less than eight bytes of it.
func TestASCIIPrefix(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		s := strings.Repeat("a", n)
		for _, text := range []string{s, s + "é", s + "\x7fé" + s} {
			got, ascii := asciiPrefix(text), strings.IndexFunc(text, func(r rune) bool { return r >= 0x80 })
			if ascii < 0 {
				ascii = len(text)
			}
			if got > ascii || got <= ascii-8 || got%8 != 0 {
				t.Errorf("%q: %d of %d", text, got, ascii)
			}
		}
	}
}

// Parts that are measured by units are as long as they may be and no longer.
func TestUnitsReach(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		limit int
		room  room
		want  string
	}{
		{"abcdef", 0, room{6, 4}, "abcdef"},
		{"abcdef", 6, room{}, "abcdef"},
		{"abcdef", 5, room{}, "abcde"},
		{"abcdef", 6, room{1, 0}, "abcde"},
		{"abcdef", 6, room{1, 2}, "abc"},
		{"ab😀cd", 3, room{}, "ab"},
		{"ab😀cd", 4, room{}, "ab😀"},
		{"éèêë", 4, room{}, "éèêë"},
		{"éèêë", 3, room{}, "éèê"},
		{"a\u0301b", 1, room{}, ""},
		{"a\u0301b", 2, room{}, "a\u0301"},
	} {
		u := units{&flat{text: tt.text}, tt.limit}
		if got := tt.text[:u.reach(0, tt.room)]; got != tt.want {
			t.Errorf("%q, %d, %+v: %q, want %q", tt.text, tt.limit, tt.room, got, tt.want)
		}
	}
	if u := (units{flat: &flat{text: "a \n\u3000 b"}}); !u.isBlank(1, 6) || u.isBlank(0, 2) || u.isBlank(1, 8) {
		t.Error("what is blank")
	}
}
