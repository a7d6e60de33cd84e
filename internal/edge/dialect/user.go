package dialect

import (
	"github.com/go-json-experiment/json"

	"sluice/internal/turn/chat"
)

// NamedUser returns the user_id of a JSON body. It is empty if the body is empty or names nobody.
// The error is a *chat.ValidationError.
func NamedUser(body []byte) (string, error) { return readMember(body, "user_id", chat.CheckUserID) }

// NamedHeartbeat reports whether a JSON body asks for heartbeats as events. Its error is as that of
// NamedUser.
func NamedHeartbeat(body []byte) (event bool, err error) {
	return readMember(body, "heartbeat", chat.CheckHeartbeat)
}

// readMember returns a checked text of a JSON body. The zero value stands for an absent text.
func readMember[T any](body []byte, name string, check func(string) (T, *chat.FieldError)) (value T, err error) {
	if len(body) == 0 {
		return value, nil
	}
	e := new(chat.ValidationError)
	members, ok := chat.Members(body, []string{name}, e)
	if !ok || len(e.Fields) > 0 {
		return value, e
	}
	raw := members[name]
	if raw == nil || raw.Kind() == 'n' {
		return value, nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		e.Add("/"+name, &chat.FieldError{Code: chat.CodeWrongType, Message: "must be a string"})
		return value, e
	}
	checked, wrong := check(text)
	if wrong != nil {
		e.Add("/"+name, wrong)
		return value, e
	}
	return checked, nil
}
