package check_test

import (
	"errors"
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

// Sunday, in a zone an hour ahead of UTC.
var now = time.Date(2026, 11, 22, 9, 30, 0, 0, time.FixedZone("CET", 3600))

func TestChecks(t *testing.T) {
	t.Parallel()
	hours := []check.Evidence{{Tool: "timesheet", Arguments: `{"week":47}`, Result: `{"hours_logged":32,"hours_target":40,"by":"Ann","due":"2026-11-24"}`, Completed: true}}
	const (
		pass = "pass"
		fail = "fail"
		none = "not applicable"
	)
	for _, tt := range []struct {
		name, args string
		in         check.Input
		want       string
	}{
		{"not_empty", "", check.Input{Text: "a"}, pass},
		{"not_empty", "", check.Input{Text: " \n\u200b\u2060"}, fail},
		{"complete", "", check.Input{Text: "a", Finish: "stop"}, pass},
		{"complete", "{}", check.Input{Text: "a", Finish: "max_tokens"}, fail},
		{"complete", "", check.Input{Text: "a", Finish: "max_steps"}, fail},

		{"plain_text", "", check.Input{Text: "no **bold**"}, fail},
		{"plain_text", "", check.Input{Source: "no **bold**", Text: "no bold"}, pass},
		{"plain_text", "", check.Input{Source: "**a** and b", Text: "**a** and b"}, fail},
		{"plain_text", "", check.Input{Source: `\*not bold\*`, Text: "*not bold*"}, pass},
		{"plain_text", "", check.Input{Source: "2 * 3 * 4", Text: "2 * 3 * 4"}, pass},
		{"plain_text", "", check.Input{Source: "# A", Text: "A"}, pass},
		{"plain_text", "", check.Input{Source: "# A", Text: "# A"}, fail},
		{"plain_text", "", check.Input{Source: "[a](https://b.c)", Text: "a (https://b.c)"}, pass},
		{"plain_text", "", check.Input{Source: "[a](https://b.c)", Text: "[a](https://b.c)"}, fail},
		{"plain_text", "", check.Input{Source: "- a\n- [ ] b\n\n> c", Text: "- a\n- [ ] b\n\n> c"}, pass},
		{"plain_text", "", check.Input{Source: "```\n    x\n```", Text: "    x"}, pass},
		{"plain_text", "", check.Input{Source: "```\nx\n```", Text: "```\nx\n```"}, fail},
		{"plain_text", "", check.Input{Source: "|a|b|\n|-|-|\n|c|d|", Text: "|a|b|\n|-|-|\n|c|d|"}, fail},
		{"plain_text", "", check.Input{Source: "`**x**`", Text: "**x**"}, pass},

		{"max_length", `{"chars":3}`, check.Input{Text: "añ👍"}, pass},
		{"max_length", `{"chars":3}`, check.Input{Text: "añ👍b"}, fail},
		{"max_length", `{"words":3}`, check.Input{Text: "Don't stop – now!"}, pass},
		{"max_length", `{"words":3}`, check.Input{Text: "Do not stop now!"}, fail},
		{"max_length", `{"parts":1,"segments":2}`, check.Input{Text: "a", Parts: 1, Segments: 2}, pass},
		{"max_length", `{"parts":1}`, check.Input{Text: "a", Parts: 2}, fail},
		{"max_length", `{"segments":1}`, check.Input{Text: "a", Segments: 2}, fail},

		{"contains", `{"all":["GROẞE straße"]}`, check.Input{Text: "Die grosse Straße"}, pass},
		{"contains", `{"all":["a","z"]}`, check.Input{Text: "abc"}, fail},
		{"contains", `{"any":["ﬁle","z"]}`, check.Input{Text: "The FI\u2060LE"}, pass},
		{"contains", `{"any":["y","z"]}`, check.Input{Text: "abc"}, fail},
		{"contains", `{"all":["ΌΣΟΣ"]}`, check.Input{Text: "όσος"}, pass},
		{"excludes", `{"texts":["as an AI"]}`, check.Input{Text: "As an ai model"}, fail},
		{"excludes", `{"texts":["as an AI"]}`, check.Input{Text: "Here you are"}, pass},
		{"matches", `{"pattern":"^[A-Z]"}`, check.Input{Text: "Yes"}, pass},
		{"matches", `{"pattern":"^[A-Z]"}`, check.Input{Text: "no"}, fail},

		{"required_facts", `{"facts":[{"tool":"timesheet","pointer":"/hours_logged"}]}`, check.Input{Text: "32/40 hours", Evidence: hours}, pass},
		{"required_facts", `{"facts":[{"tool":"timesheet","pointer":"/hours_logged"}]}`, check.Input{Text: "٣٢ ساعة", Evidence: hours}, pass},
		{"required_facts", `{"facts":[{"tool":"timesheet","pointer":"/hours_logged"}]}`, check.Input{Text: "35 of 40 hours, 320", Evidence: hours}, fail},
		{"required_facts", `{"facts":[{"tool":"timesheet","pointer":"/by"}]}`, check.Input{Text: "ANN", Evidence: hours}, pass},
		{"required_facts", `{"facts":[{"tool":"timesheet","pointer":"/due"}]}`, check.Input{Text: "on Tuesday, November 24th", Evidence: hours}, pass},
		{"required_facts", `{"facts":[{"tool":"timesheet","pointer":"/due"}]}`, check.Input{Text: "on Monday", Evidence: hours}, fail},
		{"required_facts", `{"facts":[{"tool":"other","pointer":"/a"}]}`, check.Input{Text: "a", Evidence: hours}, none},
		{"required_facts", `{"facts":[{"tool":"t","pointer":"/a/1/b"}]}`, check.Input{Text: "It is 1.234.567,5", Evidence: []check.Evidence{
			{Tool: "t", Result: `{"a":[0,{"b":1}]}`, Completed: true}, {Tool: "t", Result: `{"a":[0,{"b":1234567.50}]}`, Completed: true},
		}}, pass},
		{"required_facts", `{"facts":[{"tool":"t","pointer":"/content/0/text/n"}]}`, check.Input{Text: "7", Evidence: []check.Evidence{
			{Tool: "t", Result: `{"content":[{"type":"text","text":"{\"n\":7}"}]}`, Completed: true},
		}}, pass},
		{"required_facts", `{"facts":[{"tool":"t","pointer":"/n"}]}`, check.Input{Text: "7", Evidence: []check.Evidence{{Tool: "t", Result: `{"n":8}`}}}, none},
		// A tool may write half a character, as an escape or in bytes that are no UTF-8.
		{"required_facts", `{"facts":[{"tool":"t","pointer":"/n"}]}`, check.Input{Text: "It is 7.", Evidence: []check.Evidence{{Tool: "t", Result: `{"a":"\ud83d","\udc00":[1],"n":7}`, Completed: true}}}, pass},
		{"required_facts", `{"facts":[{"tool":"t","pointer":"/n"}]}`, check.Input{Text: "It is 8.", Evidence: []check.Evidence{{Tool: "t", Result: `{"a":"\ud83d","n":7}`, Completed: true}}}, fail},
		{"required_facts", `{"facts":[{"tool":"t","pointer":"/a"}]}`, check.Input{Text: "Ann \uFFFD", Evidence: []check.Evidence{{Tool: "t", Result: `{"a":"Ann \udc00"}`, Completed: true}}}, pass},
		{"numbers_backed", "", check.Input{Text: "There are 3.", Evidence: []check.Evidence{{Tool: "t", Result: `{"a":"\ud83d","list":["x","y","z"]}`, Completed: true}}}, pass},
		{"numbers_backed", "", check.Input{Text: "It is 3.", Evidence: []check.Evidence{{Tool: "t", Result: "{\"a\":\"\xed\xa0\xbd\",\"b\":1,\"c\":2}", Completed: true}}}, pass},
		{"numbers_backed", "", check.Input{Text: "It is 1.234,567'890 123.", Evidence: []check.Evidence{{Tool: "t", Result: `{"a":1}`, Completed: true}}}, fail},
		{"numbers_backed", "", check.Input{Text: "It is 1.234,567'890 123.", Evidence: []check.Evidence{{Tool: "t", Result: `{"a":"1.234,567'890 123"}`, Completed: true}}}, pass},

		{"data_used", "", check.Input{Text: "a"}, fail},
		{"data_used", "", check.Input{Text: "a", Evidence: []check.Evidence{{Tool: "t", Result: "refused"}}}, fail},
		{"data_used", "", check.Input{Text: "a", Evidence: hours}, pass},

		{"links_backed", "", check.Input{Text: "no link"}, none},
		{"links_backed", `{"hosts":["example.com"]}`, check.Input{Text: "see [a](https://EXAMPLE.com:8080/x)"}, pass},
		{"links_backed", `{"hosts":["example.com"]}`, check.Input{Text: "see https://example.com@evil.test/x"}, fail},
		{"links_backed", `{"hosts":["example.com"]}`, check.Input{Text: "see https://example.com.evil.test/x"}, fail},
		{"links_backed", "", check.Input{Text: "see https://a.b/c", Question: "what is at https://a.b/c?"}, pass},
		{"links_backed", "", check.Input{Text: "see https://a.b/c", Question: "what is at https://a.b/cd?"}, fail},
		{"links_backed", "", check.Input{Text: "see https://a.b/wiki/Köln", Question: "what is at https://a.b/wiki/Köln?"}, pass},
		{"links_backed", "", check.Input{Text: "see https://a.b/wiki/K", Question: "what is at https://a.b/wiki/Köln?"}, fail},
		{"links_backed", "", check.Input{Text: "see https://a.b/?q=*a*&r=1", Evidence: []check.Evidence{{Result: `{"url":"https://a.b/?q=*a*&r=1"}`}}}, pass},
		{"links_backed", "", check.Input{Text: "see https://a.b/?q=", Evidence: []check.Evidence{{Result: `{"url":"https://a.b/?q=*a*&r=1"}`}}}, fail},
		{"links_backed", "", check.Input{Text: "see https://a.b/x", Question: "what is at https://a.b/x|y?"}, fail},
		{"links_backed", "", check.Input{Text: "see https://a.b/x", Question: "what is at https://a.b/x😀?"}, fail},
		{"links_backed", "", check.Input{Text: "see https://a.b/😀", Question: "<https://a.b/😀>, “https://a.b/x”"}, pass},
		{"links_backed", "", check.Input{Text: "see https://a.b/x", Question: "<https://a.b/😀>, “https://a.b/x”"}, pass},
		{"links_backed", "", check.Input{Text: "see https://a.b/c/", Evidence: []check.Evidence{{Result: `{"url":"https:\/\/a.b\/c"}`}}}, pass},
		{"links_backed", "", check.Input{Text: "see https://b.c/d", Evidence: []check.Evidence{{Result: `{"url":"https://a.b.c/d"}`}}}, fail},
		{"links_backed", "", check.Input{Text: "`https://a.b/c` is code"}, fail},
		{"links_backed", "", check.Input{Text: "`a/b` and ```x```, and/or, 24.11/25.11, 1/2, Node.js/Express"}, none},
		{"links_backed", "", check.Input{Text: "see HTTPS://A.b/C", Evidence: []check.Evidence{{Result: `{"url":"https://a.B/C"}`}}}, pass},
		{"links_backed", "", check.Input{Text: "see https://a.b/C", Evidence: []check.Evidence{{Result: `{"url":"https://a.b/c"}`}}}, fail},
		{"links_backed", "", check.Input{Text: "see http://a.b/c", Evidence: []check.Evidence{{Result: `{"url":"https://a.b/c"}`}}}, fail},
		{"links_backed", "", check.Input{Text: "see http://a.b/c", Evidence: []check.Evidence{{Result: `{"url":"a.b/c"}`}}}, pass},
		{"links_backed", "", check.Input{Text: `<a href="https://evil.test/x">x</a>`}, fail},
		{"links_backed", "", check.Input{Text: "a <img src=https://evil.test/x> b"}, fail},
		{"links_backed", "", check.Input{Text: "<div>\n<iframe SRC='//evil.test/x'>\n</div>"}, fail},
		{"links_backed", `{"hosts":["good.test"]}`, check.Input{Text: `<a href="https://good.test/x">x</a> and good.test/y, www.good.test is not`}, fail},
		{"links_backed", `{"hosts":["good.test","www.good.test"]}`, check.Input{Text: `<a href="https://good.test/x">x</a> and good.test/y, www.good.test.`}, pass},
		{"links_backed", "", check.Input{Text: "go to evil.test/login now"}, fail},
		{"links_backed", "", check.Input{Text: "(www.evil.test)"}, fail},
		{"links_backed", "", check.Input{Text: "go to a.test/login.", Evidence: []check.Evidence{{Result: `https://a.test/login`}}}, pass},
		{"links_backed", "", check.Input{Text: "write to <ann@b.test>", Evidence: []check.Evidence{{Result: `{"mail":"ann@b.test"}`}}}, pass},

		{"script", "", check.Input{Question: "Wie viele?", Text: "Zwölf."}, pass},
		{"script", "", check.Input{Question: "Сколько?", Text: "Twelve todos."}, fail},
		{"script", "", check.Input{Question: "Сколько?", Text: "Двенадцать задач в `todo list of mine`, см. https://example.com/a/long/path"}, pass},
		{"script", "", check.Input{Question: "今日の予定は？", Text: "会議が一つあります。"}, pass},
		{"script", "", check.Input{Question: "今日の予定は？", Text: "You have a meeting."}, fail},
		{"script", "", check.Input{Question: "?", Text: "12"}, none},
		{"script", "", check.Input{Question: "7?", Locale: "ar-EG", Text: "Seven"}, fail},
		{"script", "", check.Input{Question: "how many?", Locale: "ar", Text: "سبعة"}, pass},
		{"script", "", check.Input{Question: "koliko?", Locale: "sr-Latn", Text: "sedam"}, pass},
		{"script", "", check.Input{Question: "몇 개?", Text: "일곱 개입니다"}, pass},

		{"no_pii", "", check.Input{Text: "write to ann@example.com"}, fail},
		{"no_pii", `{"allow":["Ann@example.com"]}`, check.Input{Text: "write to ann@example.com"}, pass},
		{"no_pii", `{"allow":["example.com"]}`, check.Input{Text: "write to ann@example.com"}, fail},
		{"no_pii", `{"kinds":["card"]}`, check.Input{Text: "write to ann@example.com"}, pass},
		{"no_pii", `{"allow":["+1 (415) 555-2671"]}`, check.Input{Text: "call +1 415-555-2671"}, pass},
		{"no_pii", "", check.Input{Text: "nothing here"}, pass},
	} {
		tt.in.Now = now
		o := compile(t, tt.name, tt.args).Run(&tt.in)
		got := pass
		switch {
		case o.NotApplicable && o.Passed:
			got = none
		case !o.Passed:
			got = fail
		}
		if got != tt.want || got != pass && o.Feedback == "" {
			t.Errorf("%s %s of %q: %s (%q), want %s", tt.name, tt.args, tt.in.Text, got, o.Feedback, tt.want)
		}
	}
}

// What is wrong with arguments, and where.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, args, pointer string }{
		{"not_empty", `{"a":1}`, "/a"},
		{"max_length", `{}`, ""},
		{"max_length", `{"chars":-1}`, "/chars"},
		{"max_length", `{"chars":"3"}`, "/chars"},
		{"contains", ``, ""},
		{"contains", `{"all":["a",""]}`, "/all/1"},
		{"contains", `{"all":"a"}`, "/all"},
		{"excludes", `{}`, "/texts"},
		{"excludes", `{"texts":["` + strings.Repeat("a", 1001) + `"]}`, "/texts/0"},
		{"matches", `{"pattern":"("}`, "/pattern"},
		{"matches", `{"pattern":"` + strings.Repeat("a", 1001) + `"}`, "/pattern"},
		{"required_facts", `{"facts":[]}`, "/facts"},
		{"required_facts", `{"facts":[{"tool":"t","pointer":"a"}]}`, "/facts/0/pointer"},
		{"required_facts", `{"facts":[{"pointer":"/a"}]}`, "/facts/0/tool"},
		{"numbers_backed", `{"allow":[1,"none"]}`, "/allow/1"},
		{"numbers_backed", `{"derived":1}`, "/derived"},
		{"links_backed", `{"hosts":["a.b","https://a.b"]}`, "/hosts/1"},
		{"links_backed", `{"hosts":["a.b:80"]}`, "/hosts/0"},
		{"no_pii", `{"kinds":["name"]}`, "/kinds/0"},
		{"script", `[]`, ""},
	} {
		_, err := check.Compile(tt.name, jsontext.Value(tt.args))
		e, ok := errors.AsType[*check.ArgsError](err)
		if !ok || string(e.Pointer) != tt.pointer || e.Text == "" {
			t.Errorf("Compile(%s, %s): %v, want a fault at %q", tt.name, tt.args, err, tt.pointer)
		}
	}
	if _, err := check.Compile("vibes", nil); !errors.Is(err, check.ErrUnknown) {
		t.Errorf("an unknown check: %v", err)
	}
}
