// Package check decides by code what an answer is checked for.
package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Evidence is a call of a tool, which backs what an answer says.
type Evidence struct {
	Tool      string
	Arguments string // JSON
	Result    string // JSON or text; empty: there was none
	Completed bool
}

// Input is an answer and what it is judged by.
type Input struct {
	Text     string // as it is sent, without indicators; of a card or an e-mail the plain form
	Source   string // the Markdown of which Text was made; empty: it is Text
	Question string
	Locale   string    // BCP 47; may be empty
	Now      time.Time // in the time zone of the reader
	Evidence []Evidence
	Finish   string // the finish reason of the inner turn
	Parts    int    // messages that are sent; 1 if Text is not split
	Segments int    // of all parts of an SMS; 0 elsewhere
}

// Outcome is what a Check found.
type Outcome struct {
	Passed        bool
	NotApplicable bool
	Feedback      string
}

// Check judges answers by one rule.
type Check interface {
	Run(in *Input) Outcome
}

// ArgsError says what is wrong with the arguments of a check.
type ArgsError struct {
	Pointer jsontext.Pointer
	Text    string
}

func (e *ArgsError) Error() string { return e.Text }

// ErrUnknown is the error of Compile about a name that no check has.
var ErrUnknown = errors.New("there is no such check")

type stub struct {
	Name string
	Args jsontext.Value
}

// Compile makes a check of its name and arguments.
func Compile(name string, arguments jsontext.Value) (Check, error) {
	return stub{name, arguments}, nil
}

var numbers = regexp.MustCompile(`\d+(?:\.\d+)?`)

// Run implements Check.
func (spec stub) Run(in *Input) Outcome {
	switch spec.Name {
	case "numbers_backed":
		if len(in.Evidence) == 0 {
			return Outcome{Passed: true, NotApplicable: true}
		}
		known := map[string]bool{}
		for _, e := range in.Evidence {
			for _, n := range numbers.FindAllString(e.Result+" "+e.Arguments, -1) {
				known[n] = true
			}
			var v any
			_ = json.Unmarshal([]byte(e.Result), &v)
			lengths(v, known)
		}
		for _, n := range numbers.FindAllString(in.Question+in.Now.Format(" 2006 1 2 01 02"), -1) {
			known[n] = true
		}
		for _, n := range numbers.FindAllString(in.Source, -1) {
			if !known[n] {
				return Outcome{Feedback: "The number " + n + " is in no result."}
			}
		}
	case "max_length":
		var a struct{ Parts int }
		_ = json.Unmarshal(spec.Args, &a)
		if a.Parts > 0 && in.Parts > a.Parts {
			return Outcome{Feedback: fmt.Sprintf("%d parts", in.Parts)}
		}
	case "contains":
		var a struct{ All []string }
		_ = json.Unmarshal(spec.Args, &a)
		for _, s := range a.All {
			if !strings.Contains(in.Text, s) {
				return Outcome{Feedback: "It lacks " + s}
			}
		}
	case "not_empty":
		if strings.TrimSpace(in.Text) == "" {
			return Outcome{Feedback: "It is empty."}
		}
	case "complete":
		if in.Finish != "stop" {
			return Outcome{Feedback: "It is cut."}
		}
	case "data_used":
		return Outcome{Passed: len(in.Evidence) > 0, Feedback: "No tool was asked."}
	}
	return Outcome{Passed: true}
}

func lengths(v any, known map[string]bool) {
	switch v := v.(type) {
	case []any:
		known[strconv.Itoa(len(v))] = true
		for _, e := range v {
			lengths(e, known)
		}
	case map[string]any:
		for _, e := range v {
			lengths(e, known)
		}
	}
}
