package numbers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readAs writes the numbers of a text with all that each may mean: 1.234=1234|1.234.
func readAs(text string) string {
	var list []string
	eachNumber(text, func(n *number) {
		var keys []string
		for _, r := range n.readings() {
			keys = append(keys, r.key)
		}
		list = append(list, n.raw()+"="+strings.Join(keys, "|"))
	})
	return strings.Join(list, " ; ")
}

// Every language's way to group and to part decimals is read; what can be read in two ways is
// read in both.
func TestReadings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"7":              "7=7",
		"007":            "007=7",
		"0":              "0=0",
		"0.50":           "0.50=0.5",
		"0,5":            "0,5=0.5",
		"12.00":          "12.00=12",
		"1.234":          "1.234=1234|1.234",
		"1,234":          "1,234=1234|1.234",
		"0.234":          "0.234=0.234",
		"1234.567":       "1234.567=1234.567",
		"1.234.567":      "1.234.567=1234567",
		"1,234,567":      "1,234,567=1234567",
		"1.234,5":        "1.234,5=1234.5",
		"1,234.5":        "1,234.5=1234.5",
		"1,234,567.8":    "1,234,567.8=1234567.8",
		"1.2.3":          "1.2.3=",
		"1,2,3":          "1,2,3=",
		"24.11.2026":     "24.11.2026=",
		"12,34,567":      "12,34,567=1234567", // lakhs
		"1,23,456.50":    "1,23,456.50=123456.5",
		"12.34.567":      "12.34.567=",
		"123,45,678":     "123,45,678=", // lakhs begin with two digits at most
		"1,1,000":        "1,1,000=",
		"1 234":          "1 234=1234",
		"1 234 567,8":    "1 234 567,8=1234567.8",
		"1\u00a0234":     "1\u00a0234=1234",
		"1\u202f234":     "1\u00a0234=1234",
		"1\u2009234":     "1\u00a0234=1234",
		"1\u2007234":     "1\u00a0234=1234",
		"1'234":          "1'234=1234",
		"1’234.5":        "1'234.5=1234.5",
		"1．5":            "1.5=1.5",
		"1，234":          "1,234=1234|1.234",
		"1 2":            "1=1 ; 2=2",
		"1 23":           "1=1 ; 23=23",
		"1 2345":         "1=1 ; 2345=2345",
		"1234 567":       "1234=1234 ; 567=567",
		"1 234.567":      "1 234.567=1234.567",
		"1 234\u00a0567": "1 234=1234 ; 567=567",
		"1,234 567":      "1,234=1234|1.234 ; 567=567",
		"1.2,3":          "1.2,3=",
		"5.":             "5=5",
		"5, 6":           "5=5 ; 6=6",
		".5":             "5=5",
		"٣٢":             "32=32",
		"١٬٢٣٤٫٥":        "1٬234٫5=1234.5",
		"١٢٫٥":           "12٫5=12.5",
		"१२,३४,५६७":      "12,34,567=1234567",
		"３２":             "32=32",
		"৪০":             "40=40",
		"๑๒":             "12=12",
		"𝟙𝟚":             "12=12",
		"𞥐𞥑":             "01=1",
		"1٢":             "12=12",
		"½ and ②":        "",
		"":               "",
		"none":           "",
		"a1b2":           "1=1 ; 2=2",
	} {
		if got := readAs(text); got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

// Values keep the decimals that are written, as these say how far a number is rounded.
func TestReadingsDecimals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{"5": {0}, "5.0": {1}, "5.25": {2}, "1.234": {0, 3}, "1,234.50": {2}} {
		var got []int
		eachNumber(text, func(n *number) {
			for _, r := range n.readings() {
				got = append(got, r.decimals)
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("%q has decimals %v, want %v", text, got, want)
		}
	}
	if v := newReading(strings.Repeat("9", 400), "").value; !math.IsInf(v, 1) {
		t.Errorf("400 digits are %v", v)
	}
}

// A number may be several in place of one: those between spaces, the parts of a date or a list.
// A version and an address are one thing.
func TestPieces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1 200":       "1 200",
		"1 200.5":     "1 200.5",
		"1\u00a0200":  "",
		"1.200":       "",
		"24.11.2026":  "24 11 2026",
		"24.11.26":    "24 11 26",
		"2026.11.24":  "2026 11 24",
		"1,2,3":       "1 2 3",
		"1.2,3":       "1 2 3",
		"1.2.3":       "",
		"192.168.1.1": "",
		"2026.111.24": "",
		"1.22.333":    "",
		"5":           "",
	} {
		var got []string
		eachNumber(text, func(n *number) {
			for _, piece := range n.pieces() {
				got = append(got, piece.raw())
			}
		})
		if s := strings.Join(got, " "); s != want {
			t.Errorf("the pieces of %q are %q, want %q", text, s, want)
		}
	}
}

// Two ways to write a number have a key in common, and other numbers have none.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		noted, asked string
		want         bool
	}{
		{"1234", "1,234", true},
		{"1234", "1.234", true},
		{"1.234", "1,234", true},
		{"1234", "1 234", true},
		{"1234", "1.2345", false},
		{"0.5", "0,50", true},
		{"0.5", "5", false},
		{"1.2.3", "1.2.3", true},
		{"1.2.3", "1.2.4", false},
		{"1.2.3", "1", false},
		{"24.11.2026", "24", true},
		{"24.11.2026", "2026", true},
		{"24.11.2026", "25", false},
		{"1 200", "200", true},
		{"1 200", "1", true},
		{"1 200", "120", false},
		{"32", "٣٢", true},
	} {
		noted, has := Set{}, false
		eachNumber(tt.noted, noted.add)
		eachNumber(tt.asked, func(n *number) { has = has || noted.has(n) })
		if has != tt.want {
			t.Errorf("%q has %q: %v, want %v", tt.noted, tt.asked, has, tt.want)
		}
	}
}

// A number of JSON means one thing, however it is written there.
func TestLiteralKeys(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]string{
		"1200": "1200", "-1200": "1200", "1.20e3": "1200", "0.50": "0.5", "-0": "0", "1e-2": "0.01", "1234567.50": "1234567.5", "12E0": "12", "none": "",
	} {
		noted := Set{}
		noted.addLiteral(literal)
		got := ""
		for key := range noted {
			got += key
		}
		if got != want {
			t.Errorf("%s is %q, want %q", literal, got, want)
		}
	}
}

// grouping writes a whole number with a separator between groups of three digits.
func grouping(v int, sep string) string {
	s := strconv.Itoa(v)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + sep + s[at:]
	}
	return s
}

// Whatever number is written in the way of any language, it is read as one that means it.
func TestEachLanguageIsReadBack(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 2_000 {
		whole, part := random.IntN(1_000_000_000)>>random.IntN(30), random.IntN(100)
		want := fmt.Sprintf("%d.%02d", whole, part)
		want = strings.TrimSuffix(strings.TrimRight(want, "0"), ".")
		for _, language := range []struct{ group, decimal string }{{",", "."}, {".", ","}, {" ", ","}, {"\u202f", ","}, {"'", "."}, {"’", "."}, {"", "."}, {"", ","}, {"٬", "٫"}} {
			written := grouping(whole, language.group) + language.decimal + fmt.Sprintf("%02d", part)
			found, count := false, 0
			eachNumber(written, func(n *number) {
				count++
				found = slices.ContainsFunc(n.readings(), func(r reading) bool { return r.key == want && r.decimals == 2 })
			})
			if !found || count != 1 {
				t.Fatalf("%q is read as %q, want %q", written, readAs(written), want)
			}
		}
	}
}

// All digits of Unicode count, and ten of a script follow one another.
func TestDigitsOfAllScripts(t *testing.T) {
	t.Parallel()
	for _, zero := range []rune{'0', '٠', '۰', '߀', '०', '০', '੦', '૦', '୦', '௦', '౦', '೦', '൦', '๐', '໐', '༠', '၀', '០', '᠐', '０', '𐒠', '𑁦', '𝟎', '𝟘', '𞥐'} {
		for want := range 10 {
			if got, ok := digitOf(zero + rune(want)); !ok || got != want {
				t.Errorf("%q is %d %v, want %d", zero+rune(want), got, ok, want)
			}
		}
	}
	for _, r := range []rune{'/', ':', 'a', '½', '②', '五', 'Ⅷ', '²', '\u0300', 0x10ffff} {
		if v, ok := digitOf(r); ok {
			t.Errorf("%q is the digit %d", r, v)
		}
	}
}

// Numbers follow one another in their text, begin and end with a digit, and have two readings at
// most, which differ.
func FuzzNumbers(f *testing.F) {
	for _, text := range []string{"1.234,5 and 1 234", "١٬٢٣٤٫٥ 12,34,567", "1'234'567.8 24.11.2026 1.2.3", "3٢\xff9"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end, count := 0, 0
		eachNumber(text, func(n *number) {
			count++
			if n.start < end || n.end <= n.start || n.end > len(text) || len(n.seps) != len(n.groups)-1 {
				t.Fatalf("%q: %+v behind %d", text, n, end)
			}
			end = n.end
			list := slices.Clone(n.readings())
			if len(list) > 2 || len(list) == 2 && list[0].key == list[1].key {
				t.Fatalf("%q: %+v", text, list)
			}
			for _, r := range list {
				again := false
				eachNumber(r.key, func(n *number) {
					again = slices.ContainsFunc(n.readings(), func(same reading) bool { return same.key == r.key })
				})
				if !again {
					t.Fatalf("%q: %q is read as %q", text, r.key, readAs(r.key))
				}
			}
			if raw := text[n.start:n.end]; readAs(raw) != readAs(raw+".") {
				t.Fatalf("%q is another number before a full stop", raw)
			}
		})
		if holdsNumber(text) != (count > 0) {
			t.Fatalf("%q has %d numbers", text, count)
		}
	})
}
