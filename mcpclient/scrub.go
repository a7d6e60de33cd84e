package mcpclient

import (
	"errors"
	"net/http"
	"net/url"

	"sluice/internal/turn/tool"
	"sluice/mcpclient/internal/wire"
)

// breaksSession reports whether a session on which err happened is of no more use.
func breaksSession(err error) bool {
	if status, ok := errors.AsType[*wire.HTTPStatusError](err); ok {
		return status.Code == http.StatusNotFound
	}
	return wire.NotSent(err) || wire.BrokeOff(err) || errors.Is(err, wire.ErrExpired)
}

// scrubbed is an error whose text is fit for a log.
type scrubbed struct {
	text string
	err  error
}

// Error returns the error's text without secrets.
func (e *scrubbed) Error() string { return e.text }

// Unwrap returns the error itself, so that callers can still judge it.
func (e *scrubbed) Unwrap() error { return e.err }

// scrubError removes texts from an error that must not be logged: URLs, which net/http repeats with
// their query, and the secrets of the configuration.
func (u *upstream) scrubError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return &scrubbed{clipText(u.hide.Text(tool.Clean(err.Error())), 512), err}
}
