package handlers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// statuses are the HTTP statuses of faults that no stream reports; of a type that is not named
// here it is 500.
var statuses = map[fault.Type]int{
	fault.Validation:           http.StatusUnprocessableEntity,
	fault.KeyReused:            http.StatusUnprocessableEntity,
	fault.PayloadTooLarge:      http.StatusRequestEntityTooLarge,
	fault.UnsupportedMediaType: http.StatusUnsupportedMediaType,
	fault.MethodNotAllowed:     http.StatusMethodNotAllowed,
	fault.NotFound:             http.StatusNotFound,
	fault.OriginRefused:        http.StatusForbidden,
	fault.ApprovalInvalid:      http.StatusForbidden,
	fault.Forbidden:            http.StatusForbidden,
	fault.DuplicateRequest:     http.StatusConflict,
	fault.TaskNotCancelable:    http.StatusConflict,
	fault.ApprovalUsed:         http.StatusConflict,
	fault.ApprovalConflict:     http.StatusConflict,
	fault.RequestTimeout:       http.StatusRequestTimeout,
	fault.Overloaded:           http.StatusServiceUnavailable,
	fault.ShuttingDown:         http.StatusServiceUnavailable,
	fault.StoreUnavailable:     http.StatusServiceUnavailable,
	fault.AuthUnavailable:      http.StatusServiceUnavailable,
	fault.Unauthorized:         http.StatusUnauthorized,
	fault.RateLimited:          http.StatusTooManyRequests,
	fault.ApprovalExpired:      http.StatusGone,
}

func statusOf(t fault.Type) int { return cmp.Or(statuses[t], http.StatusInternalServerError) }

// replyError is echo's error handler: it makes a problem reply of any error.
func (s *Server) replyError(err error, c echo.Context) {
	var he *echo.HTTPError
	if errors.As(err, &he) {
		err = routing(he)
	}
	s.reply(c.Response().Writer, c.Request(), err)
}

// routing translates what echo's router says.
func routing(he *echo.HTTPError) error {
	switch he.Code {
	case http.StatusNotFound:
		return &fault.Error{Type: fault.NotFound, Message: "There is nothing at this path", Err: he}
	case http.StatusMethodNotAllowed:
		return &fault.Error{Type: fault.MethodNotAllowed, Message: "This path does not take this method; the Allow header names those it takes", Err: he}
	}
	return he
}

// reply refuses a request that has had no reply yet.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, err error) {
	refusal := s.refusal(r, err)
	s.metrics.rejected(refusal.Fault.Type)
	if refusal.Status == http.StatusInternalServerError || s.refusals.Line(refusal.Fault.Type) { // what is ours to mend is never left out
		if turn, ok := errors.AsType[*refusedTurn](err); ok && refusal.Status == http.StatusUnprocessableEntity {
			logReceived(zerolog.Ctx(r.Context()), r, turn.input)
		}
		logRejection(r, refusal.Fault, refusal.Status)
	}
	if own, ok := errors.AsType[headed](err); ok {
		own.SetHeader(w.Header())
	}
	s.refuse(w, r, refusal, s.wording(r, err))
}

// headed is an error that says something in the head of the reply.
type headed interface {
	error
	SetHeader(h http.Header)
}

// refusedTurn is the error of a request for a turn that was read and is refused.
type refusedTurn struct {
	error
	input int // its characters, as far as they could be read
}

// It leads to why the request is refused.
func (e *refusedTurn) Unwrap() error { return e.error }

// inputLength returns how many characters the input has, as far as it can be read.
func inputLength(r *http.Request, body []byte) int {
	if body == nil {
		return utf8.RuneCountInString(r.URL.Query().Get("input"))
	}
	var asked struct {
		Input any `json:"input"`
	}
	_ = json.Unmarshal(body, &asked)
	text, _ := asked.Input.(string)
	return utf8.RuneCountInString(text)
}

// worded is an error that a request words by itself.
type worded struct {
	error
	refuse func(dialect.Refusal) dialect.Reply
}

// It leads to the error that is worded differently for this client.
func (e *worded) Unwrap() error { return e.error }

// wording returns what words a refusal of r because of err.
func (s *Server) wording(r *http.Request, err error) func(dialect.Refusal) dialect.Reply {
	if own, ok := errors.AsType[*worded](err); ok {
		return own.refuse
	}
	return s.shape(r)
}

// refusal makes what a dialect words: the fault, its fields and its status.
func (s *Server) refusal(r *http.Request, err error) dialect.Refusal {
	f, fields := rejected(err)
	return dialect.Refusal{Fault: f, Fields: fields, Status: statusOf(f.Type), RequestID: chat.RequestID(r.Context()), Policies: violated(err)}
}

// refuse sends a refusal in the words of shape.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, refusal dialect.Refusal, shape func(dialect.Refusal) dialect.Reply) dialect.Reply {
	if refusal.RetryAfter = comeBackAfter(refusal.Fault); refusal.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((refusal.RetryAfter+time.Second-1)/time.Second)))
	}
	if refusal.Fault.Type == fault.ShuttingDown && r.ProtoMajor == 1 {
		// A load balancer would send its next request on this connection just when the end
		// of the drain closes it.
		w.Header().Set("Connection", "close")
	}
	answer := shape(refusal)
	respond(w, &answer)
	return answer
}

// comeBackAfter returns after how long a client may send its request again; 0: it is not said.
func comeBackAfter(f *fault.Error) time.Duration {
	switch f.Type {
	case fault.Overloaded, fault.ShuttingDown, fault.StoreUnavailable:
		return time.Duration(1+rand.IntN(5)) * time.Second // jittered, so that not all come back at once
	case fault.DuplicateRequest, fault.RateLimited, fault.AuthUnavailable:
		return f.RetryAfter
	}
	return 0
}

// respond sends a reply that is not a stream.
func respond(w http.ResponseWriter, reply *dialect.Reply) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	for name, values := range reply.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	h.Set("Content-Type", cmp.Or(reply.ContentType, "application/json"))
	h.Set("Content-Length", strconv.Itoa(len(reply.Body)))
	w.WriteHeader(cmp.Or(reply.Status, http.StatusOK))
	_, _ = w.Write(reply.Body)
}

// rejected returns err as a fault, and the faulty fields of a request.
func rejected(err error) (*fault.Error, []chat.FieldError) {
	v, ok := errors.AsType[*chat.ValidationError](err)
	if !ok {
		return fault.From(err), nil
	}
	detail := "The request has a fault"
	if len(v.Fields) > 1 {
		detail = fmt.Sprintf("The request has %d faults", len(v.Fields))
	}
	first := v.Fields[0]
	detail += ": " + strings.TrimPrefix(first.Field+" "+first.Message, " ") // the whole document has no name
	return &fault.Error{Type: fault.Validation, Message: detail, Err: v}, v.Fields
}

// levelOfRefusal is the log level of a refusal: an error is ours to fix, a warning is
// for the operator, all else is the client's.
func levelOfRefusal(status int) zerolog.Level {
	switch status {
	case http.StatusServiceUnavailable:
		return zerolog.WarnLevel
	case http.StatusInternalServerError:
		return zerolog.ErrorLevel
	}
	return zerolog.InfoLevel
}

// logRejection logs a request that was refused, at the level of its status.
func logRejection(r *http.Request, f *fault.Error, status int) {
	zerolog.Ctx(r.Context()).WithLevel(levelOfRefusal(status)).Dict("details", logRequestLine(faultDetails(f), r).
		Int("status", status)).Msg("error_occurred")
}

// faultDetails begins the details of a log line about f, with the cause, which the
// client does not get.
func faultDetails(f *fault.Error) *zerolog.Event {
	return zerolog.Dict().
		Str("error_type", string(f.Type)).
		AnErr("error_message", f).
		Bool("recoverable", f.Type.Recoverable())
}

// caught, deferred, answers a panic of a handler that has not begun to reply. One
// that has begun is cut, so that the client sees that the reply is not whole.
func (s *Server) caught(w *trackedWriter) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { // the end of a stream that broke, and no bug
		abort(w.r)
	}
	err := fmt.Errorf("panic after %v: %v\n%s", time.Since(w.began), p, debug.Stack())
	if w.begun {
		logRejection(w.r, fault.From(err), http.StatusInternalServerError)
		abort(w.r)
	}
	s.reply(w, w.r, err)
	closeResets(w.r, false)
}

// trackedWriter knows whether the reply has begun. One that begins while the
// request's body is unread closes the connection, unless the body is short and there:
// net/http would wait for the rest of it first. HTTP/2 needs no such thing; there it
// would end the connection for all its streams.
type trackedWriter struct {
	http.ResponseWriter
	r       *http.Request
	began   time.Time     // the request
	begun   bool          // the reply
	closing bool          // it closes the connection, whose body is unread
	timeout time.Duration // of the writes of a reply that is not a stream; 0: none
}

// begin also bounds the time of the reply, for a client that does not read. A stream
// sets deadlines of its own. Those of other replies end with them: over HTTP/1 net/http
// clears them behind the reply, and over HTTP/2 they are the request's own.
func (w *trackedWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	if w.timeout > 0 && (w.r.ProtoMajor == 1 || w.Header().Get("Content-Type") != "text/event-stream") {
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.timeout))
	}
	if w.r.ProtoMajor != 1 {
		return
	}
	if w.closing = !settle(w.ResponseWriter, w.r); w.closing {
		w.Header().Set("Connection", "close")
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *trackedWriter) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *trackedWriter) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (w *trackedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
