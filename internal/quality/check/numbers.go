package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/quality/numbers"
)

// numbersBacked asks that every number is in the evidence, or follows from it.
//
// Without derived only numbers that stand in the evidence count, unrounded.
type numbersBacked struct {
	Derived *bool            `json:"derived"` // nil: true
	Allow   []jsontext.Value `json:"allow"`   // numbers, or texts with them

	derived bool
	allowed numbers.Set
}

// compileCheck reads which numbers are allowed in any case.
func (c *numbersBacked) compileCheck() (Check, error) {
	c.derived = c.Derived == nil || *c.Derived
	c.allowed = numbers.Set{}
	if len(c.Allow) > maxTexts {
		return nil, &ArgsError{"/allow", "must have at most 100 numbers"}
	}
	for i, v := range c.Allow {
		if !c.allowed.AddAll(v) {
			return nil, &ArgsError{jsontext.Pointer("/allow").AppendToken(strconv.Itoa(i)), "must be a number, or a text with one"}
		}
	}
	return c, nil
}

// Run requires that each number of the answer is one that a tool or the user said, or follows from
// such numbers. Without results of tools it is not applicable.
func (c *numbersBacked) Run(in *Input) Outcome {
	if !slices.ContainsFunc(in.Evidence, func(call Evidence) bool { return call.Result != "" }) {
		return notApplicable("No tool has answered.")
	}
	unbacked := in.sharedEvidence().Unbacked(&numbers.Answer{Text: in.answerProse().text, Lists: in.answerProse().lists, Derived: c.derived, Allowed: c.allowed})
	if len(unbacked) == 0 {
		return passedOutcome()
	}
	return failedOutcome("These numbers are in no result of a tool and do not follow from one: " + strings.Join(unbacked, ", ") + ".")
}
