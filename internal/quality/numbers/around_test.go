package numbers

import (
	"strings"
	"testing"
)

// firstNumber reads the first number of a text.
func firstNumber(t *testing.T, text string) *number {
	t.Helper()
	var first *number
	eachNumber(text, func(n *number) {
		if first == nil {
			c := *n
			first = &c
		}
	})
	if first == nil {
		t.Fatalf("%q has no number", text)
	}
	return first
}

// A month belongs to a day on either side of it, with what people write between them.
func TestMonthNear(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"24 November": 11, "24 Nov.": 11, "24. November": 11, "24th November": 11, "24th of November": 11, "the 24th of the November": 0, "24 de noviembre": 11, "24-Nov": 11, "24\u00a0novembre": 11,
		"1er janvier": 1, "1º de enero": 1, "1. Januar": 1, "3 марта": 3, "2 mei": 5,
		"November 24": 11, "Nov. 24": 11, "Nov 24": 11, "November the 24": 11, "November the third 24": 0, "november, 24": 11, "November\n24": 0,
		"24": 0, "24 apples": 0, "apples 24": 0, "24 days of November": 0, "24, 25 November": 0, "24 November 2026": 11, "March 24 November": 11,
	} {
		if got := monthNear(text, firstNumber(t, text)); got != want {
			t.Errorf("%q has the month %d, want %d", text, got, want)
		}
	}
}

// A word is letters with their marks, and is compared in lower case.
func TestWordsAround(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"Nov. 24": {"nov", ""}, "the End": {"the", "end"}, "": {"", ""}, "…": {"", ""}, "Über": {"über", "über"}, "a1b": {"a", "b"}, "e\u0301té 5 e\u0301té": {"e\u0301té", "e\u0301té"}, "x\xffy": {"x", "y"},
	} {
		if first, last := firstWord(text), lastWord(text); first != want[0] || last != want[1] {
			t.Errorf("%q begins with %q and ends with %q, want %q", text, first, last, want)
		}
	}
}

// labelled returns what of a text's numbers counts off, in order.
func labelled(text string) string {
	var l labels
	var list []string
	eachNumber(text, func(n *number) {
		if l.isLabel(text, n) {
			list = append(list, n.raw())
		}
	})
	return strings.Join(list, " ")
}

// Numbers of lists, steps and sources claim nothing; a false label would hide one that nothing
// backs, so that within a line they count from 1 on without gaps.
func TestLabels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1. one\n2. two":                    "1 2",
		"3. three\n7. seven":                "3 7", // where they start a line they begin anywhere
		"  1) one\n\t2) two":                "1 2",
		"> 1. one":                          "1",
		"## 1. one":                         "1",
		"**1.** one":                        "",
		"1.\n2)\n":                          "1 2",
		"1 one":                             "",
		"1.one":                             "",
		"a 1. one":                          "1",
		"is it a 1. one":                    "",
		"1) one, 2) two, 3) three":          "1 2 3",
		"first 1) one, 3) three":            "1",
		"first 2) two":                      "",
		"(1) one and (2) two":               "1 2",
		"(1) one and (3) three":             "1",
		"a(1) one":                          "1",
		"a1) one":                           "",
		"Step 1: a. Step 2: b":              "1 2",
		"Step 1: a. Step 3: b":              "1",
		"Step 2: b":                         "",
		"Step #1: a":                        "1",
		"1: a":                              "",
		"Step 1 – a\nStep 2 — b":            "1 2",
		"Step 1\nStep 2":                    "1 2",
		"Step 1. a":                         "1",
		"The step 1\n":                      "",
		"### Schritt 1\n### Schritt 2":      "1 2",
		"Step 1 is":                         "",
		"as said [1] and [27]":              "1 27",
		"as said [100]":                     "",
		"as said [1":                        "",
		"as said 1]":                        "",
		"1\u20e3 one\n2\ufe0f\u20e3 two":    "1 2",
		"5\ufe0f":                           "",
		"1000. thousand":                    "",
		"999. thousand":                     "999",
		"1.5. no":                           "",
		"١. واحد":                           "1",
		strings.Repeat("x", 60) + " 1. one": "1",
		strings.Repeat(" ", 60) + "2. two":  "", // its line begins too far from it
	} {
		if got := labelled(text); got != want {
			t.Errorf("%q has the labels %q, want %q", text, got, want)
		}
	}
}

// Figures of speech are none of the numbers that an answer claims.
func TestIdioms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"24/7": true, "open 24/7.": true, "24/7/365": true, "7/24": true, "24/70": false, "124/7": false, "24/7,5": false, "24/7, 5": true, "24/7/3": false,
		"50/50": true, "50-50": true, "50–50": true, "50‑50": true, "50/500": false, "50/5": false,
		"9-to-5": true, "9 to 5": true, "9 to 50": false, "19 to 5": false, "9 to 5pm": false,
		"52-week": true, "a 52‑week high": true, "52 weeks a year": true, "52 weeks": false, "52-weekly": false,
		"365-day": true, "365 days a year": true, "365 days": false, "366-day": true, "24-hour": true, "24-Hour": true, "24 hours a day": true, "24 hours": false, "24-hours": false,
		"12-hour": true, "12-month": true, "12 months a year": true, "12 months": false, "7-day": true, "7 days a week": true, "7 days": false, "7-days": false,
		"60-minute": true, "60-second": true, "60 minutes": false, "a24/7": false, "/24/7": false, "8-day": false, "25/7": false, "": false,
	} {
		if text == "" {
			continue
		}
		if got := isIdiom(text, firstNumber(t, text)); got != want {
			t.Errorf("%q is a figure of speech: %v, want %v", text, got, want)
		}
	}
	text := "24/7 and 7"
	var got []bool
	eachNumber(text, func(n *number) { got = append(got, isIdiom(text, n)) })
	if len(got) != 3 || !got[0] || !got[1] || got[2] {
		t.Errorf("of %q %v are figures of speech", text, got)
	}
}

// Names that begin with a digit are no amounts, and codes of currencies are no names.
func TestNamesWithDigits(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"2d": true, "3d": true, "2fa": true, "4g": true, "5g": true, "6g": false, "3D": false, "": false} {
		if got := isDimension(name); got != want {
			t.Errorf("%q is a name: %v", name, got)
		}
	}
	for word, want := range map[string]bool{"usd": true, "eur": true, "chf": true, "krw": true, "rs": true, "us": true, "r": true, "abc": false, "": false, "EUR": false} {
		if got := isCurrency(word); got != want {
			t.Errorf("%q is a currency: %v", word, got)
		}
	}
}
