package wire

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// HTTPStatusError is a reply that refuses a request with an HTTP status.
type HTTPStatusError struct {
	Code int
	// RetryAfter is what the server asked for; 0 means that it did not.
	RetryAfter time.Duration
}

// It has the status and nothing of the body, which is not ours to log.
func (e *HTTPStatusError) Error() string {
	return "the MCP server answered with HTTP status " + strconv.Itoa(e.Code)
}

// NotSentError proves that a request did not reach the server.
type NotSentError struct{ err error }

// It is for the log.
func (e *NotSentError) Error() string { return "not sent: " + e.err.Error() }

// It leads to the reason.
func (e *NotSentError) Unwrap() error { return e.err }

// cutError is a reply that broke off: the server has the request, and may have
// carried it out.
type cutError struct{ err error }

// It is for the log.
func (e *cutError) Error() string { return "the reply broke off: " + e.err.Error() }

// It leads to the error of the connection.
func (e *cutError) Unwrap() error { return e.err }

// rpcError is a JSON-RPC error that came with an HTTP error status.
type rpcError struct{ details *mcp.JSONRPCErrorDetails }

// It has the code. The message is a server's text, and is scrubbed before it is
// shown.
func (e *rpcError) Error() string {
	return fmt.Sprintf("JSON-RPC error %d", e.details.Code)
}

var (
	// ErrExpired: the server does not know our session (any more), so it did not
	// run the tool either.
	ErrExpired = errors.New("the MCP session has expired")
	// ErrTooLarge: the reply was larger than the exchange's limit.
	ErrTooLarge = errors.New("the reply is too large")
	// errWrongID: the reply belongs to another request.
	errWrongID = errors.New("the reply has the id of another request")
	// errManyTools: the list of tools does not end, and there are none in it.
	errManyTools = errors.New("the list of tools is too long")
	// ErrClosed: the session was closed by us.
	ErrClosed = errors.New("the MCP session is closed")
	// errLost: the transport's connection is gone.
	errLost = errors.New("the connection is lost")
	// ErrStuck: a child takes no input.
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
