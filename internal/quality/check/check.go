// Package check judges answers by code, without a model. A Check is made once of its name and
// arguments and is run on many answers, also at the same time. It takes time in proportion to the
// answer and its evidence. It uses neither clock, network nor randomness: the same Input has the
// same Outcome.
package check

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/markdown"
	"sluice/internal/quality/numbers"
)

// Evidence is a call of a tool, which backs an answer.
type Evidence = numbers.Call

// Input is an answer and the data to judge it by. It is filled in once and then read by one
// goroutine: the checks of one answer share their findings.
//
// seen is made when the first check asks; a copy of an Input shares it.
type Input struct {
	Text   string // as it is sent, without indicators; of a card or an e-mail the plain form
	Source string // the Markdown of which Text was made; empty: it is Text
	// Markdown is Source, shared with others that read it; nil: not shared.
	Markdown *markdown.Source
	// Watch ends the checks early, whose outcomes are then worth nothing; nil: they run to
	// their end.
	Watch    *markdown.Watch
	Question string
	Locale   string    // BCP 47; may be empty
	Now      time.Time // in the time zone of the reader
	Evidence []Evidence
	Finish   string // the finish reason of the inner turn
	Parts    int    // messages that are sent; 1 if Text is not split
	Segments int    // of all parts of an SMS; 0 elsewhere

	seen *findings
}

// Outcome is the result of a Check.
type Outcome struct {
	Passed bool // also true if NotApplicable
	// NotApplicable is true if the criterion does not concern the answer.
	NotApplicable bool
	// Feedback says to a model what to mend, or why a check is not applicable. It may quote the
	// answer and its evidence. It is not empty if Passed is false.
	Feedback string
}

// Check judges answers by one rule.
//
// A Check does not change after Compile, so that many answers may be judged by it at the
// same time.
type Check interface {
	Run(in *Input) Outcome
}

// ArgsError is a fault in the arguments of a check.
type ArgsError struct {
	Pointer jsontext.Pointer // of the value in the arguments
	Text    string
}

// Error describes the arguments that the check needs, with the place of the fault. It repeats no
// value.
func (e *ArgsError) Error() string {
	if e.Pointer == "" {
		return e.Text
	}
	return string(e.Pointer) + ": " + e.Text
}

// errUnknown is the error of Compile about a name that no check has.
var errUnknown = errors.New("there is no such check")

// args are the arguments of a check, before they are checked.
//
// A value of it is read into by the JSON reader and then compiled once; most of them are
// the check themselves.
type args interface{ compileCheck() (Check, error) }

// checks has the kinds of checks by their names. newArgs makes the arguments of a check, to be read
// into, and expected describes the answers that pass.
var checks = map[string]struct {
	newArgs  func() args
	expected string
}{
	"not_empty":      {func() args { return new(notEmpty) }, "A character that can be seen."},
	"complete":       {func() args { return new(complete) }, "The model ended by itself."},
	"plain_text":     {func() args { return new(plainText) }, "Text without marks of Markdown."},
	"max_length":     {func() args { return new(maxLength) }, "A text within the limits of the check."},
	"contains":       {func() args { return new(contains) }, "The texts of the check, all or one of them."},
	"excludes":       {func() args { return new(excludes) }, "An answer without the texts of the check."},
	"matches":        {func() args { return new(matches) }, "A part that the expression of the check matches."},
	"required_facts": {func() args { return new(requiredFacts) }, "The values that the tools have returned for the facts of the check."},
	"numbers_backed": {func() args { return new(numbersBacked) }, "Only numbers that are in the results of tools or the request, or follow from them."},
	"data_used":      {func() args { return new(dataUsed) }, "A tool call that completed."},
	"links_backed":   {func() args { return new(linksBacked) }, "Only links that are in the results of tools or the request, or lead to a host of the check."},
	"script":         {func() args { return new(sameScript) }, "Text in the script of the request."},
	"no_pii":         {func() args { return new(noPII) }, "No personal data and no secret."},
}

// Compile makes a check of its name and arguments. The arguments are a JSON object, or nil. The
// error is errUnknown or an *ArgsError.
func Compile(name string, arguments jsontext.Value) (Check, error) {
	kind, ok := checks[name]
	if !ok {
		return nil, errUnknown
	}
	a := kind.newArgs()
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, a, json.RejectUnknownMembers(true)); err != nil {
			return nil, argsError(err)
		}
	}
	return a.compileCheck()
}

// argsError words an error of the JSON reader.
func argsError(err error) error {
	semantic, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case !ok:
		return &ArgsError{"", "is not valid JSON"}
	case errors.Is(err, json.ErrUnknownName):
		return &ArgsError{semantic.JSONPointer, "is not known here"}
	}
	return &ArgsError{semantic.JSONPointer, "has the wrong type"}
}

// passedOutcome is the outcome of an answer that keeps to the criterion.
func passedOutcome() Outcome { return Outcome{Passed: true} }

// failedOutcome is the outcome of one that does not. feedback is for a model to act
// on.
func failedOutcome(feedback string) Outcome { return Outcome{Feedback: feedback} }

// notApplicable returns the outcome for an answer that the criterion does not concern. It counts as
// passed.
func notApplicable(why string) Outcome {
	return Outcome{Passed: true, NotApplicable: true, Feedback: why}
}

// findings are the parts of an Input that several checks use.
//
// A field is nil until a check needs it.
type findings struct {
	prose  *prose
	folded *string
	facts  numbers.Evidence // if hasFacts

	hasFacts bool
	lowered  []string // the texts of facts
}

// sharedFindings returns what checks of the same answer share, so that it is parsed
// once. It is not safe for concurrent use: the checks of one answer run one
// after the other.
func (in *Input) sharedFindings() *findings {
	if in.seen == nil {
		in.seen = new(findings)
	}
	return in.seen
}

// sharedEvidence returns the evidence of the answer. All checks share it.
func (in *Input) sharedEvidence() *numbers.Evidence {
	f := in.sharedFindings()
	if !f.hasFacts {
		f.hasFacts, f.facts = true, numbers.EvidenceOf(numbers.Sources{Calls: in.Evidence, Question: in.Question, Now: in.Now, Watch: in.Watch})
	}
	return &f.facts
}

// sourceText returns the Markdown of the answer.
func (in *Input) sourceText() string {
	if in.Source == "" {
		return in.Text
	}
	return in.Source
}

// Expected returns a description of the answers that pass the check of this name. It is empty for an
// unknown name.
func Expected(name string) string { return checks[name].expected }
