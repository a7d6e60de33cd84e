package numbers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// readResult collects the evidence of a result.
func readResult(result string) *evidence {
	in := Sources{Calls: []Call{{Tool: "t", Result: result, Completed: true}}}
	return newEvidence(&in)
}

// shown writes an object in short: its amounts with their units, its texts, its times.
func shown(o *object) string {
	var b strings.Builder
	for _, a := range o.amounts {
		fmt.Fprintf(&b, " %s=%v%s", a.name, a.value, a.unit)
		if a.percent {
			b.WriteString("%")
		}
		if a.isName {
			b.WriteString("!")
		}
	}
	for _, l := range o.labels {
		fmt.Fprintf(&b, " %s:%s", l.name, l.value)
	}
	for _, t := range o.times {
		fmt.Fprintf(&b, " %s@%s", t.name, t.Format("2006-01-02T15:04"))
	}
	return strings.TrimPrefix(b.String(), " ")
}

// Results are read as objects, with what the names of their members say.
func TestObjects(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`{}`:                                     "",
		`{"a":1}`:                                "a=1",
		`{"a":-1.5e2,"b":"x","c":true,"d":null}`: "a=-150 b:x c:true",
		`{"hours":32,"wind_kmh":7}`:              "hours=32h wind_kmh=7kmh",
		`{"id":7,"zip":1,"no":2,"rank":3,"year":2026,"order_id":4,"user-no":5,"idle":6}`:                                  "id=7! zip=1! no=2! rank=3! year=2026year! order_id=4! user-no=5! idle=6",
		`{"humidity":82,"vat":19,"growth_rate":2,"rate":3,"rain_chance":4,"discount_pct":5,"progress":6,"marketShare":7}`: "humidity=82% vat=19% growth_rate=2% rate=3 rain_chance=4% discount_pct=5% progress=6% marketShare=7%",
		`{"temp":20,"temp_c":20,"duration":5,"duration_min":6}`:                                                           "temp=20deg temp_c=20c duration=5time duration_min=6min",
		`{"a":{"b":1,"c":{"d":2}}}`:         " | b=1 | d=2",
		`{"a":[1,2,3]}`:                     "a=3count",
		`{"a":[]}`:                          "a=0count",
		`[{"a":1,"b":{"c":2,"d":{"e":3}}}]`: "a=1 b.c=2c b.d.e=3", // what is nested in an element is part of it
		`{"temp_c":{"min":1,"max":2}}`:      " | min=1c max=2c",
		`[{"price":{"min":1,"max":2},"temp":{"min":3},"walk_min":4}]`: "price.min=1 price.max=2 temp.min=3deg walk_min=4min",
		`{"storage_gb":[{"used":1}]}`:                                 "storage_gb=1count | used=1gb",
		`{"days":[{"high":1}]}`:                                       "days=1count | high=1", // of a name alone there are several
		`[[1,2],[3,4]]`:                                               "0=1 1=2 | 0=3 1=4",
		`{"a":"5 kg","b":"12 %","c":"$7.50","d":"room 5","e":"5 of them are red now"}`: "a=5kg b=12% c=7.5money a:5 kg b:12 % c:$7.50 d:room 5 e:5 of them are red now",
		`{"a":"{\"b\":1}"}`: " | b=1",
		`{"a":"[1,2]"}`:     "a=2count",
		`{"a":"{b"}`:        "a:{b",
		`{"due":"2026-11-24","at":"10:30","start":"2026-11-24T10:30:00Z"}`: "due:2026-11-24 at:10:30 start:2026-11-24T10:30:00Z due@2026-11-24T00:00 at@0000-01-01T10:30 start@2026-11-24T10:30",
		`{"a":1,"a":2}`:        "a=1 a=2", // tools write names twice
		`{"a":1`:               "",
		`nonsense`:             "",
		`5`:                    "",
		"name,qty\nx,1\ny,2":   "qty=1 name:x | qty=2 name:y",
		"name;qty\nx;1,5\ny;2": "qty=1.5 name:x qty:1,5 | qty=2 name:y",
		"| name | qty |\n|---|---|\n| x | 1 |\n| y | 2 kg |": "qty=1 name:x | qty=2kg name:y qty:2 kg",
		"name\tqty\nx\t1\ny\t2":                              "qty=1 name:x | qty=2 name:y",
		"name,qty\nx,1":                                      "", // two lines are no table
		"name,1\nx,1\ny,2":                                   "", // a heading has no number
		"name,qty\nx,1\ny":                                   "", // all lines have as many cells
		"one\ntwo\nthree":                                    "",
	} {
		e := readResult(result)
		var got []string
		for _, o := range e.objects {
			got = append(got, shown(o))
		}
		if s := strings.Join(got, " | "); s != want {
			t.Errorf("%s is %q, want %q", result, s, want)
		}
	}
}

// Arrays know how many elements they have, who holds them, and their numbers.
func TestArrays(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`[]`:                      "0",
		`[1,2.5,-3]`:              "3 [1 2.5 -3]",
		`["a","b"]`:               "2",
		`[{"a":1},{"a":2}]`:       "2 rows 2",
		`[[1],[2],[3]]`:           "3 rows 3",
		`{"a":[1],"b":[{},{}]}`:   "1 [1] held; 2 rows 2 held",
		`[{"a":[1,2]},{"a":[3]}]`: "2 [1 2] held; 1 [3] held; 2 rows 2",
		`{"hours":[8,7]}`:         "2 [8 7] held",
		`{"load_kw":[8,7]}`:       "2 [8 7] kw held",
		"a,b\nx,1\ny,2\nz,3":      "3 rows 3",
		`[null,true,1]`:           "3 [1]",
	} {
		e := readResult(result)
		var got []string
		for _, a := range e.arrays {
			s := fmt.Sprint(a.length)
			if len(a.numbers) > 0 {
				s += fmt.Sprint(" ", a.numbers)
			}
			if a.unit != "" {
				s += " " + string(a.unit)
			}
			if len(a.rows) > 0 {
				s += fmt.Sprint(" rows ", len(a.rows))
			}
			if a.holder != nil {
				s += " held"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s has %q, want %q", result, s, want)
		}
	}
}

// Each sentence may speak of what is in no array, and of elements of short ones.
func TestIsNear(t *testing.T) {
	t.Parallel()
	rows := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(`{"x":1},`, n), ",") + "]" }
	for result, want := range map[string]bool{
		`{"x":1}`: true, `{"a":{"x":1}}`: true, rows(1): true, rows(5): true, rows(6): false,
		`{"a":` + rows(5) + `}`: true, `{"a":` + rows(6) + `}`: false,
		`[{"y":1,"a":` + rows(2) + `}]`: true,
	} {
		near := true
		for _, o := range readResult(result).objects {
			if slices.ContainsFunc(o.amounts, func(a amount) bool { return a.name == "x" }) {
				near = near && o.isNear()
			}
		}
		if near != want {
			t.Errorf("%.60s: near is %v", result, near)
		}
	}
	outer := `[` + strings.TrimSuffix(strings.Repeat(`{"a":[{"x":1}]},`, 6), ",") + `]`
	e := readResult(outer)
	for _, a := range e.arrays {
		for _, row := range a.rows {
			if row.isNear() {
				t.Errorf("%s: %s is near, in an array of six", outer, shown(row))
			}
		}
	}
}

// JSON may stand in a string of JSON three times, and no more often.
func TestJSONWithinJSON(t *testing.T) {
	t.Parallel()
	text := `{"n":4711}`
	for depth := range 6 {
		e := readResult(text)
		found := slices.ContainsFunc(e.objects, func(o *object) bool {
			return slices.ContainsFunc(o.amounts, func(a amount) bool { return a.value == 4711 })
		})
		if want := depth <= maxWithin; found != want {
			t.Errorf("%d deep: %v", depth, found)
		}
		text = fmt.Sprintf(`{"a":%q}`, text)
	}
}

// Arguments and the question back numbers, and nothing is derived from their objects.
func TestAskedIsNoObject(t *testing.T) {
	t.Parallel()
	in := Sources{Question: "Is it 7 or 9?", Calls: []Call{{Arguments: `{"a":5,"b":[1,2],"c":"6 km"}`}}}
	e := newEvidence(&in)
	if len(e.objects)+len(e.arrays)+len(e.lines) > 0 {
		t.Errorf("%d objects, %d arrays, %d lines", len(e.objects), len(e.arrays), len(e.lines))
	}
	if want := []float64{1, 2, 5, 6, 7, 9}; !slices.Equal(e.askedNumbers, want) {
		t.Errorf("asked is %v, want %v", e.askedNumbers, want)
	}
}

// Reading a result never fails, and what it notes of an array is of that array.
func FuzzDocument(f *testing.F) {
	for _, text := range []string{`{"a":[{"b":1,"c":"2026-11-24T10:00:00Z"},{"b":2}],"d":"{\"e\":[1,2]}"}`, "a,b\nx,1\ny,2", `[[1,"2 kg"],[{"x":-1e300}]]`, "12:30 and 7 h 12 min"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if asked := newEvidence(&Sources{Question: text, Calls: []Call{{Arguments: text}}}).askedNumbers; !slices.IsSorted(asked) {
			t.Fatalf("%q: asked is %v", text, asked)
		}
		e := readResult(text)
		for _, a := range e.arrays {
			if len(a.rows) > a.length || len(a.numbers) > a.length {
				t.Fatalf("%q: of %d elements %d are rows and %d numbers", text, a.length, len(a.rows), len(a.numbers))
			}
			for i, row := range a.rows {
				if row.array != a || row.index != i {
					t.Fatalf("%q: row %d is %d of another array", text, i, row.index)
				}
			}
		}
		d := e.derivedValues()
		for k, values := range d.values {
			if !slices.IsSorted(values) || len(values) > 0 && values[0] < 0 {
				t.Fatalf("%q: %+v has %v", text, k, values)
			}
		}
		for _, c := range d.columns {
			if n := len(c.values); n != len(c.sorted) || n != len(c.rising) || n != c.of.length {
				t.Fatalf("%q: a column of %d of %d", text, n, c.of.length)
			}
		}
	})
}
