package dialect

import (
	"github.com/go-json-experiment/json"

	"sluice/internal/turn/chat"
)

// NamedUser returns the user_id of a JSON body. It is empty if the body is empty or names nobody.
// The error is a *chat.ValidationError.
func NamedUser(body []byte) (string, error) {
	if len(body) == 0 {
		return "", nil
	}
	e := new(chat.ValidationError)
	members, ok := chat.Members(body, []string{"user_id"}, e)
	if !ok || len(e.Fields) > 0 {
		return "", e
	}
	value := members["user_id"]
	if value == nil || value.Kind() == 'n' {
		return "", nil
	}
	var name string
	if json.Unmarshal(value, &name) != nil {
		e.Add("/user_id", &chat.FieldError{Code: chat.CodeWrongType, Message: "must be a string"})
		return "", e
	}
	user, wrong := chat.CheckUserID(name)
	if wrong != nil {
		e.Add("/user_id", wrong)
		return "", e
	}
	return user, nil
}
