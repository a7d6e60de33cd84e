package chat

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// fields is the one table of the fields of a ParsedRequest. A new field is one entry: body, query,
// the bound on faults and the test of the OpenAPI document go by it. Faults are listed in this
// order.
var fields = [...]field{
	{name: "input", required: true, query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.Input, wrong = CheckInput(s)
		return wrong
	}},
	{name: "conversation_id", query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.ConversationID, wrong = CheckConversationID(s)
		return wrong
	}},
	{name: "user_id", query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.UserID, wrong = CheckUserID(s)
		return wrong
	}},
	{name: "timezone", query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.Location, wrong = CheckTimezone(s)
		return wrong
	}},
	{name: "accumulated", query: true, flag: func(r *ParsedRequest, b bool) {
		r.Accumulated = b
	}},
	{name: "heartbeat", query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.BeatEvents, wrong = CheckHeartbeat(s)
		return wrong
	}},
	{name: "agent", query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.Agent, wrong = checkAgent(s)
		return wrong
	}},
	{name: "workflow", text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.Workflow, wrong = checkWorkflow(s)
		return wrong
	}},
	{name: "kind", text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.Kind, wrong = checkKind(s)
		return wrong
	}},
	{name: "retention_days", number: func(r *ParsedRequest, n float64) (wrong *FieldError) {
		r.RetentionDays, wrong = checkRetentionDays(n)
		return wrong
	}},
	{name: "task_id", query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.TaskID, wrong = checkTaskID(s)
		return wrong
	}},
	{name: "on_disconnect", query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.OnDisconnect, wrong = checkOnDisconnect(s)
		return wrong
	}},
	{name: "context", object: func(r *ParsedRequest, members jsontext.Value, e *ValidationError) {
		r.Context = readContext(members, e)
	}},
	{name: "channel", query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.Channel, wrong = checkChannel(s)
		return wrong
	}},
	{name: "drafts", query: true, flag: func(r *ParsedRequest, b bool) {
		if r.Drafts = No; b {
			r.Drafts = Yes
		}
	}},
	{name: "user_name", query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.UserName, wrong = CheckUserName(s)
		return wrong
	}},
	{name: "locale", query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.Locale, wrong = CheckLocale(s)
		return wrong
	}},
	{name: "subject", query: true, text: func(r *ParsedRequest, s string) (wrong *FieldError) {
		r.Subject, wrong = CheckSubject(s)
		return wrong
	}},
	{name: "deliver", query: true, flag: func(r *ParsedRequest, b bool) {
		r.Deliver = b
	}},
	{name: approvalField, object: func(r *ParsedRequest, object jsontext.Value, e *ValidationError) {
		a := readAnswer(object, "/approval", e)
		if a.Token == "" {
			e.addOne("/approval/token", CodeRequired, "is required")
		}
		r.Approval = &a
	}},
	{name: historyField, list: readHistory},
}

// Fields with additional rules. approvalField answers a question, and a request with it has no
// input. A body with historyField may be longer.
const (
	approvalField = "approval"
	historyField  = "history"
)

// field is one entry of the table. Exactly one of text, number, flag, object and list is set.
type field struct {
	name     string
	required bool // and then null is a fault, not absence
	query    bool // it may also stand in the query of a GET

	// The functions set a field of the ParsedRequest. It lies on the heap and is passed by its
	// address: copies would fill the stack of the goroutine that runs the turn
	// (docs/performance.md).
	text   func(*ParsedRequest, string) *FieldError
	number func(*ParsedRequest, float64) *FieldError
	flag   func(*ParsedRequest, bool)
	// object takes a JSON object and adds its faults by itself.
	object func(*ParsedRequest, jsontext.Value, *ValidationError)
	// list reads the array in front of the decoder, and adds its faults itself. Its error is that
	// of broken JSON.
	list func(*jsontext.Decoder, *ValidationError) ([]HistoryMessage, error)
}

// FieldNames returns the names of all fields of a request, or only those that the query of a GET
// may have.
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
	for i := range fields { // a function would get a copy of each
		if fields[i].name == name {
			return i
		}
	}
	return -1
}

// The decoder keeps a bit for each field.
const _ = uint(32 - len(fields))

// raws are the values of the fields as they came, of the right type.
type raws struct {
	of      [len(fields)]raw
	history []HistoryMessage // of the one field that is a list; nil: not given, or empty
}

// raw is the value of one field as it was read, before its rule was asked.
type raw struct {
	given, flag bool
	text        string
}

// buildRequest checks and cleans the values and sets the fields of r. It adds faults to those in e.
// With an error r counts for nothing.
func (v *raws) buildRequest(r *ParsedRequest, e *ValidationError) error {
	r.Accumulated = true
	answers := v.of[fieldOf(approvalField)].given
	for i := range fields { // without copies, which would fill the stack
		given, name := v.of[i].given, fields[i].name
		switch {
		case fields[i].list != nil: // a history, which DecodeRequest prunes
		case fields[i].required && answers:
			if given {
				e.addFault("/"+name, CodeNotAllowed, "must not stand beside an approval")
			}
		case given:
			setField(i, r, v.of[i], e)
		case fields[i].required:
			e.addFault("/"+name, CodeRequired, "is required")
		}
	}
	if len(e.Fields) > 0 {
		return e
	}
	return nil
}

// setField sets field i of r to the value v, or adds the fault of v to e.
func setField(i int, r *ParsedRequest, v raw, e *ValidationError) {
	var wrong *FieldError
	switch {
	case fields[i].object != nil:
		fields[i].object(r, jsontext.Value(v.text), e)
	case fields[i].text != nil:
		wrong = fields[i].text(r, v.text)
	case fields[i].number != nil:
		n, _ := strconv.ParseFloat(v.text, 64) // it is a JSON number
		wrong = fields[i].number(r, n)
	default:
		fields[i].flag(r, v.flag)
	}
	if wrong != nil {
		e.addFault("/"+fields[i].name, wrong.Code, wrong.Message)
	}
}
