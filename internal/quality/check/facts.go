// This file checks that an answer reports certain values of results, each named by a tool and a
// JSON pointer. A value may be reported in any form that means the same: 1200 as 1,200, a date
// by its day, a text in other case.

package check

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/quality/casefold"
	"sluice/internal/quality/numbers"
)

// requiredFacts asks that values of results are reported.
type requiredFacts struct {
	Facts []struct {
		Tool    string           `json:"tool"`
		Pointer jsontext.Pointer `json:"pointer"`
	} `json:"facts"`
}

// compileCheck checks the arguments. It returns an *ArgsError.
func (c *requiredFacts) compileCheck() (Check, error) {
	if n := len(c.Facts); n == 0 || n > maxTexts {
		return nil, &ArgsError{"/facts", "must have 1 to 100 facts"}
	}
	for i, f := range c.Facts {
		at := jsontext.Pointer("/facts").AppendToken(strconv.Itoa(i))
		if f.Tool == "" {
			return nil, &ArgsError{at.AppendToken("tool"), "must name a tool"}
		}
		if !f.Pointer.IsValid() {
			return nil, &ArgsError{at.AppendToken("pointer"), "must be a JSON pointer, as /a/0"}
		}
	}
	return c, nil
}

// Run requires each fact that a tool has reported in the answer, in any form. A fact whose tool
// was not called is not asked for.
func (c *requiredFacts) Run(in *Input) Outcome {
	var missing []string
	sent := 0
	for _, f := range c.Facts {
		value, ok := latestFact(in.Evidence, f.Tool, f.Pointer)
		if !ok {
			continue
		}
		sent++
		if !in.containsFact(value) {
			missing = append(missing, string(f.Pointer)+" of "+f.Tool+", which is "+string(value))
		}
	}
	switch {
	case sent == 0:
		return notApplicable("No tool has answered with these facts.")
	case len(missing) > 0:
		return failedOutcome("The answer must tell " + strings.Join(missing, "; ") + ".")
	}
	return passedOutcome()
}

// latestFact returns a text or number of the last result of a tool.
//
// It returns false if the tool was not called or did not complete, or if the place lacks a text or
// number.
func latestFact(calls []Evidence, tool string, at jsontext.Pointer) (jsontext.Value, bool) {
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].Tool == tool && calls[i].Completed {
			return valueAt(calls[i].Result, at, 0)
		}
	}
	return nil, false
}

// maxWithin is how often JSON may stand in a string of JSON.
const maxWithin = 3

// lenientOptions reads JSON as tools write it: names twice, and half characters. Without it no fact of
// such a document could be asked for.
func lenientOptions() jsontext.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// valueAt returns the text or number at a pointer. If a string holds JSON, the pointer continues in
// that JSON.
//
// at is resolved step by step, so that a string with JSON in the middle of the way can be
// gone into.
func valueAt(text string, at jsontext.Pointer, within int) (jsontext.Value, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader([]byte(text)), lenientOptions())
	value, err := dec.ReadValue()
	if err != nil || within > maxWithin {
		return nil, false
	}
	for token := range at.Tokens() {
		if value.Kind() == '"' {
			break
		}
		var ok bool
		if value, ok = memberOf(value, token); !ok {
			return nil, false
		}
		_, rest, _ := strings.Cut(string(at[1:]), "/")
		if at = ""; rest != "" {
			at = jsontext.Pointer("/" + rest)
		}
	}
	switch value.Kind() {
	case '"':
		if at == "" {
			return value.Clone(), true
		}
		plain, _ := jsontext.AppendUnquote(nil, value) // it is valid
		return valueAt(string(plain), at, within+1)
	case '0':
		return value.Clone(), true
	}
	return nil, false
}

// memberOf returns one of an object, or an item of an array.
func memberOf(value jsontext.Value, name string) (jsontext.Value, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(value), lenientOptions())
	open, err := dec.ReadToken()
	if err != nil || open.Kind() != '{' && open.Kind() != '[' {
		return nil, false
	}
	for i := 0; ; i++ {
		key := strconv.Itoa(i)
		if kind := dec.PeekKind(); kind == '}' || kind == ']' {
			return nil, false
		}
		if open.Kind() == '{' {
			token, err := dec.ReadToken()
			if err != nil {
				return nil, false
			}
			key = token.String()
		}
		v, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		if key == name {
			return v.Clone(), true
		}
	}
}

// containsFact reports whether the text has a value: a number in any form, a text whatever its
// case, a date also by its day.
//
// A number matches any number of the answer; where it stands there is not looked at.
func (in *Input) containsFact(value jsontext.Value) bool {
	fact := numbers.Set{}
	if value.Kind() == '0' {
		return fact.AddAll(value) && fact.In(in.Text)
	}
	plain, _ := jsontext.AppendUnquote(nil, value) // it is valid
	text := strings.TrimSpace(string(plain))
	return strings.Contains(in.foldedText(), casefold.Fold(text)) || fact.AddWhole(text) && fact.In(in.Text)
}
