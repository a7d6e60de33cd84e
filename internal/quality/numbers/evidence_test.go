package numbers

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/base/markdown"
)

// sunday is the day of the answers, in a zone an hour ahead of UTC.
var sunday = time.Date(2026, 11, 22, 9, 30, 0, 0, time.FixedZone("CET", 3600))

// What a text has is noted by what it may be.
func TestEvidenceOfTexts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		has  func(e *evidence) bool
	}{
		{"It is 5.", func(e *evidence) bool { return anyIn(e.itself[kind{}], exactBounds(5)) }},
		{"It is -5.", func(e *evidence) bool { return anyIn(e.itself[kind{negative: true}], exactBounds(5)) }},
		{"It is 5 kg.", func(e *evidence) bool { return anyIn(e.itself[kind{unit: "kg"}], exactBounds(5)) }},
		{"It is 5 %.", func(e *evidence) bool { return anyIn(e.itself[kind{percent: true}], exactBounds(5)) }},
		{"It is 5k.", func(e *evidence) bool { return anyIn(e.itself[kind{}], exactBounds(5000)) }},
		{"It is 1.234.", func(e *evidence) bool {
			return anyIn(e.itself[kind{}], exactBounds(1.234)) && anyIn(e.itself[kind{}], exactBounds(1234))
		}},
		{"It is 1 200.", func(e *evidence) bool {
			return anyIn(e.itself[kind{}], exactBounds(200)) && anyIn(e.itself[kind{}], exactBounds(1200))
		}},
		{"It is 3:1.", func(e *evidence) bool { return e.pairs["3:1"] && anyIn(e.itself[kind{}], exactBounds(3)) }},
		{"It is INV-2031.", func(e *evidence) bool { return e.tokens["inv2031"] && e.prefixes["inv"] && !e.tokens["INV-2031"] }},
		{"It is 3.11.2.", func(e *evidence) bool { return e.versions["3.11.2"] }},
		{"Call 415-555-2671.", func(e *evidence) bool { return e.long["4155552671"] }},
		{"Gate 7.", func(e *evidence) bool { return slices.Equal(e.afterWord["gate"], []float64{7}) }},
		{"No. #7.", func(e *evidence) bool { return len(e.afterWord) == 0 }},
		{"Gate #7.", func(e *evidence) bool { return slices.Equal(e.afterWord["gate"], []float64{7}) }},
		{"On 2026-11-24.", func(e *evidence) bool {
			return e.dates[civil{2026, 11, 24}] && e.dates[civil{0, 11, 24}] && e.dates[civil{0, 0, 24}] && e.dates[civil{2026, 11, 0}] && !e.dates[civil{2025, 11, 24}]
		}},
		{"On 24 December.", func(e *evidence) bool { return e.dates[civil{0, 12, 24}] && !e.dates[civil{2026, 12, 24}] }},
		{"On 3/4.", func(e *evidence) bool { return e.dates[civil{0, 3, 4}] && e.dates[civil{0, 4, 3}] }},
		{"At 17:30.", func(e *evidence) bool { return e.clocks[17*60+30] && !e.clocks[5*60+30] }},
		{"At 2026-11-24T10:30:00Z.", func(e *evidence) bool {
			return e.clocks[10*60+30] && e.clocks[11*60+30] && e.inUTC[10*60+30] && !e.inUTC[11*60+30]
		}},
		{"At 2026-11-24T23:30:00Z.", func(e *evidence) bool { return e.dates[civil{2026, 11, 25}] && e.clocks[30] }},
		{"At 2026-11-24T10:30:00+05:00.", func(e *evidence) bool { return e.clocks[6*60+30] && e.inUTC[5*60+30] && e.clocks[10*60+30] }},
		{"It took 00:07:45.", func(e *evidence) bool { return e.pairs["7:45"] }},
		{"the word", func(e *evidence) bool { return e.hasWord("word") && !e.hasWord("words") && !e.hasWord("WORD") }},
	} {
		in := Sources{Now: sunday, Calls: []Call{{Result: tt.text}}}
		if !tt.has(newEvidence(&in)) {
			e := newEvidence(&in)
			t.Errorf("%q: %v, dates %v, clocks %v, pairs %v", tt.text, e.itself, slices.Collect(maps.Keys(e.dates)), e.clocks, e.pairs)
		}
	}
}

// Names of members are words of the evidence, and tokens.
func TestEvidenceOfNames(t *testing.T) {
	t.Parallel()
	in := Sources{Calls: []Call{{Result: `{"windSpeed":5,"pm25":7,"user_hour":17,"zip":"94105","phone":4155552671,"count":123456}`}}}
	e := newEvidence(&in)
	for word, want := range map[string]bool{"wind": true, "speed": true, "windspeed": false, "user": true, "none": false} {
		if e.hasWord(word) != want {
			t.Errorf("%s is a word: %v", word, !want)
		}
	}
	if !e.tokens["pm25"] || !e.prefixes["pm"] || e.prefixes["wind"] {
		t.Errorf("tokens are %v, beginning with %v", e.tokens, e.prefixes)
	}
	if !e.clocks[17*60] {
		t.Error("an hour is no time of day")
	}
	if !e.long["4155552671"] || e.long["123456"] {
		t.Errorf("long numbers are %v", e.long)
	}
}

// Yesterday, today and tomorrow are known, in the zone of the reader.
func TestEvidenceOfToday(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		now  time.Time
		want []civil
	}{
		{sunday, []civil{{2026, 11, 21}, {2026, 11, 22}, {2026, 11, 23}}},
		{time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC), []civil{{2026, 12, 30}, {2026, 12, 31}, {2027, 1, 1}}},
		{time.Date(2024, 3, 1, 0, 30, 0, 0, time.FixedZone("", -3600)), []civil{{2024, 2, 29}, {2024, 3, 1}, {2024, 3, 2}}},
		{time.Time{}, nil},
	} {
		in := Sources{Now: tt.now}
		var got []civil
		for d := range newEvidence(&in).dates {
			if d.year > 0 && d.month > 0 && d.day > 0 {
				got = append(got, d)
			}
		}
		slices.SortFunc(got, func(a, b civil) int { return (a.year*400 + a.month*31 + a.day) - (b.year*400 + b.month*31 + b.day) })
		if !slices.Equal(got, tt.want) {
			t.Errorf("on %v the dates are %v, want %v", tt.now, got, tt.want)
		}
	}
}

// A date lies before, on or after the day of the reader, whatever day it is elsewhere.
func TestCompareDay(t *testing.T) {
	t.Parallel()
	in := Sources{Now: sunday}
	e := newEvidence(&in)
	for _, tt := range []struct {
		at   string
		want int
	}{{"2026-11-21T22:59:00Z", -1}, {"2026-11-21T23:00:00Z", 0}, {"2026-11-22T22:59:00Z", 0}, {"2026-11-22T23:00:00Z", 1}, {"2025-11-22T10:00:00Z", -1}, {"2027-11-22T10:00:00Z", 1}} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.compareDay(at); got != tt.want {
			t.Errorf("%s lies %d, want %d", tt.at, got, tt.want)
		}
	}
}

// Tokens are compared without case and hyphens, and spans without zeros at their begin.
func TestPlainForms(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"INV-2031": "inv2031", "inv_2031": "inv2031", "A4": "a4", "ÄB-1": "äb1", "": ""} {
		if got := plainToken(word); got != want {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
	for raw, want := range map[string]string{"00:07:45": "7:45", "7:45": "7:45", "10:30:00.123Z": "10:30:00", "00:00:00": "", "01:02:03": "1:02:03", "0:05": "5"} {
		if got := plainSpan(raw); got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
}

// The question backs no more numbers than can be reckoned with.
func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	in := Sources{Question: strings.Repeat("It is 5. ", 100)}
	if n := len(newEvidence(&in).askedNumbers); n != maxAsked {
		t.Errorf("%d numbers are asked, want %d", n, maxAsked)
	}
	in = Sources{Calls: []Call{{Result: `{"a":"` + strings.Repeat("10:30 ", 100) + `"}`}}}
	if n := len(newEvidence(&in).objects[0].times); n != maxInstants {
		t.Errorf("an object has %d times, want %d", n, maxInstants)
	}
}

// When the turn is over the sources are not read to their end.
func TestEvidenceEndsWithItsWatch(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	result := "[" + strings.TrimSuffix(strings.Repeat(`{"a":1,"b":"x 5"},`, 2000), ",") + "]"
	e := newEvidence(&Sources{Watch: markdown.NewWatch(ctx), Calls: []Call{{Result: result}}})
	if len(e.objects) > 1000 {
		t.Errorf("%d objects are read", len(e.objects))
	}
}
