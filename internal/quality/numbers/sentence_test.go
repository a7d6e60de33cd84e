package numbers

import (
	"slices"
	"strings"
	"testing"
)

// A sentence ends with its line, at a mark before a capital, and at marks of languages without
// capitals.
func TestSentenceLength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                       nil,
		"One":                                    {"One"},
		"One. Two":                               {"One. ", "Two"},
		"One! Two? Three":                        {"One! ", "Two? ", "Three"},
		"One.  Two":                              {"One. ", " Two"},
		"at 3 p.m. today":                        {"at 3 p.m. today"},
		"No. 5 is":                               {"No. 5 is"},
		"1.5 km":                                 {"1.5 km"},
		"e.g.Two":                                {"e.g.Two"},
		"One\nTwo\n":                             {"One\n", "Two\n"},
		"Один. Два":                              {"Один. ", "Два"},
		"一つ。二つ！三つ？四":                             {"一つ。", "二つ！", "三つ？", "四"},
		"एक।दो":                                  {"एक।", "दो"},
		"One. «Two»":                             {"One. «Two»"},
		"One." + strings.Repeat(" ", 50) + "Two": {"One." + strings.Repeat(" ", 50) + "Two"},
		"a…b":                                    {"a…b"},
	} {
		var got []string
		for at := 0; at < len(text); {
			size := sentenceLength(text[at:])
			got = append(got, text[at:at+size])
			at += size
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// Dates are compared whole, however they are written.
func TestBackedDates(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"due":"2026-11-24","from":"December 24","month":"2026-08"}`, []answer{
		{"It is on 24 November 2026.", true}, {"It is on Nov 24.", true}, {"It is on the 24th.", true}, {"It is on 24.11.", true}, {"It is on 24.11.2026.", true}, {"It is on 24/11/2026.", true}, {"It is on 11/24.", true}, {"It is on 11/24/2026.", true}, {"It is in 2026.", true}, {"It is on Tuesday 24.", true},
		{"It is on 25 November.", false}, {"It is on 24 October.", false}, {"It is on the 25th.", false}, {"It is on 25.11.", false}, {"It is on 24.11.2025.", false}, {"It is on 2025-11-24.", false}, {"It is on 12/25.", false}, {"It is in 2027.", false},
		{"It is on 24 December.", true}, {"It is on 24.12.2026.", true}, {"It is on 25 December.", false},
		{"It is in 2026-08.", true}, {"It is in 2026-07.", false},
		{"There are 24 of them.", false}, {"There are 11 of them.", false}, // neither its day nor its month is a count
		{"Today is 22 November.", true}, {"Yesterday was the 21st.", true}, {"Tomorrow is 23.11.2026.", true}, {"It was on 20 November.", false},
	})
}

// Times of day are those of the evidence in 12 or 24 hours, as written and in the reader's zone.
func TestBackedClocks(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"opens":"09:00","closes":"17:30","at":"2026-11-24T10:15:00Z","took":"00:07:45","midnight":"00:00"}`, []answer{
		{"It opens at 9.", true}, {"It opens at 9:00.", true}, {"It opens at 9 a.m.", true}, {"It opens at 09.00.", true}, {"Es öffnet um 9 Uhr.", true}, {"It opens at 9 o'clock.", true},
		{"It closes at 5:30 p.m.", true}, {"It closes at 5:30.", true}, {"It closes at 17.30.", true}, {"It closes at 17:30:00.", false},
		{"It is at 11:15.", true}, {"It is at 10:15 UTC.", true}, {"It is at 10:15 GMT.", true}, {"It took 7:45.", true}, {"It took 00:07:45.", true}, {"It ends at 24:00.", true},
		{"It opens at 8.", false}, {"It opens at 9 p.m.", false}, {"It closes at 5:31 p.m.", false}, {"It closes at 17:03.", false}, {"It is at 11:15 UTC.", true}, {"It is at 12:15.", false}, {"It took 00:07:46.", false}, {"It is from 9 to 18.", false},
		{"It is from 9 to 17:30.", true},
	})
}

// A token is one of the evidence, or none there begins like it.
func TestBackedTokens(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"order":"INV-2031","seat":"32A","version":"3.11.2"}`, []answer{
		{"It is INV-2031.", true}, {"It is inv2031.", true}, {"It is INV_2031.", true}, {"It is INV-2032.", false}, {"It is INV-203.", false}, {"It is ABC-7.", true}, {"It is p95.", true}, {"It is in 3D.", true}, {"It is on 5G.", true},
		{"It is version 3.11.2.", true}, {"It is version 3.11.3.", false},
	})
	judgeAll(t, "", `{"a":1}`, []answer{{"It is version 3.11.2.", true}})
}

// A pair is there as it is written, or both its numbers are of one object, of texts, or counts.
func TestBackedPairs(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"score":"3:1","done":32,"target":40,"list":[1,2],"other":{"x":17}}`, []answer{
		{"It is 3:1.", true}, {"It is 32/40.", true}, {"It is 40/32.", true}, {"It is 3:2.", false}, {"It is 32/41.", false}, {"It is 33/40.", false}, {"It is 32/17.", false}, {"It is 3-1.", true},
	})
	judgeAll(t, "", `[{"s":"a"},{"s":"a"},{"s":"a"},{"s":"b"}]`, []answer{{"It is 3/4.", true}, {"It is 1/3.", true}, {"It is 3/5.", false}})
}

// Numbers of seven digits or more are compared by their digits.
func TestBackedLongNumbers(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"phone":"+1 415-555-2671","account":12345678,"zeros":"0049123456"}`, []answer{
		{"Call +1 (415) 555-2671.", true}, {"Call 14155552671.", true}, {"It is 1234 5678.", true}, {"It is 0012345678.", true}, {"Call +1 415-555-2672.", false}, {"It is 12345679.", false}, {"It is 123 4567.", false},
		{"Call +1 415-555-2671 or 12345678.", true}, {"Call +1 415-555-2671 or 99.", false},
	})
}

// A number behind a word with a capital is a name, unless the evidence knows that word.
func TestNamesWithNumbers(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"model":"iPhone 15","price":799,"gate":"B","errorText":"none"}`, []answer{
		{"The iPhone 15 is here.", true}, {"The iPhone 16 is here.", false}, {"As far as we know it shows Problem 404.", true}, {"As far as we know it shows Error 404.", false}, {"As far as we know it is at Gate 7.", false}, {"As far as we know it uses Windows 11.", true},
		{"Windows 11 is here, as far as we all know.", false}, // a sentence begins with a capital
		{"As far as we know it uses windows 11.", false}, {"As far as we know it uses Windows 11000.", false}, {"As far as we know it uses Windows 11.5.", false}, {"As far as we know it uses Windows 11 km.", false}, {"As far as we know it uses Windows about 11.", false}, {"As far as we know it is on Monday 11.", false}, {"As far as we know it costs EUR 11.", false}, {"**Windows 11** is here, as far as we all know.", false}, {"As far as we know it is May 11.", false},
	})
	judgeAll(t, "", `{"a":1}`, []answer{
		{"Das ist ein Fehler 404 auf der Seite im Netz.", false}, // where nouns have capitals a word needs two
		{"Der Zug nach Berlin ist der ICE 575 am Bahnhof.", true},
	})
}

// How many words have capitals within sentences says whether nouns have them.
func TestHasCapitals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"The report is due on Monday.": false, "Der Bericht ist am Montag fällig.": true, "All. Of. Them. Begin.": false, "": false, "One": false, "A B c d e": false, "A B c d": true, "Привет мир": false, "What The World": true,
	} {
		if got := hasCapitals(text); got != want {
			t.Errorf("%q has nouns with capitals: %v", text, got)
		}
	}
}

// Capitals of a word count if it does not begin its sentence.
func TestIsCapitalWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"the Error": 1, "the ICE": 3, "the iPhone": 1, "the error": 0, "Error": 0, " **Error": 0, "- Error": 0, "\"Error": 0, "(Error": 0, "• ICE": 0, "the ÄRA": 3,
	} {
		word := text[len(strings.TrimRightFunc(text, ofWord)):]
		if got := isCapitalWord(text, word); got != want {
			t.Errorf("the last word of %q has %d capitals, want %d", text, got, want)
		}
	}
}

// Numbers to call for help pass where the sentence speaks of calling.
func TestEmergencyNumbers(t *testing.T) {
	t.Parallel()
	for _, number := range strings.Fields("112 911 999 110 113 115 117 118 119 000 111 988 101 102 103 144 15 17 18 061 116 211 311") {
		judgeAll(t, "", `{"a":1}`, []answer{{"Please call " + number + ".", true}, {"It is " + number + ".", false}})
	}
	for _, text := range []string{"Bitte wählen Sie den Notruf 112.", "Appelez le 112.", "Llame al 112.", "Chiama il 112.", "Ligue 112.", "Bel 112.", "Звоните 112."} {
		judgeAll(t, "", `{"a":1}`, []answer{{text, true}, {strings.Replace(text, "112", "114", 1), false}})
	}
}

// What may be one number or two passes if both are there.
func TestPiecesAreBacked(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"a":17,"b":250}`, []answer{{"It is 17 250.", true}, {"It is 17 251.", false}, {"It is 18 250.", false}, {"It is 17,250.", false}})
}

// A negative value may be written without its sign where a word stands for that.
func TestSignsAreBacked(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"balance":-120.5,"temp_c":-5,"rise":7}`, []answer{
		{"You owe 120.50.", true}, {"Sie schulden 120,50.", true}, {"Vous avez dépensé 120,50.", true}, {"Debes 120,50.", true}, {"Il debito è 120,50.", true}, {"It is -120.50.", true}, {"It is −120.50.", true},
		{"You have 120.50.", false}, {"It is -7.", false}, {"It is 5 °C.", false}, {"It is 5 °C below zero.", true}, {"It is -5 °C.", true}, {"It fell by 5 °C.", true},
	})
	judgeAll(t, "", `{"bookings":[{"amount":-20},{"amount":70},{"amount":30}]}`, []answer{{"It was 20.", true}, {"It was -70.", false}})
}

// What lies at the edge of a rule: noon and midnight, spans without their zeros, two signs that
// round, a column alone, two columns of two units, a percentage that no value follows.
func TestEdges(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"opens":"00:00"}`, []answer{{"It opens at 12.", true}, {"It opens at 11.", false}})
	judgeAll(t, "", `{"best":"00:07:45/2","ratio":"0:07/3"}`, []answer{{"It is 0:07/3.", true}, {"It is 0:08/3.", false}})
	judgeAll(t, "", `[{"v":5},{"v":20},{"v":31},{"v":90}]`, []answer{{"The first two have 25.", true}, {"The first three have 56.", true}, {"The first three have 59.", false}})
	judgeAll(t, "", `[{"disk_used_gb":40,"disk_free_kg":30},{"disk_used_gb":20,"disk_free_kg":7}]`, []answer{{"It is 97 in all.", false}, {"It is 60 GB in all.", true}})
	judgeAll(t, "", `{"price":250,"off_pct":12,"tax_pct":19}`, []answer{{"With 0 % it is 12 % off, so 220.", false}, {"It is 19 % more and 12 % off, so 220.", true}})
	if got := amountOf(t, "over ~5").rounded; got != near|moreThan {
		t.Errorf("two signs say %b", got)
	}
}
