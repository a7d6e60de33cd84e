package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// replyError is echo's error handler: it makes a problem reply of any error.
func (s *Server) replyError(err error, c echo.Context) {
	var he *echo.HTTPError
	if errors.As(err, &he) {
		err = routing(he)
	}
	s.reply(c.Response().Writer, c.Request(), err)
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

// logRejection logs a request that was refused, at the level of its status.
func logRejection(r *http.Request, f *fault.Error, status int) {
	zerolog.Ctx(r.Context()).WithLevel(levelOfRefusal(status)).Dict("details", logRequestLine(faultDetails(f), r).
		Int("status", status)).Msg("error_occurred")
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
