package quality

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/markdown"
	"sluice/internal/quality/check"
)

// criterion is one of a scorecard.
type criterion struct {
	Criterion
	planned bool
}

// expectedAnswer describes a good answer: in the words of the file or the planner, else of the check.
func (c *criterion) expectedAnswer() string { return cmp.Or(c.Expected, check.Expected(c.Name)) }

// standards are the built-in criteria and the parser of Markdown. Both are made once and shared by
// all turns, which only read them.
type standards struct {
	notEmpty, complete, plainText, onePart, dataUsed Criterion

	markdown *markdown.Parser
}

// isStandard reports whether a criterion of our own has that id.
func isStandard(id string) bool {
	switch id {
	case "not_empty", "complete", "plain_text", "max_length", "data_used":
		return true
	}
	return false
}

// newStandards compiles them.
func newStandards() *standards {
	return &standards{
		notEmpty:  newStandard("not_empty", "The answer holds text.", "A character that can be seen.", ""),
		complete:  newStandard("complete", "The answer was not cut short.", "The model ended by itself.", ""),
		plainText: newStandard("plain_text", "No Markdown is left in the text.", "Text without marks of Markdown.", ""),
		onePart:   newStandard("max_length", "The answer fits into one message.", "One message.", `{"parts":1}`),
		dataUsed:  newStandard("data_used", "A tool was asked, as the plan has it.", "A tool call that completed.", ""),
		markdown:  markdown.NewParser(),
	}
}

// newStandard returns a built-in criterion.
func newStandard(id, description, expected, args string) Criterion {
	var raw jsontext.Value
	if args != "" {
		raw = jsontext.Value(args)
	}
	compiled, err := check.Compile(id, raw)
	if err != nil { // they are constants
		panic(err)
	}
	return Criterion{ID: id, Description: description, Expected: expected, Check: compiled, Name: id, Must: true}
}

// verdict is the result for one criterion in one attempt.
type verdict struct {
	given         bool
	passed        bool
	notApplicable bool
	feedback      string // of the check or the judge; it may quote the answer
}

// hasFailed reports whether the verdict is given and negative. A criterion without a verdict is
// open.
func (v verdict) hasFailed() bool { return v.given && !v.passed }
