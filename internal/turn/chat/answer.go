package chat

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/jsonparts"
)

// Bounds of an Answer.
const (
	maxAnswerMessage = 2000 // code points
	maxAnswerCalls   = 1024
	maxAnswerID      = 128
)

// Answer is a person's answer to a question, as it was sent.
type Answer struct {
	// Token is the token of the question. It is empty for an answer to a task.
	Token string
	// UserID is the user who answers a task, as the client claims. For other answers the request
	// has it.
	UserID string
	// ApprovalID names the question of a task; empty: the only one.
	ApprovalID string
	// Action is for all calls; empty: Calls says it of each.
	Action    Action
	Arguments jsontext.Value // nil: none
	Message   string
	Calls     []CallAnswer
	// Fields for questions that ask for more than yes or no: the values of a person, the changes of
	// the state, and the result of a call.
	Input, StateUpdates jsontext.Value // nil: none
	Result              string
	// At is the pointer of the answer in its body, before those of its members.
	At string
}

// OnlyRejects reports whether a rejects everything that it decides, and changes no state.
func (a *Answer) OnlyRejects() bool {
	if a.Action == "" && len(a.Calls) == 0 || a.Action != "" && a.Action != Reject || a.Input != nil || a.StateUpdates != nil {
		return false
	}
	return !slices.ContainsFunc(a.Calls, func(c CallAnswer) bool { return c.Action != Reject })
}

// CallAnswer is the answer about one call.
type CallAnswer struct {
	CallID string
	// Tool is the tool's name, if the answer repeats it; empty: the tool of the waiting call.
	Tool      string
	Action    Action
	Arguments jsontext.Value // nil: none
	Message   string
	Result    string
}

// ReadAnswer reads a body that is an answer to a task.
func ReadAnswer(body []byte) (Answer, error) {
	e := new(ValidationError)
	if !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		e.addFault("", CodeInvalidJSON, "the body is not one JSON value")
		return Answer{}, e
	}
	if jsontext.Value(body).Kind() != '{' {
		e.addFault("", CodeWrongType, "the body must be a JSON object")
		return Answer{}, e
	}
	if wrong := CheckJSON(body); wrong != nil {
		e.addOwnField("", wrong)
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
	readers := map[string]reader{
		"token": readInto(&a.Token, answerText), "approval_id": readInto(&a.ApprovalID, answerText), "action": readInto(&a.Action, answerAction),
		"arguments": readInto(&a.Arguments, answerArguments), "message": readInto(&a.Message, answerMessage), "calls": readInto(&a.Calls, answerCalls),
		"input": readInto(&a.Input, answerInput), "state_updates": readInto(&a.StateUpdates, answerArguments), "result": readInto(&a.Result, answerText),
	}
	if at == "" {
		readers["user_id"] = readInto(&a.UserID, answerUser)
	}
	given := readMembers(object, at, e, readers)
	a.checkAction(given, at, e)
	return a
}

// checkAction checks which of the members that were given stand next to each other.
func (a *Answer) checkAction(given map[string]bool, at string, e *ValidationError) {
	switch {
	case given["action"] && given["calls"]:
		e.addOne(at+"/calls", CodeNotAllowed, "must not stand beside action")
	case !given["action"] && !given["calls"]:
		e.addOne(at+"/action", CodeRequired, "is required, or calls")
	case given["arguments"] && a.Action != Modify:
		e.addOne(at+"/arguments", CodeNotAllowed, "is for the action modify")
	}
}

// membersOf yields the members of an object that is well formed.
func membersOf(object jsontext.Value) func(yield func(string, jsontext.Value) bool) {
	return func(yield func(string, jsontext.Value) bool) {
		dec := jsontext.NewDecoder(bytes.NewReader(object))
		_, _ = dec.ReadToken()
		for dec.PeekKind() == '"' {
			key, _ := dec.ReadValue()
			name, _ := jsonparts.Unquote(key)
			value, err := dec.ReadValue()
			if err != nil || !yield(name, value.Clone()) {
				return
			}
		}
	}
}

// reader reads the value of a member.
type reader func(v jsontext.Value, at string, e *ValidationError)

// readInto returns a reader that stores a member's value in to.
func readInto[T any](to *T, read func(jsontext.Value, string, *ValidationError) T) reader {
	return func(v jsontext.Value, at string, e *ValidationError) { *to = read(v, at, e) }
}

// readMembers reads the members of an object that have readers, and returns the names of all that
// are not null.
func readMembers(object jsontext.Value, at string, e *ValidationError, readers map[string]reader) (given map[string]bool) {
	given = map[string]bool{}
	for name, value := range membersOf(object) {
		given[name] = value.Kind() != 'n'
		if read := readers[name]; read != nil && given[name] {
			read(value, at+pointerTo(name), e)
		}
	}
	return given
}

func answerInput(v jsontext.Value, _ string, _ *ValidationError) jsontext.Value { return v }

func answerUser(v jsontext.Value, at string, e *ValidationError) string {
	user, wrong := CheckUserID(answerText(v, at, e))
	e.Add(at, wrong)
	return user
}

func answerCallID(v jsontext.Value, at string, e *ValidationError) string {
	id := answerText(v, at, e)
	if len(id) > maxAnswerID {
		e.addOne(at, CodeTooLong, "is no id of a call")
	}
	return id
}

func answerText(v jsontext.Value, at string, e *ValidationError) string {
	if v.Kind() != '"' {
		e.addOne(at, CodeWrongType, "must be a string")
		return ""
	}
	text, _ := jsonparts.Unquote(v)
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
	text, _ := jsonparts.Unquote(v)
	text, wrong := CheckAnswerMessage(text)
	e.Add(at, wrong)
	return text
}

// CheckAnswerMessage returns the message of an answer, without control characters.
func CheckAnswerMessage(text string) (string, *FieldError) {
	if text = stripControl(text); utf8.RuneCountInString(text) > maxAnswerMessage {
		return text, &FieldError{Code: CodeTooLong, Message: "must have at most 2000 characters"}
	}
	return text, nil
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
			e.addFault(at, CodeTooLong, fmt.Sprintf("must have at most %d entries", maxAnswerCalls))
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
	given := readMembers(v, at, e, map[string]reader{
		"call_id": readInto(&c.CallID, answerCallID), "tool_name": readInto(&c.Tool, answerText), "action": readInto(&c.Action, answerAction),
		"arguments": readInto(&c.Arguments, answerArguments), "message": readInto(&c.Message, answerMessage), "result": readInto(&c.Result, answerText),
	})
	for _, name := range [...]string{"call_id", "action"} {
		if !given[name] {
			e.addOne(at+"/"+name, CodeRequired, "is required")
		}
	}
	c.checkArguments(given, at, e)
	return c
}

// checkArguments accepts arguments, or a result in place of them, only for the action modify.
func (c *CallAnswer) checkArguments(given map[string]bool, at string, e *ValidationError) {
	switch {
	case c.Action == Modify && !given["arguments"] && !given["result"]:
		e.addOne(at+"/arguments", CodeRequired, "is required to modify a call")
	case given["action"] && c.Action != Modify && given["arguments"]:
		e.addOne(at+"/arguments", CodeNotAllowed, "is for the action modify")
	}
}
