package check_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/quality/check"
)

// labelledAnswer is an answer of testdata/numbers.txt.
type labelledAnswer struct {
	in       check.Input
	invented []string
}

func labelledAnswers(t *testing.T) (list []labelledAnswer) {
	t.Helper()
	b, err := os.ReadFile("testdata/numbers.txt")
	if err != nil {
		t.Fatal(err)
	}
	var call check.Evidence
	var question string
	for line := range strings.SplitSeq(string(b), "\n") {
		sign, text, _ := strings.Cut(line, " ")
		text = strings.ReplaceAll(text, `\n`, "\n")
		switch sign {
		case "=":
			call, question = check.Evidence{Tool: "tool", Result: text, Completed: true}, ""
		case ">":
			call.Arguments = text
		case "?":
			question = text
		case "+", "-":
			var invented []string
			for rest := text; ; {
				var found bool
				if _, rest, found = strings.Cut(rest, "⟦"); !found {
					break
				}
				number, _, _ := strings.Cut(rest, "⟧")
				invented = append(invented, strings.TrimSuffix(number, "万"))
			}
			source := strings.NewReplacer("⟦", "", "⟧", "").Replace(text)
			list = append(list, labelledAnswer{check.Input{Text: source, Question: question, Now: now, Evidence: []check.Evidence{call}}, invented})
		}
	}
	return list
}

// Of more than 200 answers, numbers that are backed in any form make no alarm, and those
// that are invented are all found.
func TestLabelledNumbers(t *testing.T) {
	t.Parallel()
	c := compile(t, "numbers_backed", "")
	answers, alarms, missed := labelledAnswers(t), 0, 0
	for _, a := range answers {
		o := c.Run(&a.in)
		if len(a.invented) == 0 && !o.Passed {
			alarms++
			t.Errorf("%q: %s", a.in.Text, o.Feedback)
		}
		if len(a.invented) == 0 {
			continue
		}
		_, told, _ := strings.Cut(strings.TrimSuffix(o.Feedback, "."), ": ")
		found := strings.Split(told, ", ")
		slices.Sort(a.invented)
		slices.Sort(found)
		if o.Passed || !slices.Equal(found, a.invented) {
			missed++
			t.Errorf("%q: found %q, want %q", a.in.Text, found, a.invented)
		}
	}
	t.Logf("figures: %d answers, %d false alarms, %d missed", len(answers), alarms, missed)
	if len(answers) < 200 {
		t.Errorf("there are %d answers", len(answers))
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
		{``, "It is 14, or 6, or 40, or 2.5, or 40%.", result, true},
		{`{"derived":false}`, "It is 10.", result, true},
		{`{"derived":false}`, "It is 14.", result, false},
		{`{"derived":false}`, "There are 3.", result, false},
		{``, "There are 3 of them, and 5 of what you asked for.", result, true},
		{``, "Call 112.", result, false},
		{`{"allow":[112]}`, "Call 112.", result, true},
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

// What costs a check that looks for each thing among all others takes minutes here.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"1 ", "1.", "1,", "1.234", "123 456 ", "1:2 ", "1-1-", "2026-11-24 ", "1) ", "24/7 ", "5% ", "7 days ", "a@b.c ", "https://a.b/c ", "www.a.b ", "**a", "[a](b)", "> ", "[", "٣", "\u0301", "{", "\"", "Jan 5 ", "9007199254740993 ", "1e9 ", "\xff", "\x00",
		">", "|a", "\u202e1", "1.2,3'4 5", "\\ud83d", "👨\u200d👩\u200d👧\u200d👦",
	} {
		text := strings.Repeat(unit, 64<<10/len(unit))
		if unit == "|a" {
			text = strings.Repeat(unit, 200) + "|\n" + strings.Repeat("|-", 200) + "|\n" + strings.Repeat(strings.Repeat("|b", 200)+"|\n", 100)
		}
		in := check.Input{
			Text: text, Question: text, Now: now, Locale: "x", Finish: "stop",
			Evidence: []check.Evidence{{Tool: "t", Arguments: "[" + strings.TrimSuffix(strings.Repeat("1.5,", 10_000), ",") + "]", Result: text, Completed: true}, {Tool: "t", Result: numbered(20_000), Completed: true}},
		}
		began := time.Now()
		for name, args := range map[string]string{
			"contains": `{"all":["zz"]}`, "excludes": `{"texts":["zz"]}`, "matches": `{"pattern":"(a|b)*c"}`, "max_length": `{"words":3}`,
			"required_facts": `{"facts":[{"tool":"t","pointer":"/9"}]}`,
		} {
			compile(t, name, args).Run(&in)
		}
		for _, name := range []string{"not_empty", "complete", "plain_text", "numbers_backed", "data_used", "links_backed", "script", "no_pii"} {
			compile(t, name, "").Run(&in)
		}
		took := time.Since(began)
		t.Logf("%q took %v", unit, took)
		if took > 20*time.Second {
			t.Errorf("%q took %v", unit, took)
		}
	}
}

// numbered is a result with as many different numbers.
func numbered(n int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.Repeat("7", 1+i%5) + "." + strings.Repeat("3", 1+i%7) + "1")
	}
	return b.String() + "]"
}

func FuzzChecks(f *testing.F) {
	f.Add("You have 4 todos on **November 24**, see https://a.b/c", `{"a":[1,2],"d":"2026-11-24T10:00:00Z"}`)
	f.Add("1.234,5 and ٣٢ (1) x 2:30 +1 415-555-2671", `no JSON: 12:30, 24.11.`)
	f.Fuzz(func(t *testing.T, text, result string) {
		in := check.Input{Text: text, Question: result, Now: now, Evidence: []check.Evidence{{Tool: "t", Result: result, Completed: true}}}
		for _, name := range []string{"not_empty", "plain_text", "numbers_backed", "links_backed", "script", "no_pii"} {
			c, err := check.Compile(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			if o := c.Run(&in); !o.Passed && o.Feedback == "" {
				t.Errorf("%s fails without feedback", name)
			}
		}
		same := check.Input{Text: result, Now: now, Evidence: in.Evidence}
		if c, _ := check.Compile("numbers_backed", nil); !c.Run(&same).Passed {
			t.Logf("%q does not back itself", result)
		}
	})
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
