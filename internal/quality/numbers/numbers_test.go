package numbers_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/quality/check"
)

func compile(t *testing.T, name, args string) check.Check {
	t.Helper()
	c, err := check.Compile(name, jsontext.Value(args))
	if err != nil {
		t.Fatalf("Compile(%s, %s): %v", name, args, err)
	}
	return c
}

// now is a Sunday, in a zone an hour ahead of UTC.
var now = time.Date(2026, 11, 22, 9, 30, 0, 0, time.FixedZone("CET", 3600))

// labelledAnswer is an answer of a file of testdata.
type labelledAnswer struct {
	in       check.Input
	field    string // of life; empty: of all
	language string
	invented bool // something in it is not backed
}

func labelledAnswers(t *testing.T, file string) (list []labelledAnswer) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var call check.Evidence
	var question, field, language string
	for line := range strings.SplitSeq(string(b), "\n") {
		sign, text, _ := strings.Cut(line, " ")
		text = strings.ReplaceAll(text, `\n`, "\n")
		switch sign {
		case "@":
			field, language, _ = strings.Cut(text, " ")
		case "=":
			call, question = check.Evidence{Tool: "tool", Result: text, Completed: true}, ""
		case ">":
			call.Arguments = text
		case "?":
			question = text
		case "+", "-":
			source := strings.NewReplacer("⟦", "", "⟧", "").Replace(text)
			list = append(list, labelledAnswer{check.Input{Text: source, Question: question, Now: now, Evidence: []check.Evidence{call}}, field, language, sign == "-"})
		}
	}
	return list
}

// figures count answers by whether they have what is not backed, and whether the check says so.
type figures struct{ found, alarms, missed, right int }

func (f *figures) add(invented, failed bool) {
	switch {
	case invented && failed:
		f.found++
	case invented:
		f.missed++
	case failed:
		f.alarms++
	default:
		f.right++
	}
}

// selectRows returns a part as a fraction; of nothing it is 1.
func selectRows(part, rest int) float64 {
	if part+rest == 0 {
		return 1
	}
	return float64(part) / float64(part+rest)
}

// String writes precision and recall of what fails, then of what passes.
func (f *figures) String() string {
	return fmt.Sprintf("%d | %.2f | %.2f | %.2f | %.2f", f.found+f.alarms+f.missed+f.right, selectRows(f.found, f.alarms), selectRows(f.found, f.missed), selectRows(f.right, f.missed), selectRows(f.right, f.alarms))
}

// Of labelled answers nine of ten that fail have a number that nothing backs, and nine of ten
// that have one fail; the same holds for those that pass. docs/checks.md has the figures.
func TestLabelledNumbers(t *testing.T) {
	t.Parallel()
	c := compile(t, "numbers_backed", "")
	files := []string{"numbers_development.txt", "numbers_heldout.txt", "numbers.txt"}
	wholes, parts := make([]figures, len(files)), map[string]*figures{}
	for i, file := range files {
		for _, a := range labelledAnswers(t, file) {
			o := c.Run(&a.in)
			wholes[i].add(a.invented, !o.Passed)
			for _, part := range []string{a.field, a.language} {
				if parts[part] == nil {
					parts[part] = new(figures)
				}
				parts[part].add(a.invented, !o.Passed)
			}
			if a.invented == o.Passed && file != files[1] {
				t.Logf("%s: %q: %q", file, a.in.Text, o.Feedback)
			}
		}
	}
	doc, err := os.ReadFile("../../../docs/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := func(name string, f *figures) {
		if row := fmt.Sprintf("| %s | %s |", name, f); !strings.Contains(string(doc), row) {
			t.Errorf("docs/checks.md has no row %s", row)
		}
	}
	names := map[string]string{"de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian"}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		if part != "" { // the answers in eleven languages are of no part
			documented(cmp.Or(names[part], part), parts[part])
		}
	}
	for i, file := range files {
		f := &wholes[i]
		documented([...]string{"development half", "held-out half", "eleven languages"}[i], f)
		if min(selectRows(f.found, f.alarms), selectRows(f.found, f.missed), selectRows(f.right, f.missed), selectRows(f.right, f.alarms)) < 0.9 {
			t.Errorf("%s: %s", file, f)
		}
		if n := f.found + f.alarms + f.missed + f.right; n < 120 {
			t.Errorf("%s has %d answers", file, n)
		}
	}
}

// With many rows few numbers are backed by chance.
func TestNumbersByChance(t *testing.T) {
	t.Parallel()
	c := compile(t, "numbers_backed", "")
	var rows []string
	for i := range 12 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"qty":%d,"price":%.2f}`, i+1, 1+i*5%9, 4.5+float64(i*37%83)+float64(i)/7))
	}
	in := check.Input{Now: now, Evidence: []check.Evidence{{Tool: "t", Result: "[" + strings.Join(rows, ",") + "]"}}}
	for _, form := range []string{"The value is %d.", "The share is %d %%."} {
		passed := 0
		for n := 1; n <= 100; n++ {
			answer := in
			answer.Text = fmt.Sprintf(form, n)
			if c.Run(&answer).Passed {
				passed++
			}
		}
		t.Logf("%s: %d of 100 pass", form, passed)
		if passed > 20 {
			t.Errorf("%s: %d of 100 pass", form, passed)
		}
	}
}

func TestNumbersBacked(t *testing.T) {
	t.Parallel()
	result := []check.Evidence{{Tool: "t", Arguments: `{"n":5}`, Result: `{"a":10,"b":4,"list":[1,1,1]}`}}
	for _, tt := range []struct {
		args, text string
		evidence   []check.Evidence
		passed     bool
	}{
		{``, "It is 99.", nil, true}, // no tool has answered
		{``, "It is 14, or 6, or 40, or 2.5 times, or 40%.", result, true},
		{`{"derived":false}`, "It is 10.", result, true},
		{`{"derived":false}`, "It is 14.", result, false},
		{`{"derived":false}`, "There are 3.", result, false},
		{``, "There are 3 of them, and 5 of what you asked for.", result, true},
		{``, "It is 112.", result, false},
		{``, "In an emergency call 112.", result, true},
		{`{"allow":[112]}`, "It is 112.", result, true},
		{`{"allow":["1,500.50"]}`, "It is 1.500,5.", result, true},
		{``, "`112` and https://a.test/112", result, true},
		{``, "    112 is code", result, true},
		{``, "**112** is none", result, false},
		{``, "&#49;12 is none", result, false},
		{``, "1.2,3'4 5 is no number", result, false},
	} {
		in := check.Input{Text: tt.text, Evidence: tt.evidence}
		if o := compile(t, "numbers_backed", tt.args).Run(&in); o.Passed != tt.passed {
			t.Errorf("%s of %q: %+v", tt.args, tt.text, o)
		}
	}
}

// Dates, names, signs, units and what an answer itself lists are each backed by their own rule.
func TestNumbersOfEachKind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, ev, text string
		passed         bool
	}{
		{"", `{"model":"iPhone 15","price":799}`, "The iPhone 15 costs $799.", true},
		{"", `{"model":"iPhone 15","price":799}`, "The iPhone 16 costs $799.", false},
		{"", `{"a":1,"b":"x"}`, "The page shows Error 404 today.", true},
		{"", `{"a":1,"b":"x"}`, "Das ist ein Fehler 404 auf Seite 17.", false},
		{"", `{"a":1}`, "Die Boeing ICE 575 kommt.", true},
		{`{"derived":false}`, `{"a":4.6,"list":[1,2]}`, "It is 5.", false},
		{`{"derived":false}`, `{"a":4.6,"list":[1,2]}`, "It is 4.6.", true},
		{`{"derived":false}`, `{"a":0.5}`, "It is 50 %.", true},
		{"", `{"phone":"+14155552671"}`, "Call +1 (415) 555-2671.", true},
		{"", `{"phone":"+14155552671"}`, "Call +1 (415) 555-2672.", false},
		{"", `{"x":["a","b","c"]}`, "Here are 2 options:\n\n- one\n- two\n", true},
		{"", `{"x":["a","b","c"]}`, "Here are 7 options:\n\n- one\n- two\n", false},
		{"", `{"x":["a","b","c"]}`, "The 3rd is best, the 5th is none.", false},
		{"", `{"x":["a","b","c"]}`, "The 3rd is best.", true},
		{"", `{"temp_c":-5}`, "It is 5 °C.", false},
		{"", `{"temp_c":-5}`, "It is 5 °C below zero.", true},
		{"", `{"balance":-120.5}`, "You owe $120.50.", true},
		{"", `{"balance":-120.5}`, "Your balance is $120.50.", false},
		{"", `{"bytes":1536000}`, "It is 1.5 MB.", true},
		{"", `{"price_cents":1250}`, "It costs $12.50.", true},
		{"", `{"price_cents":1250}`, "It costs $12.75.", false},
		{"", `{"battery_pct":82}`, "82% are left, so 18% are used.", true},
		{"", `{"founded":1998}`, "It is 28 years old.", true},
		{"", `{"due":"2026-12-06"}`, "It is due in 2 weeks.", true},
		{"", `{"due":"2026-12-06"}`, "It is due in 3 weeks.", false},
		{"", `{"orders":[{"id":"INV-2031","total":5},{"id":"INV-2032","total":6}]}`, "INV-2032 is 6.", true},
		{"", `{"orders":[{"id":"INV-2031","total":5},{"id":"INV-2032","total":6}]}`, "INV-2033 is 6.", false},
		{"", `{"temp":20}`, "It is 20 °C, that is 68 °F.", true},
		{"", `{"todos":[]}`, "You have 0 todos.", true},
		{"", `[]`, "You have 3 todos.", false},
	} {
		in := check.Input{Text: tt.text, Now: now, Evidence: []check.Evidence{{Tool: "t", Result: tt.ev}}}
		if o := compile(t, "numbers_backed", tt.args).Run(&in); o.Passed != tt.passed {
			t.Errorf("%s %q: %+v", tt.ev, tt.text, o)
		}
	}
}

// What the answer itself counts, and ordinals up to an array's length, pass.
func TestCountsOfTheAnswer(t *testing.T) {
	t.Parallel()
	c := compile(t, "numbers_backed", "")
	for _, a := range []struct {
		text   string
		passed bool
	}{
		{"Here are 2:\n\n- a\n- b\n", true}, {"Here are 5:\n\n- a\n- b\n", false}, {"Here are 2.0:\n\n- a\n- b\n", false}, {"Here are 2 kg:\n\n- a\n- b\n", false}, {"Here are 2 %:\n\n- a\n- b\n", false},
		{"The 1st one.", true}, {"The 3rd one.", true}, {"The 4th one.", false}, {"The 0th one.", false}, {"Das ist der 2. von ihnen.", true}, {"C'est le 2e.", true},
	} {
		o := c.Run(&check.Input{Text: a.text, Now: now, Evidence: []check.Evidence{{Tool: "t", Result: `{"list":["x","y","z"]}`, Completed: true}}})
		if o.Passed != a.passed {
			t.Errorf("%q: passed is %v, %s", a.text, o.Passed, o.Feedback)
		}
	}
}

func BenchmarkNumbersBacked(b *testing.B) {
	text := strings.Repeat("You've logged 32/40 hours this week, 80% of it, by November 24. ", 16)
	call := []check.Evidence{{Tool: "t", Result: `{"hours_logged":32,"hours_target":40,"due":"2026-11-24"}`, Completed: true}}
	c, err := check.Compile("numbers_backed", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Run(&check.Input{Text: text, Now: now, Evidence: call})
	}
}
