package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var (
	// word is what a line of output is compared by; the rest is compared as it is.
	word = regexp.MustCompile(`[\p{L}\p{N}_]+(?:[.:+%-][\p{L}\p{N}_]+)*|…`)
	// changing is a word that is another one the next time: a figure, an id, a time, a date.
	changing = regexp.MustCompile(`\d|^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day$|^(?:January|February|March|April|May|June|July|August|September|October|November|December)$`)
	// status is a line that is an HTTP status alone, which no other one stands for.
	status = regexp.MustCompile(`^[1-5]\d\d$`)
	// leftOut stands for any lines.
	leftOut = regexp.MustCompile(`^\[\.\.\..*\]$`)
)

// shape returns the pattern of what a page shows: words that change stand for any word, "…" for
// the rest of a word or line, and a line "[...]" for any lines.
func shape(shown string) (*regexp.Regexp, error) {
	var pattern strings.Builder
	pattern.WriteString(`^\s*`)
	for line := range strings.Lines(strings.Trim(shown, "\n")) {
		line = strings.TrimRight(line, " \n")
		switch {
		case leftOut.MatchString(line):
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		case line == "":
			pattern.WriteString(`\s*`)
			continue
		}
		end := 0
		for _, at := range word.FindAllStringIndex(line, -1) {
			pattern.WriteString(regexp.QuoteMeta(line[end:at[0]]))
			switch w := line[at[0]:at[1]]; {
			case w == "…":
				pattern.WriteString(`.*`)
			case changing.MatchString(w) && !status.MatchString(line):
				pattern.WriteString(`[\p{L}\p{N}_]+(?:[.,:+%-][\p{L}\p{N}_]+)*`)
			default:
				pattern.WriteString(regexp.QuoteMeta(w))
			}
			end = at[1]
		}
		pattern.WriteString(regexp.QuoteMeta(line[end:]) + `[ \r]*\n`)
	}
	pattern.WriteString(`\s*$`)
	return regexp.Compile(pattern.String())
}

// hasShape says what is wrong with an output, compared with what a page shows of it.
func hasShape(shown, got string) error {
	if strings.TrimSpace(shown) == "" {
		return nil // the page shows nothing of it
	}
	pattern, err := shape(shown)
	if err == nil && !pattern.MatchString(strings.TrimRight(got, "\n")+"\n") {
		err = fmt.Errorf("the page shows\n%s\nand what comes is\n%s", shown, got)
	}
	return err
}

func TestShape(t *testing.T) {
	t.Parallel()
	tests := []struct {
		shown, got string
		want       bool
	}{
		{"ok  stream  live: 10 ticks, at most 1.4 ms late\n", "ok  stream  live: 10 ticks, at most 0.3 ms late\n", true},
		{"ok  stream  live\n", "problem  stream  live\n", false},
		{"total 556ms · req_47edc9f2ee10\n", "total 1.5s · req_aaa\n", true},
		{"due Sunday, 22 November at 15:00\n", "due Monday, 1 May at 3:00\n", true},
		{"{\"id\":\"todo_4kp8p1nc\",\"title\":\"eggs\",\"due\":\"2026-11-…\n", "{\"id\":\"todo_1\",\"title\":\"eggs\",\"due\":\"2027-01-01T15:00:00\"}\n", true},
		{"{\"id\":\"todo_4\",\"title\":\"eggs\"}\n", "{\"id\":\"todo_4\",\"name\":\"eggs\"}\n", false},
		{"a\n[...]\nb\n", "a\nx\ny\nb\n", true},
		{"a\n[... 3 more]\nb\n", "a\nb\n", true},
		{"a\n[...]\nb\n", "a\nx\n", false},
		{"a\n\nb\n", "a\nb\n", true},
		{"a\nb\n", "a\nb\nc\n", false},
		{"a\n", "a b\n", false},
		{"Server: a\n", "Server: a\r\n", true},
		{"slk_k3v9_…\n", "slk_x_abc_def\n", true},
		{"200\n", "401\n", false},
		{"code 200\n", "code 401\n", true},
		{"", "anything\n", true},
	}
	for _, tt := range tests {
		if err := hasShape(tt.shown, tt.got); (err == nil) != tt.want {
			t.Errorf("%q, shown as %q: %v", tt.got, tt.shown, err)
		}
	}
}
