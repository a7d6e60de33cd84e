package check

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/markdown"
)

// Sunday, in a zone an hour ahead of UTC.
var sunday = time.Date(2026, 11, 22, 9, 30, 0, 0, time.FixedZone("CET", 3600))

// The feedback names five numbers at most as they are written, each once and in order.
func TestFeedbackOfNumbers(t *testing.T) {
	t.Parallel()
	const feedback = "These numbers are in no result of a tool and do not follow from one: "
	for text, want := range map[string]string{
		"It is 99.":                         feedback + "99.",
		"It is 99 and 77 and 99.":           feedback + "77, 99.",
		"It is INV-7 at 13:47 on 3 March.":  feedback + "13:47, 3.",
		"It is 1,234.5 kg, or 17:18.":       feedback + "1,234.5, 17:18.",
		"11 22 33 44 55 66 77":              feedback + "11, 22, 33, 44, 55.",
		"It is 99.\nIt is 77.\n\nIt is 88.": feedback + "77, 88, 99.",
		"It is 5.":                          "",
		"None.":                             "",
		"":                                  "",
	} {
		o := verdict(t, "numbers_backed", "", Input{Text: text, Evidence: []Evidence{{Result: `{"a":5}`}}})
		if diff := cmp.Diff(want, o.Feedback); diff != "" || o.Passed != (want == "") || o.NotApplicable {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	for _, calls := range [][]Evidence{nil, {{Arguments: `{"a":5}`, Completed: true}}} {
		if o := verdict(t, "numbers_backed", "", Input{Text: "It is 99.", Evidence: calls}); !o.NotApplicable || !o.Passed || o.Feedback != "No tool has answered." {
			t.Errorf("without a result: %+v", o)
		}
	}
}

// Without what is derived a number must stand in the evidence, as it is.
func TestItselfAlone(t *testing.T) {
	t.Parallel()
	const result = `{"a":10.4,"b":4,"share":0.5,"list":["x","y"],"due":"2026-11-24","at":"17:30","pct":20,"min":90}`
	for text, want := range map[string]bool{
		"It is 10.4.": true, "It is 10,4.": true, "It is 10.40.": true, "It is 4 and 0.5.": true, "It is on 24 November.": true, "It is at 5:30 p.m.": true, "It is 50 %.": true, "It is 20 %.": true, "It is 2026.": true,
		"It is 10.": false, "It is about 10.": false, "It is 14.4.": false, "There are 2.": false, "It is 80 %.": false, "It is 40 %.": false, "It is in 2 days.": false, "It is 51 %.": false, "It is 1.5 h.": false,
		"1. first\n2. second": true, "Open 24/7.": true, "It is 7.": true, // the question has it
	} {
		o := verdict(t, "numbers_backed", `{"derived":false}`, Input{Text: text, Question: "Is it 7?", Now: sunday, Evidence: []Evidence{{Result: result}}})
		if o.Passed != want {
			t.Errorf("%q: %+v", text, o)
		}
	}
}

// What is allowed passes in any form, and nothing near it does.
func TestAllowedNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		allow, text string
		want        bool
	}{
		{`[112]`, "It is 112.", true}, {`[112]`, "It is 113.", false}, {`[112]`, "It is 112.0.", true}, {`[112]`, "It is -112.", true}, {`[-112]`, "It is 112.", true}, {`[1200.5]`, "It is 1.200,5.", true}, {`["1.200,5"]`, "It is 1200.5.", true}, {`[1200]`, "It is 1.2k.", false},
		{`["24 and 31"]`, "It is 24/31.", true}, {`["24"]`, "It is 24/31.", false}, {`["17:30"]`, "It is 17:30.", true}, {`["17:30"]`, "It is 17:31.", false}, {`["INV-7"]`, "It is 7.", true}, {`[]`, "It is 7.", false},
	} {
		o := verdict(t, "numbers_backed", `{"allow":`+tt.allow+`}`, Input{Text: tt.text, Evidence: []Evidence{{Result: `{"x":"none"}`}}})
		if o.Passed != tt.want {
			t.Errorf("%s of %q: %+v", tt.allow, tt.text, o)
		}
	}
}

// Results, arguments and the question back what they say, as JSON and as text.
func TestEachEvidenceBacks(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]Input{
		"the question":          {Question: "Is it 4711?", Evidence: []Evidence{{Result: "x"}}},
		"arguments":             {Evidence: []Evidence{{Arguments: `{"a":4711}`, Result: "x"}}},
		"arguments, as text":    {Evidence: []Evidence{{Arguments: `{"a":"no. 4711"}`, Result: "x"}}},
		"a result":              {Evidence: []Evidence{{Result: `{"a":4711}`}}},
		"a number alone":        {Evidence: []Evidence{{Result: `4711`}}},
		"a text":                {Evidence: []Evidence{{Result: `It is 4711 now.`}}},
		"a text in JSON":        {Evidence: []Evidence{{Result: `"It is 4711 now."`}}},
		"an array":              {Evidence: []Evidence{{Result: `[1,4711]`}}},
		"a table":               {Evidence: []Evidence{{Result: "a,b\nx,1\ny,4711"}}},
		"JSON in a text":        {Evidence: []Evidence{{Result: `{"a":"{\"b\":4711}"}`}}},
		"a call that failed":    {Evidence: []Evidence{{Result: `{"error":"no. 4711"}`}}},
		"an earlier call":       {Evidence: []Evidence{{Result: `{"a":4711}`}, {Result: `{"a":1}`}}},
		"other digits":          {Evidence: []Evidence{{Result: `{"a":"٤٧١١"}`}}},
		"a number of the agent": {Text: "It is 4711.", Evidence: []Evidence{{Result: `{"a":"4,711"}`}}},
	} {
		in.Text = "It is 4711."
		if o := verdict(t, "numbers_backed", "", in); !o.Passed {
			t.Errorf("%s: %+v", name, o)
		}
		in.seen, in.Text = nil, "It is 4733."
		if o := verdict(t, "numbers_backed", "", in); o.Passed {
			t.Errorf("%s backs 4733", name)
		}
	}
}

// A check may judge many answers at the same time, and finds the same again.
func TestSameInputSameOutcome(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{"numbers_backed": `{"allow":[1]}`, "links_backed": `{"hosts":["a.test"]}`, "plain_text": "", "script": "", "no_pii": "", "contains": `{"any":["x"]}`, "required_facts": `{"facts":[{"tool":"t","pointer":"/rows/0/v"}]}`} {
		c, err := Compile(name, []byte(args))
		if err != nil {
			t.Fatal(err)
		}
		run := func() Outcome {
			return c.Run(&Input{Text: "**The** first is 99, 13 % of 77; see https://b.test/c and ann@b.test, 17:18, INV-9.", Question: "Сколько?", Now: sunday, Evidence: []Evidence{{Tool: "t", Result: `{"rows":[{"v":4,"n":"a"},{"v":5,"n":"b"}],"INV-1":3}`, Completed: true}}})
		}
		first := run()
		done := make(chan Outcome)
		for range 8 {
			go func() { done <- run() }()
		}
		for range 8 {
			if o := <-done; o != first {
				t.Errorf("%s: %+v, and then %+v", name, first, o)
			}
		}
	}
}

// When the turn is over a check reads neither the answer nor what backs it to their ends.
func TestNumbersEndWithTheirWatch(t *testing.T) {
	t.Parallel()
	result := "[" + strings.TrimSuffix(strings.Repeat(`{"a":1,"b":"x 5"},`, 2000), ",") + "]"
	over := watchThatIsOver(t)
	in := Input{Text: strings.Repeat("It is 99. ", 2000), Watch: over, Evidence: []Evidence{{Result: result}}}
	if n := len(in.sharedEvidence().Texts()); n > 1000 {
		t.Errorf("%d texts are read", n)
	}
	in = Input{Text: strings.Repeat("https://a.test/b ", 10) + "*x*", Watch: over}
	if o := verdict(t, "links_backed", "", in); !o.Passed {
		t.Errorf("links are looked for: %+v", o)
	}
}

// No check panics, fails without feedback, or is not applicable without saying why.
func FuzzAllChecks(f *testing.F) {
	f.Add("**4** of `5` at 17:30, see https://a.test/b", "How many?", `{"a":[{"b":4},{"b":"5 kg"}]}`, "en-US")
	f.Add("٣٢ (1) 7h12m -1.234,5 °C INV-2031", "几个？", "a,b\nx,1\ny,2", "zh-Hans")
	all := map[string]string{"max_length": `{"chars":9,"words":2}`, "contains": `{"all":["a"],"any":["b"]}`, "excludes": `{"texts":["a"]}`, "matches": `{"pattern":"a+"}`, "required_facts": `{"facts":[{"tool":"t","pointer":"/a"},{"tool":"t","pointer":""}]}`}
	var made []Check
	for name := range checks {
		c, err := Compile(name, []byte(all[name]))
		if err != nil {
			f.Fatal(err)
		}
		made = append(made, c)
	}
	f.Fuzz(func(t *testing.T, text, question, result, locale string) {
		in := Input{Text: text, Source: question, Question: question, Locale: locale, Now: sunday, Evidence: []Evidence{{Tool: "t", Arguments: question, Result: result, Completed: true}}}
		for _, c := range made {
			o := c.Run(&in)
			if (!o.Passed || o.NotApplicable) && o.Feedback == "" || o.NotApplicable && !o.Passed {
				t.Errorf("%T: %+v", c, o)
			}
		}
	})
}

// watchThatIsOver is one of a turn that has ended.
func watchThatIsOver(t *testing.T) *markdown.Watch {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	return markdown.NewWatch(ctx)
}
