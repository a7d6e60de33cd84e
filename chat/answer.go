package chat

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of an Answer.
const (
	maxAnswerMessage = 2000 // code points
	maxAnswerCalls   = 1024
	maxAnswerID      = 128
)

// Answer is what a person says to a question, as it came.
type Answer struct {
	// Token is what the question came with; of an answer to a task it is empty.
	Token string
	// UserID is who answers a task, by the client's own word; elsewhere the request has it.
	UserID string
	// ApprovalID names the question of a task; empty: the only one.
	ApprovalID string
	// Action is for all calls; empty: Calls says it of each.
	Action    Action
	Arguments jsontext.Value // nil: none
	Message   string
	Calls     []CallAnswer
	// Of questions that ask for more than yes or no: what a person fills in, what is to
	// change in the state, and what a call has come to.
	Input, StateUpdates jsontext.Value // nil: none
	Result              string
	// At is the pointer of the answer in its body, before those of its members.
	At string
}

// CallAnswer is what is said of one call.
type CallAnswer struct {
	CallID string
	// Tool is which tool is meant, if the answer repeats that; empty: the one that waits.
	Tool      string
	Action    Action
	Arguments jsontext.Value // nil: none
	Message   string
	Result    string
}

// ReadAnswer reads the members of an answer to a task, which the body is.
func ReadAnswer(body []byte) (Answer, error) {
	e := new(ValidationError)
	if !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		e.add("", CodeInvalidJSON, "the body is not one JSON value")
		return Answer{}, e
	}
	if jsontext.Value(body).Kind() != '{' {
		e.add("", CodeWrongType, "the body must be a JSON object")
		return Answer{}, e
	}
	if wrong := CheckJSON(body); wrong != nil {
		e.add("", wrong.Code, wrong.Message)
		return Answer{}, e
	}
	a := readAnswer(body, "", e)
	if len(e.Fields) > 0 {
		return Answer{}, e
	}
	return a, nil
}

// readAnswer reads an object that CheckJSON has seen. Members that are not known are
// ignored.
func readAnswer(object jsontext.Value, at string, e *ValidationError) Answer {
	a := Answer{At: at}
	given := map[string]bool{}
	for name, value := range members(object) {
		given[name] = value.Kind() != 'n'
		where := at + pointerTo(name)
		switch {
		case value.Kind() == 'n':
		case name == "token":
			a.Token = answerText(value, where, e)
		case name == "user_id" && at == "":
			user, wrong := CheckUserID(answerText(value, where, e))
			a.UserID = user
			e.Add(where, wrong)
		case name == "approval_id":
			a.ApprovalID = answerText(value, where, e)
		case name == "action":
			a.Action = answerAction(value, where, e)
		case name == "arguments":
			a.Arguments = answerArguments(value, where, e)
		case name == "message":
			a.Message = answerMessage(value, where, e)
		case name == "calls":
			a.Calls = answerCalls(value, where, e)
		case name == "input":
			a.Input = value
		case name == "state_updates":
			a.StateUpdates = answerArguments(value, where, e)
		case name == "result":
			a.Result = answerText(value, where, e)
		}
	}
	switch {
	case given["action"] && given["calls"]:
		e.addOne(at+"/calls", CodeNotAllowed, "must not stand beside action")
	case !given["action"] && !given["calls"]:
		e.addOne(at+"/action", CodeRequired, "is required, or calls")
	case given["arguments"] && a.Action != Modify:
		e.addOne(at+"/arguments", CodeNotAllowed, "is for the action modify")
	}
	return a
}

// members yields the members of an object that is well formed.
func members(object jsontext.Value) func(yield func(string, jsontext.Value) bool) {
	return func(yield func(string, jsontext.Value) bool) {
		dec := jsontext.NewDecoder(bytes.NewReader(object))
		_, _ = dec.ReadToken()
		for dec.PeekKind() == '"' {
			key, _ := dec.ReadValue()
			name, _ := unquote(key)
			value, err := dec.ReadValue()
			if err != nil || !yield(name, value.Clone()) {
				return
			}
		}
	}
}

func answerText(v jsontext.Value, at string, e *ValidationError) string {
	if v.Kind() != '"' {
		e.addOne(at, CodeWrongType, "must be a string")
		return ""
	}
	text, _ := unquote(v)
	if text == "" {
		e.addOne(at, CodeBlank, "must not be empty")
	}
	return text
}

func answerAction(v jsontext.Value, at string, e *ValidationError) Action {
	text := answerText(v, at, e)
	switch a := Action(text); a {
	case Approve, Reject, Modify:
		return a
	}
	e.addOne(at, CodeUnknownValue, "must be approve, reject or modify")
	return ""
}

func answerArguments(v jsontext.Value, at string, e *ValidationError) jsontext.Value {
	if v.Kind() != '{' {
		e.addOne(at, CodeWrongType, "must be an object")
		return nil
	}
	return v
}

func answerMessage(v jsontext.Value, at string, e *ValidationError) string {
	if v.Kind() != '"' {
		e.addOne(at, CodeWrongType, "must be a string")
		return ""
	}
	text, _ := unquote(v)
	if text = stripControl(text); utf8.RuneCountInString(text) > maxAnswerMessage {
		e.addOne(at, CodeTooLong, "must have at most 2000 characters")
	}
	return text
}

func answerCalls(v jsontext.Value, at string, e *ValidationError) (calls []CallAnswer) {
	if v.Kind() != '[' {
		e.addOne(at, CodeWrongType, "must be an array")
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	_, _ = dec.ReadToken()
	for n := 0; dec.PeekKind() != ']'; n++ {
		item, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		if n == maxAnswerCalls {
			e.add(at, CodeTooLong, fmt.Sprintf("must have at most %d entries", maxAnswerCalls))
			return nil
		}
		calls = append(calls, answerCall(item.Clone(), at+"/"+strconv.Itoa(n), e))
	}
	if len(calls) == 0 {
		e.addOne(at, CodeRequired, "must say something of each call")
	}
	return calls
}

func answerCall(v jsontext.Value, at string, e *ValidationError) (c CallAnswer) {
	if v.Kind() != '{' {
		e.addOne(at, CodeWrongType, "must be an object")
		return c
	}
	given := map[string]bool{}
	for name, value := range members(v) {
		where := at + pointerTo(name)
		if given[name] = value.Kind() != 'n'; !given[name] {
			continue
		}
		switch name {
		case "call_id":
			if c.CallID = answerText(value, where, e); len(c.CallID) > maxAnswerID {
				e.addOne(where, CodeTooLong, "is no id of a call")
			}
		case "tool_name":
			c.Tool = answerText(value, where, e)
		case "action":
			c.Action = answerAction(value, where, e)
		case "arguments":
			c.Arguments = answerArguments(value, where, e)
		case "message":
			c.Message = answerMessage(value, where, e)
		case "result":
			c.Result = answerText(value, where, e)
		}
	}
	for _, name := range [...]string{"call_id", "action"} {
		if !given[name] {
			e.addOne(at+"/"+name, CodeRequired, "is required")
		}
	}
	switch {
	case c.Action == Modify && !given["arguments"] && !given["result"]:
		e.addOne(at+"/arguments", CodeRequired, "is required to modify a call")
	case given["action"] && c.Action != Modify && given["arguments"]:
		e.addOne(at+"/arguments", CodeNotAllowed, "is for the action modify")
	}
	return c
}
