// This file checks an answer for personal data and keys, with the same finder that keeps them out
// of logs (package redact). Allowed texts are compared without spaces, hyphens, brackets and case.

package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/redact"
	"sluice/internal/quality/casefold"
)

// noPII asks that the log would hide nothing of the answer.
type noPII struct {
	Kinds []string `json:"kinds"` // empty: all
	Allow []string `json:"allow"` // texts that are allowed all the same

	kinds   redact.Kinds
	allowed map[string]bool
}

// compileCheck checks the kinds; none given means all.
func (c *noPII) compileCheck() (Check, error) {
	c.kinds = redact.AllKinds
	for i, name := range c.Kinds {
		if !slices.Contains(redact.KindNames(), name) {
			return nil, &ArgsError{jsontext.Pointer("/kinds").AppendToken(strconv.Itoa(i)), "must be one of " + strings.Join(redact.KindNames(), ", ")}
		}
	}
	if len(c.Kinds) > 0 {
		c.kinds = redact.KindsOf(c.Kinds...)
	}
	c.allowed = map[string]bool{}
	for i, text := range c.Allow {
		if text == "" || len(c.Allow) > maxTexts {
			return nil, &ArgsError{jsontext.Pointer("/allow").AppendToken(strconv.Itoa(i)), "must be a text, and one of at most 100"}
		}
		c.allowed[bareForm(text)] = true
	}
	return c, nil
}

// Run requires an answer without personal data, except for allowed texts. Feedback names only the
// kinds of the data.
func (c *noPII) Run(in *Input) Outcome {
	var marks []string
	c.kinds.Each(in.Text, func(thing, mark string) {
		if !c.allowed[bareForm(thing)] && !slices.Contains(marks, mark) {
			marks = append(marks, mark)
		}
	})
	if len(marks) > 0 {
		return failedOutcome("The answer must not have personal data or keys, and has " + strings.Join(marks, ", ") + ".")
	}
	return passedOutcome()
}

// bareForm returns the common form of two ways to write an address or a number.
func bareForm(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \u00a0-()", r) {
			return -1
		}
		return r
	}, casefold.Fold(s))
}
