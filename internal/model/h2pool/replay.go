package h2pool

import (
	"errors"
	"net/http"
)

// verdict is what to do with a request that failed.
type verdict int

const (
	giveUp    verdict = iota
	sendAgain         // the server did not process it
	wait              // it was not sent
)

// streamError has the fields of net/http's own error for a stream that was reset:
// errors.As copies it into any struct that has them (golang.org/issue/53896).
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

// It stands for the unexported type of net/http's HTTP/2, of which only the
// code is read.
func (e streamError) Error() string { return "stream reset" }

// refusedStream is the code of a stream that the server did not process at all
// (RFC 9113, section 8.7).
const refusedStream = 0x7

// isRefused reports whether the server has not looked at a request (RFC 9113,
// section 8.7): it may be sent again.
func isRefused(err error) bool {
	e, ok := errors.AsType[streamError](err)
	return ok && e.Code == refusedStream
}

// isDrained reports whether err, from ClientConn.RoundTrip, means that the connection takes no
// further requests and did not process this one. The request was not sent, or its stream comes
// after the last one of a GOAWAY frame. These two errors of net/http can be recognized by their
// text alone (net/http/h2_bundle.go, canRetryError).
func isDrained(err error) bool {
	switch err.Error() {
	case "http2: client conn not usable",
		"http2: Transport received Server's graceful shutdown GOAWAY":
		return true
	}
	return false
}

// rewindBody makes *req the request that it was before it was sent, if it can.
func rewindBody(req **http.Request) bool {
	r := *req
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	if r.GetBody == nil {
		return false
	}
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	*req = r.WithContext(r.Context())
	(*req).Body = body
	return true
}
