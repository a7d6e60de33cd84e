package numbers

import (
	"slices"
	"strings"
	"testing"
)

// Numbers of seven digits or more are one thing, however they are grouped.
func TestChains(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"+1 (415) 555-2671":         "14155552671@1-17",
		"4155552671":                "4155552671@0-10",
		"415.555.2671":              "4155552671@0-12",
		"415/5552671":               "4155552671@0-11",
		"415\u00a0555\u00a02671":    "4155552671@0-14",
		"DE12 3456 7890":            "1234567890@2-14",
		"123456":                    "", // six digits are an amount
		"1234567":                   "1234567@0-7",
		"123 456":                   "",
		"123, 4567":                 "", // a list of two
		"123 - 4567":                "", // three signs between them
		"12 and 1234567":            "1234567@7-14",
		"1234567 and 7654321":       "1234567@0-7 7654321@12-19",
		"tel. 555-2671, 555-2672":   "5552671@5-13 5552672@15-23",
		"٤١٥٥٥٥٢":                   "4155552@0-14",
		"1,234,567":                 "1234567@0-9",
		"":                          "",
		strings.Repeat("1 ", 3):     "",
		strings.Repeat("1234 ", 11): strings.Repeat("1234", 11) + "@0-54",
		strings.Repeat("1234 ", 22): strings.Repeat("1234", 11) + "@0-54 " + strings.Repeat("1234", 11) + "@55-109", // 40 digits are a table
	} {
		var got []string
		for _, c := range chainsIn(text) {
			got = append(got, c.digits+"@"+spanOf(c.start, c.end))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q has %q, want %q", text, s, want)
		}
	}
}

// A chain lies within its text behind the one before, and its digits are the text's.
func FuzzChains(f *testing.F) {
	for _, text := range []string{"+1 (415) 555-2671 or 1234567", "1 2 3 4 5 6 7 8 9", "12345678, 1.2.3-4(5)6789 ٤١٥٥٥٥٢٦٧١"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, c := range chainsIn(text) {
			if c.start < end || c.end <= c.start || c.end > len(text) || len(c.digits) < minChain {
				t.Fatalf("%q: %+v behind %d", text, c, end)
			}
			end = c.end
			var all []string
			eachNumber(text[c.start:c.end], func(n *number) { all = append(all, slices.Clone(n.groups)...) })
			if got := strings.Join(all, ""); got != c.digits {
				t.Fatalf("%q: %s stands where %s is", text, got, c.digits)
			}
		}
	})
}
