package wire

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

// HTTPStatusError is a reply that refuses a request with an HTTP status.
type HTTPStatusError struct {
	Code int
	// RetryAfter is the wait that the server asked for; 0 without one.
	RetryAfter time.Duration
}

// Error returns the status but not the body, which may hold texts that must not be logged.
func (e *HTTPStatusError) Error() string {
	return "the MCP server answered with HTTP status " + strconv.Itoa(e.Code)
}

// NotSentError proves that a request did not reach the server.
type NotSentError struct{ err error }

// Error returns a text for the log.
func (e *NotSentError) Error() string { return "not sent: " + e.err.Error() }

// Unwrap returns the reason.
func (e *NotSentError) Unwrap() error { return e.err }

// cutError is a reply that broke off: the server has the request, and may have
// carried it out.
type cutError struct{ err error }

// Error returns a text for the log.
func (e *cutError) Error() string { return "the reply broke off: " + e.err.Error() }

// Unwrap returns the error of the connection.
func (e *cutError) Unwrap() error { return e.err }

// responseError is a JSON-RPC response that came where mcp-go does not look for one, such as
// under an HTTP error status.
type responseError struct{ response *transport.JSONRPCResponse }

// Error returns the code. It leaves out the message, which is a server's text and is scrubbed
// before it is shown.
func (e *responseError) Error() string {
	if e.response.Error == nil {
		return "a JSON-RPC result"
	}
	return fmt.Sprintf("JSON-RPC error %d", e.response.Error.Code)
}

var (
	// ErrExpired: the server does not know our session (any more), so it did not
	// run the tool either.
	ErrExpired = errors.New("the MCP session has expired")
	// ErrTooLarge: the reply was larger than the exchange's limit.
	ErrTooLarge = errors.New("the reply is too large")
	// errWrongID: the reply belongs to another request.
	errWrongID = errors.New("the reply has the id of another request")
	// errNoAnswer: the reply is a message that answers nothing.
	errNoAnswer = errors.New("the reply has neither a result nor an error")
	// errOddList: the answer is not a list of tools.
	errOddList = errors.New("unreadable list of tools")
	// errManyTools: the list of tools does not end and has only empty pages.
	errManyTools = errors.New("the list of tools is too long")
	// ErrClosed: the session was closed by us.
	ErrClosed = errors.New("the MCP session is closed")
	// errLost: the transport's connection is gone.
	errLost = errors.New("the connection is lost")
	// ErrStuck: a child no longer reads its input.
	ErrStuck = errors.New("the child has stopped reading its input")
	// errEnded: a child has closed its output.
	errEnded = errors.New("the server has ended its output")
)

// BrokeOff reports whether err is a reply that broke off.
func BrokeOff(err error) bool {
	_, ok := errors.AsType[*cutError](err)
	return ok
}

// NotSent reports whether err proves that the request did not reach the server.
func NotSent(err error) bool {
	_, ok := errors.AsType[*NotSentError](err)
	return ok
}

// Answered reports whether err, which mcp-go's client returned of a request, is made of a response.
// Any other error means that no response came.
func Answered(err error) bool {
	if errors.Is(err, errOddList) || errors.Is(err, errManyTools) {
		return true
	}
	_, failed := errors.AsType[*transport.Error](err)
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return err != nil && !failed && !ended
}
