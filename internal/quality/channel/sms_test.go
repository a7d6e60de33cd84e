package channel

import (
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/internal/base/markdown/markdowntest"
)

// naively counts segments by putting one grapheme after the other into the segment at hand.
func naively(e Encoding, sizes []int) (total, segments int) {
	alone, several := e.capacity()
	for _, n := range sizes {
		total += n
	}
	if total == 0 {
		return 0, 0
	}
	if total <= alone {
		return total, 1
	}
	segments, left := 1, several
	for _, n := range sizes {
		if n > left {
			segments, left = segments+1, several
		}
		left -= n
	}
	return total, segments
}

// A text costs what one gets by packing its graphemes one by one.
func TestCountIsThatOfPacking(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a", "€", "a€", "€a", "ab€c", "ñ", "{}", "x\n"} {
		for n := range 400 {
			text := strings.Repeat(unit, n)
			var sizes []int
			for _, r := range text {
				sizes = append(sizes, septetsOf(r))
			}
			units, segments := encodingGSM7.countUnits(text)
			if wantUnits, want := naively(encodingGSM7, sizes); units != wantUnits || segments != want {
				t.Fatalf("%d times %q: %d units in %d segments, want %d in %d", n, unit, units, segments, wantUnits, want)
			}
		}
	}
	for unit, sizes := range map[string][]int{"я": {1}, "😀": {2}, "я😀": {1, 2}, "e\u0301": {2}, "👨‍👩‍👧": {8}, "a": {1}, "☝🏽я": {3, 1}} {
		for n := range 200 {
			var all []int
			for range n {
				all = append(all, sizes...)
			}
			units, segments := encodingUCS2.countUnits(strings.Repeat(unit, n))
			if wantUnits, want := naively(encodingUCS2, all); units != wantUnits || segments != want {
				t.Fatalf("%d times %q: %d units in %d segments, want %d in %d", n, unit, units, segments, wantUnits, want)
			}
		}
	}
}

// A grapheme that no segment holds goes on in the next one.
func TestGraphemeLargerThanASegment(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sizes []int
		want  int
	}{
		{[]int{70}, 1},
		{[]int{71}, 2 + 1}, // it does not begin in a segment that it leaves
		{[]int{67, 1}, 1},
		{[]int{67, 67}, 2},
		{[]int{67, 68}, 3},
		{[]int{1, 134, 1}, 4},
	} {
		p := newPacker(encodingUCS2)
		for _, n := range tt.sizes {
			p.add(n)
		}
		if got := p.segments(); got != tt.want {
			t.Errorf("%d: %d segments, want %d", tt.sizes, got, tt.want)
		}
	}
	if p := newPacker(encodingGSM7); p.segments() != 0 {
		t.Error("an empty text has a segment")
	}
}

// How much of a text, from its begin, each encoding carries.
func TestReach(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 400)
	for _, tt := range []struct {
		name            string
		text            string
		units, segments int
		room            room
		gsm, ucs        int
	}{
		{"no bound", long, 0, 0, room{}, 400, 400},
		{"units", long, 100, 0, room{}, 100, 100},
		{"units, less an indicator", long, 100, 0, room{6, 0}, 94, 94},
		{"units, less both", long, 100, 0, room{6, 4}, 90, 90},
		{"one segment", long, 0, 1, room{}, 160, 70},
		{"one segment, less an indicator", long, 0, 1, room{6, 0}, 154, 64},
		{"two segments", long, 0, 2, room{}, 306, 134},
		{"two segments, less dots", long, 0, 2, room{0, 4}, 302, 130},
		{"both bounds", long, 200, 2, room{}, 200, 134},
		{"not in the alphabet", "aя", 0, 0, room{}, 1, 3},
		{"an escape pair", strings.Repeat("€", 100), 0, 1, room{}, 80 * 3, 70 * 3},
		{"an escape pair at a bound", "a€€", 4, 0, room{}, 4, 7},
		{"nothing fits", "€", 1, 0, room{1, 0}, 0, 0},
	} {
		m := &sms{text: tt.text, maxUnits: tt.units, maxSegments: tt.segments}
		if gsm, ucs := m.gsmReach(0, tt.room), m.ucsReach(0, tt.room); gsm != tt.gsm || ucs != tt.ucs {
			t.Errorf("%s: %d and %d bytes, want %d and %d", tt.name, gsm, ucs, tt.gsm, tt.ucs)
		}
		if got := m.reach(0, tt.room); got != max(tt.gsm, tt.ucs) {
			t.Errorf("%s: the part reaches to %d", tt.name, got)
		}
	}
}

// The shortcuts for texts that are all in the alphabet say what the long way says.
func TestPlainGSM(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text     string
		n, units int
	}{
		{"", 0, 0},
		{"abc", 3, 3},
		{"a€", 0, 0}, // it has three bytes, and is left to the long way
		{"a{b", 3, 4},
		{"añb", 4, 3},
		{"aя", 0, 0},
		{"ab я", 2, 2},
		{"a\rb", 1, 1},
		{"a\tb", 1, 1},
		{"abé\u0301", 2, 2},
		{"Ω{é", 5, 4},
		{"a`", 1, 1},
		{"a\xc3", 0, 0},
	} {
		if n, units := plainGSM(tt.text); n != tt.n || units != tt.units {
			t.Errorf("%q: %d bytes, %d units, want %d and %d", tt.text, n, units, tt.n, tt.units)
		}
	}
	g := markdowntest.Texts(rand.New(rand.NewPCG(8, 8)))
	for range 200 {
		text := clean(g())
		n, units := plainGSM(text)
		sum := 0
		for _, r := range text[:n] {
			if septetsOf(r) == 0 {
				t.Fatalf("%q has %q, which is not in the alphabet", text[:n], r)
			}
			sum += septetsOf(r)
		}
		if sum != units {
			t.Fatalf("%q costs %d, and not %d", text[:n], sum, units)
		}
	}
}

// What is written has room for what it is kept for, or is in UCS-2.
func TestWrite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		m        sms
		room     room
		want     string
		encoding Encoding
	}{
		{"plain", sms{text: "abc"}, room{}, "abc", encodingGSM7},
		{"nothing", sms{text: ""}, room{}, "", encodingGSM7},
		{"a sign stays unless it may be replaced", sms{text: "a→b"}, room{}, "a→b", encodingUCS2},
		{"a sign", sms{text: "a→b", transliterate: true}, room{}, "a->b", encodingGSM7},
		{"a sign that fits", sms{text: "a→b", transliterate: true, maxUnits: 4}, room{}, "a->b", encodingGSM7},
		{"a sign that does not", sms{text: "a→b", transliterate: true, maxUnits: 3}, room{}, "a→b", encodingUCS2},
		{"a sign that does not next to an indicator", sms{text: "a→b", transliterate: true, maxUnits: 6}, room{3, 0}, "a→b", encodingUCS2},
		{"a sign that fits next to an indicator", sms{text: "a→b", transliterate: true, maxUnits: 7}, room{2, 1}, "a->b", encodingGSM7},
		{"a letter stays, and all with it", sms{text: "ç→", transliterate: true}, room{}, "ç→", encodingUCS2},
		{"a letter at the end", sms{text: "→ç", transliterate: true}, room{}, "→ç", encodingUCS2},
		{"an emoji stays", sms{text: "a 😀"}, room{}, "a 😀", encodingUCS2},
		{"an emoji goes", sms{text: "a 😀", auto: true}, room{}, "a", encodingGSM7},
		{"an emoji alone", sms{text: "😀", auto: true}, room{}, "😀", encodingUCS2},
		{"a word", sms{text: "a✅b", auto: true, words: map[string]string{"✅": "yes"}}, room{}, "a yes b", encodingGSM7},
		{"a digit in front of a fraction", sms{text: "1½ x½ ½", transliterate: true}, room{}, "1 1/2 x1/2 1/2", encodingGSM7},
	} {
		if got, encoding := tt.m.writePart(0, len(tt.m.text), tt.room); got != tt.want || encoding != tt.encoding {
			t.Errorf("%s: %q in %s, want %q in %s", tt.name, got, encoding, tt.want, tt.encoding)
		}
	}
}

// The word of an emoji is found with and without the sign that asks for the picture.
func TestWordsOfEmojis(t *testing.T) {
	t.Parallel()
	m := &sms{words: map[string]string{"✅": "yes", "⚠️": "care"}}
	for g, want := range map[string]string{"✅": "yes", "✅\ufe0f": "yes", "⚠️": "care", "⚠": "care", "❌": "", "❌\ufe0f": ""} {
		if got := m.wordOf(g); got != want {
			t.Errorf("%q is %q, want %q", g, got, want)
		}
	}
}

// A part of nothing but emojis that go would be empty.
func TestBlankParts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"👍 👍": true, "👍 a": false, " \n": true, "a": false, "👍 я": false, "": false} {
		m := &sms{text: text, auto: true}
		if got := m.isBlank(0, len(text)); got != want {
			t.Errorf("%q is blank: %t", text, got)
		}
	}
	if m := (&sms{text: "👍"}); m.isBlank(0, 4) {
		t.Error("an emoji that stays is blank")
	}
}

// No space stands in front of these, and none is left at the end.
func TestCloses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, "\nx": true, ".": true, ", b": true, ";": true, ":": true, "!": true, "?": true, ")": true, "]": true, "}": true,
		"…": true, "»": true, "”": true, "。": true, "，": true, "、": true, "！": true, "？": true, "a": false, "(": false, "«": false, " .": false,
	} {
		if got := closesText(text); got != want {
			t.Errorf("%q closes: %t", text, got)
		}
	}
}
