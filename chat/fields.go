package chat

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// fields is the one table of what is Asked. A new field is one entry:
// body, query, the bound on faults and the test of the OpenAPI document go by it.
// Faults are listed in this order.
var fields = [...]field{
	{name: "input", required: true, query: true, text: func(r *Asked, s string) (wrong *FieldError) {
		r.Input, wrong = CheckInput(s)
		return wrong
	}},
	{name: "conversation_id", query: true, text: func(r *Asked, s string) (wrong *FieldError) {
		r.ConversationID, wrong = CheckConversationID(s)
		return wrong
	}},
	{name: "user_id", query: true, text: func(r *Asked, s string) (wrong *FieldError) {
		r.UserID, wrong = CheckUserID(s)
		return wrong
	}},
	{name: "timezone", query: true, text: func(r *Asked, s string) (wrong *FieldError) {
		r.Location, wrong = CheckTimezone(s)
		return wrong
	}},
	{name: "accumulated", query: true, flag: func(r *Asked, b bool) { r.Accumulated = b }},
	{name: "history", list: (*Asked).readHistory},
}

// field is one entry of the table. Exactly one of text, flag and list is set.
type field struct {
	name     string
	required bool // and then null is a fault, not absence
	query    bool // it may also stand in the query of a GET

	text func(*Asked, string) *FieldError
	flag func(*Asked, bool)
	// list reads a JSON array and adds its faults by itself.
	list func(*Asked, jsontext.Value, *ValidationError)
}

// FieldNames returns the names of a request's fields: all of them, which a body may
// have, or those that the query of a GET may have.
func FieldNames(query bool) (names []string) {
	for _, f := range fields {
		if f.query || !query {
			names = append(names, f.name)
		}
	}
	return names
}

// fieldOf returns the number of a field, or -1.
func fieldOf(name string) int {
	return slices.IndexFunc(fields[:], func(f field) bool { return f.name == name })
}

// raw is the value of a field as it came, of the right type.
type raw struct {
	given bool
	text  string
	flag  bool
	list  jsontext.Value
}

// raws are the values of all fields.
type raws [len(fields)]raw

// build checks and cleans the values, on top of the faults already found in e.
func (v *raws) build(e *ValidationError) (Asked, error) {
	r := Asked{Accumulated: true}
	for i, f := range fields {
		switch {
		case !v[i].given:
			if f.required {
				e.add("/"+f.name, CodeRequired, "is required")
			}
		case f.text != nil:
			e.own("/"+f.name, f.text(&r, v[i].text))
		case f.flag != nil:
			f.flag(&r, v[i].flag)
		default:
			f.list(&r, v[i].list, e)
		}
	}
	if len(e.Fields) > 0 {
		return Asked{}, e
	}
	return r, nil
}

// readHistory reads an array of {"role","content"}, whose faults have pointers of
// their own.
func (r *Asked) readHistory(list jsontext.Value, e *ValidationError) {
	said, before := []Said(nil), len(e.Fields)
	err := elements(list, func(i int, v jsontext.Value) bool {
		if i == maxHistoryMessages {
			e.add("/history", CodeTooLong, fmt.Sprintf("must have at most %d messages", maxHistoryMessages))
			return false
		}
		said = append(said, readSaid(v, i, e))
		return true
	})
	if err != nil { // it was read before, so only a bug comes here
		e.add("/history", CodeInvalidJSON, "cannot be read")
	}
	if len(e.Fields) == before {
		r.History, r.Pruning = PruneHistory(said)
	}
}

// readSaid reads one message of a history. Members that are not known are ignored.
func readSaid(v jsontext.Value, i int, e *ValidationError) (said Said) {
	at := "/history/" + strconv.Itoa(i)
	if v.Kind() != '{' {
		e.addOne(at, CodeWrongType, "must be an object with role and content")
		return said
	}
	var role, content bool
	err := members(v, func(name string, value jsontext.Value) {
		switch name {
		case "role":
			role = true
			said.Role = readRole(value, at+"/role", e)
		case "content":
			content = true
			if value.Kind() != '"' {
				e.addOne(at+"/content", CodeWrongType, "must be a string")
				return
			}
			said.Text, _ = unquote(value)
		}
	})
	switch {
	case err != nil:
		e.addOne(at, CodeInvalidJSON, "cannot be read")
	case !role:
		e.addOne(at+"/role", CodeRequired, "is required")
	case !content:
		e.addOne(at+"/content", CodeRequired, "is required")
	}
	return said
}

func readRole(v jsontext.Value, at string, e *ValidationError) Role {
	if v.Kind() != '"' {
		e.addOne(at, CodeWrongType, "must be a string")
		return ""
	}
	switch name, _ := unquote(v); name {
	case "user":
		return RoleUser
	case "assistant":
		return RoleModel
	}
	e.addOne(at, CodeUnsupported, "must be user or assistant")
	return ""
}
