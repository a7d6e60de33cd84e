package numbers

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// answer is a text with whether all its numbers are backed.
type answer struct {
	text   string
	passed bool
}

// judgeAll looks for unbacked numbers in answers about a result.
func judgeAll(t *testing.T, question, result string, answers []answer) {
	t.Helper()
	for _, a := range answers {
		e := EvidenceOf(Sources{Calls: []Call{{Tool: "t", Result: result, Completed: true}}, Question: question, Now: sunday})
		if unbacked := e.Unbacked(&Answer{Text: a.text, Derived: true}); len(unbacked) == 0 != a.passed {
			t.Errorf("%s\n\t%s %q: %v are not backed", result, question, a.text, unbacked)
		}
	}
}

// Of two amounts of one object follow their sum, difference, product, ratio and percentages.
func TestDerivedOfOneObject(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"used":32,"target":40,"price":7.5}`, []answer{
		{"It is 72.", true},   // the sum
		{"It is 8.", true},    // the difference
		{"It is 1280.", true}, // the product
		{"It is 240.", true},
		{"It is 73.", false},
		{"It is 9.", false},
		{"It is 1281.", false},
		{"It is 79.5.", true}, // all three
		{"It is 80 %.", true}, // the smaller in the larger
		{"It is 125 %.", false},
		{"It is 81 %.", false},
		{"It is up 25 %.", true}, // a word of change
		{"It is 25 %.", false},
		{"It is 20 % less.", true},
		{"It is 21 % less.", false},
		{"It is 1.25 times as much.", true}, // a word for a ratio
		{"It is 0.8 per unit.", true},
		{"It is 1.25.", false},
		{"It is 1.3 times as much.", true},
		{"It is 1.4 times as much.", false},
		{"It is 5.33 each.", true},
		{"It is 5 each.", false}, // a whole number is exact
	})
	judgeAll(t, "", `{"speed_kmh":80,"limit_kmh":50,"temp_c":20,"max_c":26,"km":120,"min_id":7}`, []answer{
		{"It is 30 km/h more.", true},
		{"It is 130 km/h.", false}, // speeds have no sum
		{"It is 6 °C more.", true},
		{"It is 46 °C.", false},
		{"It is 127.", false}, // an id is a name
		{"It is 113.", false},
		{"It is 200 km.", false}, // amounts of two units have no sum
	})
	judgeAll(t, "", `{"used_gb":30,"free_gb":10,"other":7}`, []answer{
		{"It is 40 GB.", true},
		{"It is 33 %.", true},
		{"It is 75 %.", false}, // of the two together only if their names share a word
		{"It is 37 GB.", false},
	})
	judgeAll(t, "", `{"disk_used":30,"disk_free":10,"other":7}`, []answer{{"It is 75 %.", true}, {"It is 25 %.", true}, {"It is 81 %.", false}, {"It is 76 %.", false}})
	judgeAll(t, "", `{"growth_pct":12,"share_pct":5,"sales":200}`, []answer{
		{"It is 17 %.", true},
		{"It is 7 %.", true},
		{"It is 17.", true}, // a percentage may be written without its sign
		{"It is 2400.", false},
		{"It is 60 %.", false},
		{"It is 88 %.", true}, // the rest of the whole
		{"It is 95 %.", true},
		{"It is 89 %.", false},
	})
}

// An array backs how many elements it has, also with amounts of its holder.
func TestDerivedOfLengths(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"todos":["a","b","c","d"],"done":["e","f"],"limit":21}`, []answer{
		{"There are 4.", true},
		{"There are 2 of 4.", true},
		{"There are 6 in all.", true},
		{"There are 2 more.", true},
		{"There are 17 free.", true},
		{"There are 19 free.", true},
		{"It is 50 %.", true},
		{"There are 7.", false},
		{"There are 18 free.", false},
		{"It is 26 %.", false},
		{"There are 4 kg.", false}, // a length counts
		{"There are 4.0 of them.", false},
		{"It is on 4 days.", true},
	})
	judgeAll(t, "", `[]`, []answer{{"There are 0.", true}, {"There are 1.", false}})
}

// One member of two objects compares, and of several it adds up.
func TestDerivedOfAlikeMembers(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"berlin":{"temp":8,"rain_mm":12},"rome":{"temp":17,"rain_mm":3},"oslo":{"temp":1,"rain_mm":30}}`, []answer{
		{"It is 9 degrees warmer.", true},
		{"It is 16 degrees warmer.", true},
		{"It is 10 degrees warmer.", false},
		{"It is 15 mm together.", true},
		{"It is 45 mm in all.", true},
		{"It is 46 mm in all.", false},
		{"It is 40 %.", true},
		{"It is 41 %.", false},
		{"It is 15 mm on average.", true},
		{"It is 14 mm on average.", false},
	})
}

// Where the question has a number it is reckoned with.
func TestDerivedOfTheQuestion(t *testing.T) {
	t.Parallel()
	judgeAll(t, "What do 12 cost, and what is left of 100?", `{"price":4.5,"zip_code":7}`, []answer{
		{"It is 54.", true},
		{"It is 95.5.", true},
		{"It is 16.5.", true},
		{"It is 104.50.", true},
		{"It is 55.", false},
		{"It is 84.", false}, // the code of a place is a name
		{"It is 95.", false},
	})
	judgeAll(t, "What do 3 cost?", `{"price":40}`, []answer{
		{"It is 120.", true},
		{"It is 43.", false}, // a small one is a count
		{"It is 37.", false},
	})
}

// Spans lie between the times of an object, and between a date and today.
func TestDerivedOfTimes(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"start":"2026-11-24T09:00:00+01:00","end":"2026-11-24T10:30:00+01:00","due":"2026-12-06"}`, []answer{
		{"It takes 90 minutes.", true},
		{"It takes 1.5 hours.", true},
		{"It takes 1 h 30 min.", true},
		{"It takes 91 minutes.", false},
		{"It takes 2.5 hours.", false},
		{"It is in 2 days.", true},
		{"It is in 3 days.", false},
		{"It is due in 14 days.", true},
		{"It is due in 2 weeks.", true},
		{"It is due in 15 days.", false},
		{"It is 12 days later.", true},
		{"It is 13 days later.", false},
		{"It is 14.", false}, // no word of time
	})
	judgeAll(t, "", `{"opens":"09:00","closes":"17:30"}`, []answer{
		{"It is open for 8.5 hours.", true},
		{"It is open for 8 hours 30 minutes.", true},
		{"It is closed for 15.5 hours.", true}, // through the night
		{"It is open for 9.5 hours.", false},
	})
	judgeAll(t, "", `{"at":"09:15","duration_min":60,"walk":{"at":"23:30","hours":2}}`, []answer{
		{"It is over at 10:15.", true},
		{"It is over at 10:16.", false},
		{"It is over at 1:30.", true},
		{"It is over at 2:30.", false},
	})
	judgeAll(t, "", `{"founded":1998,"built":"1990"}`, []answer{
		{"It is 28 years old.", true},
		{"It is 36 years old.", true},
		{"It is 29 years old.", false},
		{"It is 28 days old.", false},
	})
	judgeAll(t, "", `{"birthday":"December 6"}`, []answer{{"It is in 14 days.", true}, {"It is in 15 days.", false}, {"It was 351 days ago.", true}})
}

// Lines of plain text are counted, all and those with a word of the sentence.
func TestDerivedOfLines(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", "Open tasks\nreport: open\nbudget: open\npaper: closed\ncall: open\n", []answer{
		{"There are 4.", true}, // without the heading
		{"There are 5 lines.", true},
		{"3 of them are closed tasks.", false},
		{"There are 3 things.", false},
		{"1 is closed.", true},
		{"There are 6.", false},
	})
	judgeAll(t, "", "apple red\npear green\nplum red\ngrape red\n", []answer{
		{"2 are reds.", false}, // three letters are no word to group by
		{"1 of them is green.", true},
		{"2 of them are green.", false},
	})
	judgeAll(t, "", "a word of one line", []answer{{"There are 1.", false}})
}

// Words by which lines are grouped have four letters, and lose what plurals add.
func TestLongWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a bc def": "", "Open tasks, TASK!": "ope task task", "Aufgaben Aufgabe": "aufgab aufgab", "tareas tarea": "tarea tare", "boxes box": "box", "todos 1234 done": "todo don", "größe": "größ", "oooo": "ooo",
	} {
		if got := strings.Join(longWords(text), " "); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
	for word, want := range map[string]string{"lines": "lin", "line": "lin", "linea": "line", "ones2": "ones2", "es": "es", "sss": "sss", "ssss": "sss", "": ""} {
		if got := cutPlural(word); got != want {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
}

// A product has the unit of the factor that has one, and none of two.
func TestProductUnit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b, want unit }{
		{"", "", ""}, {"kg", "", "kg"}, {"", "kg", "kg"}, {"kg", "m", ""}, {lengthUnit, "kg", "kg"}, {"kg", lengthUnit, "kg"}, {lengthUnit, lengthUnit, ""}, {lengthUnit, "", ""}, {"", lengthUnit, ""},
	} {
		if got := productUnit(tt.a, tt.b); got != tt.want {
			t.Errorf("%q times %q is in %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}

// Units are alike if they are the same, or neither is named.
func TestIsAlike(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b unit
		want bool
	}{{"", "", true}, {"kg", "kg", true}, {"kg", "g", false}, {"kg", "", false}, {degree, "", true}, {degree, anyTime, true}, {degree, "c", false}, {anyTime, minute, false}} {
		if got := isAlike(tt.a, tt.b); got != tt.want || isAlike(tt.b, tt.a) != got {
			t.Errorf("%q and %q are alike: %v", tt.a, tt.b, got)
		}
	}
}

// Names share a word that is no unit.
func TestHaveWordInCommon(t *testing.T) {
	t.Parallel()
	for names, want := range map[[2]string]bool{
		{"disk_used", "disk_free"}: true, {"used_gb", "free_gb"}: false, {"a", "b"}: false, {"", ""}: false, {"disk_gb", "gb_disk"}: true, {"hours_done", "hours_left"}: false,
	} {
		if got := haveWordInCommon(nameWords(names[0]), nameWords(names[1])); got != want {
			t.Errorf("%v share a word: %v", names, got)
		}
	}
}

// What is derived of one object is bounded, however many amounts it has.
func TestDerivedIsBounded(t *testing.T) {
	t.Parallel()
	size := func(members int) (n int) {
		var b strings.Builder
		for i := range members {
			fmt.Fprintf(&b, `,"m%c%d":%v`, 'a'+i%26, i, math.Sqrt(float64(i+2)))
		}
		for _, values := range readResult("{" + b.String()[1:] + "}").derivedValues().values {
			n += len(values)
		}
		return n
	}
	forty, many := size(maxPaired), size(10*maxPaired)
	if many > forty+2*10*maxPaired {
		t.Errorf("of %d amounts %d values are derived, of %d %d", maxPaired, forty, 10*maxPaired, many)
	}
}

// A column says how many of its values lie above, below and at a number, as counting does.
func TestCountAgainst(t *testing.T) {
	t.Parallel()
	values := []float64{3, -1, 3, 7, 0, 2.5, 3}
	c := column{rising: slices.Sorted(slices.Values(values))}
	for _, n := range []float64{-2, -1, 0, 2.5, 2.6, 3, 6.9, 7, 8} {
		var want [5]float64
		for _, v := range values {
			for i, is := range []bool{v > n, v < n, v == n, v >= n, v <= n} {
				if is {
					want[i]++
				}
			}
		}
		if got := c.countAgainst(n); got != want {
			t.Errorf("against %v: %v, want %v", n, got, want)
		}
	}
}
