package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Something can be read if one character can be seen.
func TestNotEmpty(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, " ": false, "\n\t\r": false, "\u00a0": false, "\u3000": false, "\u200b": false, "\u2060\ufeff": false, "\x00": false, "\u202e": false, "\u00ad": false,
		"a": true, ".": true, "👍": true, " 字 ": true, "\u200bx": true, "0": true, "\u0301": true,
	} {
		o := verdict(t, "not_empty", "", Input{Text: text})
		if o.Passed != want || (o.Feedback == "") != want {
			t.Errorf("%q: %+v", text, o)
		}
	}
}

// An answer is whole if the model ended it.
func TestComplete(t *testing.T) {
	t.Parallel()
	for finish, want := range map[string]bool{"stop": true, "max_tokens": false, "max_steps": false, "": false, "STOP": false} {
		if o := verdict(t, "complete", "", Input{Text: "a", Finish: finish}); o.Passed != want || o.NotApplicable {
			t.Errorf("%q: %+v", finish, o)
		}
	}
}

// One call that completed is enough, whatever came of the others.
func TestDataUsed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		calls []Evidence
		want  bool
	}{
		{nil, false},
		{[]Evidence{{Tool: "a"}}, false},
		{[]Evidence{{Tool: "a", Result: "refused"}, {Tool: "b", Arguments: "{}"}}, false},
		{[]Evidence{{Tool: "a", Completed: true}}, true},
		{[]Evidence{{Tool: "a"}, {Tool: "b", Completed: true}, {Tool: "c"}}, true},
	} {
		if o := verdict(t, "data_used", "", Input{Evidence: tt.calls}); o.Passed != tt.want {
			t.Errorf("%+v: %+v", tt.calls, o)
		}
	}
}

// Words are those of Unicode's text segmentation that have a letter or a digit.
func TestCountWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "  \n": 0, "one": 1, "one two": 2, "Don't stop – now!": 3, "1,234.5 km": 2, "a-b": 2, "e-mail@x.test": 3, "…": 0, "👍 ok": 1, "½": 1,
		"Straße\nüber": 2, "привет мир": 2, "漢字": 2, "カタカナ": 1, "مرحبا بك": 2, "a_b": 1, "a  b": 2,
	} {
		if got := countWords(text); got != want {
			t.Errorf("%q has %d words, want %d", text, got, want)
		}
	}
}

// The feedback says all that is too long, and how much there is of it.
func TestMaxLength(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		in   Input
		want string
	}{
		{`{"chars":5}`, Input{Text: "añ👍de"}, ""},
		{`{"chars":4}`, Input{Text: "añ👍de"}, "The answer is too long. It has 5 characters and may have 4."},
		{`{"words":2}`, Input{Text: "a b"}, ""},
		{`{"words":1}`, Input{Text: "a b"}, "The answer is too long. It has 2 words and may have 1."},
		{`{"segments":2}`, Input{Segments: 2}, ""},
		{`{"segments":2}`, Input{Segments: 3}, "The answer is too long. It has 3 segments of SMS and may have 2."},
		{`{"parts":1}`, Input{Parts: 1}, ""},
		{`{"parts":1}`, Input{Parts: 4}, "The answer is too long. It has 4 messages and may have 1."},
		{`{"chars":1,"words":1,"parts":1}`, Input{Text: "a b", Parts: 2}, "The answer is too long. It has 3 characters and may have 1. It has 2 words and may have 1. It has 2 messages and may have 1."},
		{`{"chars":0,"words":1}`, Input{Text: strings.Repeat("a", 99)}, ""},
	} {
		o := verdict(t, "max_length", tt.args, tt.in)
		if diff := cmp.Diff(tt.want, o.Feedback); diff != "" || o.Passed != (tt.want == "") {
			t.Errorf("%s of %q (-want +got):\n%s", tt.args, tt.in.Text, diff)
		}
	}
}
