package chat

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// fields is the one table of what is Asked. A new field is one entry:
// body, query, the bound on faults and the test of the OpenAPI document go by it.
// Faults are listed in this order.
var fields = [...]field{
	{name: "input", required: true, query: true, text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.Input, wrong = CheckInput(s)
		return r, wrong
	}},
	{name: "conversation_id", query: true, text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.ConversationID, wrong = CheckConversationID(s)
		return r, wrong
	}},
	{name: "user_id", query: true, text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.UserID, wrong = CheckUserID(s)
		return r, wrong
	}},
	{name: "timezone", query: true, text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.Location, wrong = CheckTimezone(s)
		return r, wrong
	}},
	{name: "accumulated", query: true, flag: func(r Asked, b bool) Asked {
		r.Accumulated = b
		return r
	}},
	{name: "agent", query: true, text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.Agent, wrong = CheckAgent(s)
		return r, wrong
	}},
	{name: "workflow", text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.Workflow, wrong = CheckWorkflow(s)
		return r, wrong
	}},
	{name: "kind", text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.Kind, wrong = CheckKind(s)
		return r, wrong
	}},
	{name: "retention_days", number: func(r Asked, n float64) (_ Asked, wrong *FieldError) {
		r.RetentionDays, wrong = CheckRetentionDays(n)
		return r, wrong
	}},
	{name: "task_id", query: true, text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.TaskID, wrong = CheckTaskID(s)
		return r, wrong
	}},
	{name: "on_disconnect", query: true, text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.OnDisconnect, wrong = CheckOnDisconnect(s)
		return r, wrong
	}},
	{name: "context", object: func(r Asked, members jsontext.Value, e *ValidationError) Asked {
		r.Context = readContext(members, e)
		return r
	}},
	{name: "channel", query: true, text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.Channel, wrong = CheckChannel(s)
		return r, wrong
	}},
	{name: "drafts", query: true, flag: func(r Asked, b bool) Asked {
		if r.Drafts = No; b {
			r.Drafts = Yes
		}
		return r
	}},
	{name: "user_name", query: true, text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.UserName, wrong = CheckUserName(s)
		return r, wrong
	}},
	{name: "locale", query: true, text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.Locale, wrong = CheckLocale(s)
		return r, wrong
	}},
	{name: "subject", query: true, text: func(r Asked, s string) (_ Asked, wrong *FieldError) {
		r.Subject, wrong = CheckSubject(s)
		return r, wrong
	}},
	{name: "deliver", query: true, flag: func(r Asked, b bool) Asked {
		r.Deliver = b
		return r
	}},
	{name: approvalField, object: func(r Asked, object jsontext.Value, e *ValidationError) Asked {
		a := readAnswer(object, "/approval", e)
		if a.Token == "" {
			e.addOne("/approval/token", CodeRequired, "is required")
		}
		r.Approval = &a
		return r
	}},
	{name: "history", list: readHistory, said: func(r Asked, said []Said) Asked {
		r.History, r.Pruning = PruneHistory(said)
		return r
	}},
}

// approvalField answers a question; a request with it has no input.
const approvalField = "approval"

// field is one entry of the table. Exactly one of text, number, flag, object and list is
// set; beside list also said.
type field struct {
	name     string
	required bool // and then null is a fault, not absence
	query    bool // it may also stand in the query of a GET

	// The functions return what is Asked with the field set. By value, because a pointer
	// that goes through the table would move each of them to the heap.
	text   func(Asked, string) (Asked, *FieldError)
	number func(Asked, float64) (Asked, *FieldError)
	flag   func(Asked, bool) Asked
	// object takes a JSON object and adds its faults by itself.
	object func(Asked, jsontext.Value, *ValidationError) Asked
	// list reads an array, in front of which the decoder is, and adds its faults by
	// itself. Its error is that of broken JSON.
	list func(*jsontext.Decoder, *ValidationError) ([]Said, error)
	said func(Asked, []Said) Asked // takes what list has read
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

// raws are the values of the fields as they came, of the right type.
type raws struct {
	of   [len(fields)]raw
	said []Said // of the one field that is a list; nil: not given, or empty
}

// raw is the value of one field as it was read, before its rule was asked.
type raw struct {
	given, flag bool
	text        string
}

// build checks and cleans the values, on top of the faults already found in e.
func (v *raws) build(e *ValidationError) (Asked, error) {
	r := Asked{Accumulated: true}
	var wrong *FieldError
	answers := v.of[fieldOf(approvalField)].given
	for i, f := range fields {
		switch {
		case f.list != nil:
			if len(e.Fields) == 0 { // else the work would be for nothing
				r = f.said(r, v.said)
			}
		case f.required && answers:
			if v.of[i].given {
				e.add("/"+f.name, CodeNotAllowed, "must not stand beside an approval")
			}
		case !v.of[i].given:
			if f.required {
				e.add("/"+f.name, CodeRequired, "is required")
			}
		case f.object != nil:
			r = f.object(r, jsontext.Value(v.of[i].text), e)
		case f.text != nil:
			if r, wrong = f.text(r, v.of[i].text); wrong != nil {
				e.add("/"+f.name, wrong.Code, wrong.Message)
			}
		case f.number != nil:
			n, _ := strconv.ParseFloat(v.of[i].text, 64) // it is a JSON number
			if r, wrong = f.number(r, n); wrong != nil {
				e.add("/"+f.name, wrong.Code, wrong.Message)
			}
		default:
			r = f.flag(r, v.of[i].flag)
		}
	}
	if len(e.Fields) > 0 {
		return Asked{}, e
	}
	return r, nil
}
