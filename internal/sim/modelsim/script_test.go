package modelsim

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/internal/sim/geminisim"
)

// applied are the directives of a script's first block.
func applied(t *testing.T, text string) directives {
	t.Helper()
	var d directives
	for _, set := range script(t, text).blocks[0] {
		set(&d)
	}
	return d
}

// Each directive with what it sets.
func TestDirectives(t *testing.T) {
	t.Parallel()
	said := func(a geminisim.Answer) *geminisim.Answer { return &a }
	for text, want := range map[string]directives{
		"":                              {},
		"# no\n\n  ":                    {},
		"text hello  there":             {answer: said(geminisim.Answer{Text: "hello  there"})},
		"text a\ntext \"\\tb\"":         {answer: said(geminisim.Answer{Text: "a\tb"})},
		"thought a\nthought b":          {answer: said(geminisim.Answer{Thoughts: []string{"a", "b"}})},
		"call f":                        {answer: said(geminisim.Answer{Calls: []geminisim.Call{{Name: "f", Args: jsontext.Value("{}")}}})},
		"call f {\"a\": 1}\ncall g {":   {answer: said(geminisim.Answer{Calls: []geminisim.Call{{Name: "f", Args: jsontext.Value(`{"a": 1}`)}, {Name: "g", Args: jsontext.Value("{")}}})},
		"refusal No.":                   {answer: said(geminisim.Answer{}), refusal: "No."},
		"finish length":                 {finish: "length"},
		"finish none":                   {finish: "none", framing: framing{noFinish: true}},
		"finish none\nfinish stop":      {finish: "stop"},
		"tokens 1 2 3 4":                {figures: []int{1, 2, 3, 4}},
		"usage own":                     {usage: "own"},
		"index zero":                    {index: "zero"},
		"calls split":                   {calls: "split"},
		"reasoning both":                {reasoned: reasoned{reasoning: "both"}},
		"ids late":                      {ids: "late"},
		"signed\nno-done\nredacted":     {reasoned: reasoned{signed: true, redacted: true}, framing: framing{noDone: true}},
		"prompted\nwhole\nhang":         {prompted: true, framing: framing{isDocument: true}, failing: failing{hang: true}},
		"crlf\ncomments\nalternate":     {framing: framing{crlf: true, comments: true}, alternate: true},
		"need-reasoning\ntake-ids nine": {reasoned: reasoned{needReasoning: true}, acceptsIDs: "nine"},
		"first 1s\npace 20ms":           {first: time.Second, pace: 20 * time.Millisecond},
		"split 3\ncut 1\nreset 2":       {framing: framing{split: 3}, failing: failing{cutAt: 1, resetAt: 2}},
		"stall 4\nstrict 422":           {failing: failing{stallAt: 4}, unknown: 422},
		"inband object":                 {failing: failing{inband: "object"}},
		"inband event 2":                {failing: failing{inband: "event", inbandAt: 2}},
		"raw a\nraw \"b\\n\"":           {framing: framing{raw: []string{"a", "b\n"}}},
		"refuse a b=1\nrefuse c":        {refuse: []string{"a", "b=1", "c"}},
		"error 400":                     {failing: failing{fault: &refusal{Status: 400, Message: "Bad Request", isRequested: true}}},
		"error 599 type=T code=C x=y a": {failing: failing{fault: &refusal{Status: 599, Type: "T", Code: "C", Message: "a", isRequested: true}, faultHeaders: map[string]string{"x": "y"}}},
		"error 500 a b=c":               {failing: failing{fault: &refusal{Status: 500, Message: "a b=c", isRequested: true}}},
	} {
		if diff := cmp.Diff(want, applied(t, text), cmp.AllowUnexported(directives{}, failing{}, framing{}, reasoned{}, refusal{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}

// A directive that is wrong is named with its line; of several all are.
func TestDirectivesThatAreWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"speak":                "unknown directive \"speak\"",
		"text a\n\nusage some": "script line 3: usage: want one of none, last, own, every, groq",
		"take-ids ten":         "want one of nine",
		"hang now":             "hang: takes no argument",
		"split 0":              "split: want a number from 1",
		"cut two":              "cut: ",
		"first 1":              "first: ",
		"tokens 1 2 3":         "want: tokens INPUT OUTPUT THINKING CACHED",
		"tokens 1 2 3 four":    "tokens: ",
		"call":                 "want: call NAME [ARGUMENTS]",
		"inband event x":       "want: inband FORM [EVENT]",
		"inband event 0":       "want: inband FORM [EVENT]",
		"error":                "want: error STATUS",
		"error 399":            "want: error STATUS",
		"error 600":            "want: error STATUS",
		`text "a" b`:           "must be a whole Go-quoted string",
		"a\nb":                 "script line 2: unknown directive \"b\"",
	} {
		if _, err := ParseScript(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Blocks are for requests in order, and the last for all that follow where the script says so.
func TestBlocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		sizes []int // of the blocks of the first requests; -1: used up
	}{
		{"", []int{0, -1}},
		{"text a\nhang\n---\n---\ntext b", []int{2, 0, 1, -1}},
		{"loop\ntext a\n---\nhang\ncrlf", []int{1, 2, 2, 2}},
		{"loop", []int{0, 0, 0}},
	} {
		s := script(t, tt.text)
		for i, want := range tt.sizes {
			block, err := s.block(i + 1)
			if (err != nil) != (want < 0) || err == nil && len(block) != want {
				t.Errorf("%q: request %d has %d directives, %v", tt.text, i+1, len(block), err)
			}
		}
	}
}

// Directives never change what a script holds: it may be shared by servers and requests.
func TestScriptsAreShared(t *testing.T) {
	t.Parallel()
	s := script(t, "refuse a\nraw x\nthought y\nloop")
	for range 2 {
		var d directives
		block, err := s.block(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range append(block[:len(block):len(block)], script(t, "refuse b\nraw z\nthought w").blocks[0]...) {
			set(&d)
		}
		if diff := cmp.Diff([][]string{{"a", "b"}, {"x", "z"}, {"y", "w"}}, [][]string{d.refuse, d.raw, d.answer.Thoughts}); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func FuzzParseScript(f *testing.F) {
	for _, text := range []string{"text a", "call f {}\n---\nloop", "error 429 a=b c", "raw \"\\xff\"", "inband x 1\ntokens 1 2 3 4"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScript(text)
		if (s == nil) == (err == nil) {
			t.Fatalf("a script %t, and %v", s != nil, err)
		}
		if err != nil {
			return
		}
		for _, block := range s.blocks {
			var d directives
			for _, set := range block {
				set(&d)
			}
			if d.split < 0 || d.cutAt < 0 || d.inbandAt < 0 {
				t.Errorf("%q sets %+v", text, d)
			}
		}
	})
}
