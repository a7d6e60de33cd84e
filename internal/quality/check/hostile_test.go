package check_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/quality/check"
)

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
		elapsed := time.Since(began)
		t.Logf("%q took %v", unit, elapsed)
		if elapsed > 20*time.Second {
			t.Errorf("%q took %v", unit, elapsed)
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
