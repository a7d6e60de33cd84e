package dialect

import (
	"errors"
	"net/http"

	"sluice/internal/turn/chat"
)

// HeaderKey returns the idempotency key of a request, from its header. err is the error of reading
// the other parts, or nil: the returned error adds the key's fault to it.
func HeaderKey(r *http.Request, err error) (string, error) {
	return Key(r.Header.Values("Idempotency-Key"), err)
}

// Key is HeaderKey for a key in another place. given has the values there.
func Key(given []string, err error) (string, error) {
	switch {
	case len(given) == 0:
		return "", err
	case len(given) == 1 && chat.Token(given[0], 8, 128):
		return given[0], err
	}
	v, ok := errors.AsType[*chat.ValidationError](err)
	if !ok {
		if err != nil { // it is refused for more than its fields
			return "", err
		}
		v = &chat.ValidationError{}
	}
	v.Fields = append(v.Fields, chat.FieldError{
		Field: "/idempotency_key", Code: chat.CodeInvalidFormat, Message: "must be one value of 8 to 128 of A-Z a-z 0-9 . _ -",
	})
	return "", v
}
