package handlers

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"sluice/chat"
	"sluice/fault"
)

// maxBody holds 5,000 characters in their longest JSON form (60,000 bytes, as
// escaped surrogate pairs) with room for the rest.
const maxBody = 128 << 10

// trackedBody knows whether the body was read to its end.
type trackedBody struct {
	io.ReadCloser
	done bool
}

func (b *trackedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.done = b.done || err == io.EOF
	return n, err
}

func unread(r *http.Request) bool {
	b, ok := r.Body.(*trackedBody)
	return ok && !b.done
}

// readBody reads a JSON body.
func readBody(w http.ResponseWriter, r *http.Request, timeout time.Duration) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &fault.Error{Type: fault.UnsupportedMediaType, Message: "Send the request as Content-Type: application/json"}
	}
	return readAll(w, r, timeout)
}

// dropBody reads the body of a request that needs none.
func dropBody(w http.ResponseWriter, r *http.Request, timeout time.Duration) error {
	if r.ContentLength == 0 {
		return nil
	}
	_, err := readAll(w, r, timeout)
	return err
}

// readAll reads the body to its end, within its limits of size and time: only then
// does the server notice that a client leaves, and net/http would otherwise read
// it, without a limit of time, before it sends a reply.
func readAll(w http.ResponseWriter, r *http.Request, timeout time.Duration) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(timeout))
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	switch {
	case err == nil:
		return body, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &fault.Error{Type: fault.RequestTimeout, Message: "The request's body did not arrive in time", Err: err}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge()
	}
	return nil, &chat.ValidationError{Fields: []chat.FieldError{{
		Code: chat.CodeInvalidJSON, Message: "the body could not be read to its end",
	}}}
}

func tooLarge() error {
	return &fault.Error{Type: fault.PayloadTooLarge, Message: "The request's body may have at most 128 KiB"}
}
