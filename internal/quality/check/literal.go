// This file has the checks that look for texts and patterns. Texts are compared folded
// (case, width, compatibility form), patterns as they are. Bounds on the number and length
// of arguments keep a check's time in proportion to the answer.

package check

import (
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/markdown"
	"sluice/internal/quality/casefold"
)

// Bounds of arguments.
const (
	maxTexts   = 100
	maxLiteral = 1000 // of a text or pattern, in bytes
)

// contains asks for texts, whatever their case and compatibility form.
type contains struct {
	All []string `json:"all"`
	Any []string `json:"any"`

	all, any []string // folded
}

// compileCheck checks the arguments, and folds the texts once.
func (c *contains) compileCheck() (Check, error) {
	if len(c.All)+len(c.Any) == 0 {
		return nil, &ArgsError{"", "must have all or any, with a text at least"}
	}
	var err error
	if c.all, err = foldTexts("/all", c.All); err != nil {
		return nil, err
	}
	c.any, err = foldTexts("/any", c.Any)
	return c, err
}

// Run looks for the texts without regard to case and width.
func (c *contains) Run(in *Input) Outcome {
	text := in.foldedText()
	var missing []string
	for i, want := range c.all {
		if !strings.Contains(text, want) {
			missing = append(missing, strconv.Quote(c.All[i]))
		}
	}
	if len(missing) > 0 {
		return failedOutcome("The answer must contain " + strings.Join(missing, ", ") + ".")
	}
	for _, want := range c.any {
		if strings.Contains(text, want) {
			return passedOutcome()
		}
	}
	if len(c.any) > 0 {
		return failedOutcome("The answer must contain one of " + quoteList(c.Any) + ".")
	}
	return passedOutcome()
}

// excludes refuses texts.
type excludes struct {
	Texts []string `json:"texts"`

	folded []string
}

// compileCheck checks the arguments, and folds the texts once.
func (c *excludes) compileCheck() (Check, error) {
	if len(c.Texts) == 0 {
		return nil, &ArgsError{"/texts", "must have a text at least"}
	}
	var err error
	c.folded, err = foldTexts("/texts", c.Texts)
	return c, err
}

// Run requires an answer without the texts.
func (c *excludes) Run(in *Input) Outcome {
	text := in.foldedText()
	var found []string
	for i, bad := range c.folded {
		if strings.Contains(text, bad) {
			found = append(found, strconv.Quote(c.Texts[i]))
		}
	}
	if len(found) > 0 {
		return failedOutcome("The answer must not contain " + strings.Join(found, ", ") + ".")
	}
	return passedOutcome()
}

// matches asks for an expression of RE2, in the text as it is.
type matches struct {
	Pattern string `json:"pattern"`

	pattern *regexp.Regexp
}

// compileCheck compiles the expression. RE2 takes linear time on any answer.
func (c *matches) compileCheck() (Check, error) {
	if c.Pattern == "" || len([]rune(c.Pattern)) > maxLiteral {
		return nil, &ArgsError{"/pattern", "must have 1 to 1,000 characters"}
	}
	var err error
	if c.pattern, err = regexp.Compile(c.Pattern); err != nil {
		return nil, &ArgsError{"/pattern", "is not an expression of RE2"}
	}
	return c, nil
}

// Run requires that the expression matches somewhere.
func (c *matches) Run(in *Input) Outcome {
	if !c.pattern.MatchReader(&watchedText{text: in.Text, watch: in.Watch}) {
		return failedOutcome("The answer must match " + strconv.Quote(c.Pattern) + ".")
	}
	return passedOutcome()
}

// watchedText ends when the checks should: an expression takes linear time, but up to
// microseconds for each character.
type watchedText struct {
	text  string
	watch *markdown.Watch
}

// ReadRune implements io.RuneReader.
func (t *watchedText) ReadRune() (rune, int, error) {
	if t.text == "" || t.watch.IsOver() {
		return 0, 0, io.EOF
	}
	r, n := utf8.DecodeRuneInString(t.text)
	t.text = t.text[n:]
	return r, n, nil
}

// foldTexts folds texts. at is where they stand, for an error.
//
// The result is in the order of texts. The error is an *ArgsError with the place of the
// first that is wrong.
func foldTexts(at jsontext.Pointer, texts []string) ([]string, error) {
	if len(texts) > maxTexts {
		return nil, &ArgsError{at, "must have at most 100 texts"}
	}
	var all []string
	for i, text := range texts {
		if f := casefold.Fold(text); f != "" && len(text) <= maxLiteral {
			all = append(all, f)
			continue
		}
		return nil, &ArgsError{at.AppendToken(strconv.Itoa(i)), "must be a text of 1 to 1,000 bytes"}
	}
	return all, nil
}

// quoteList lists texts for feedback.
func quoteList(texts []string) string {
	var list []string
	for _, text := range texts {
		list = append(list, strconv.Quote(text))
	}
	return strings.Join(list, ", ")
}

// foldedText is the answer in the form in which texts are compared, made once.
func (in *Input) foldedText() string {
	f := in.sharedFindings()
	if f.folded == nil {
		text := casefold.Fold(in.Text)
		f.folded = &text
	}
	return *f.folded
}
