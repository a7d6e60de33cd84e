package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/tally"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// refuser replies to requests that are refused, each in the words of its route's protocol.
type refuser struct {
	metrics *instruments
	lines   *tally.Tally[fault.Type] // of the log
	shapes  []*routed                // of the routes that have refusals of their own
}

// replyError is echo's error handler: it makes a problem reply of any error.
func (rf *refuser) replyError(err error, c echo.Context) {
	var he *echo.HTTPError
	if errors.As(err, &he) {
		err = routingFault(he)
	}
	rf.refuseRequest(c.Response().Writer, c.Request(), err)
}

// refuseRequest refuses a request without a reply yet.
func (rf *refuser) refuseRequest(w http.ResponseWriter, r *http.Request, err error) {
	refusal := refusalOf(r, err)
	rf.metrics.countRefusal(refusal.Fault.Type)
	if refusal.Status == http.StatusInternalServerError || rf.lines.Line(refusal.Fault.Type) { // faults of our own are always logged
		if turn, ok := errors.AsType[*refusedTurn](err); ok && refusal.Status == http.StatusUnprocessableEntity {
			logReceived(zerolog.Ctx(r.Context()), r, turn.input)
		}
		logRejection(r, refusal.Fault, refusal.Status)
	}
	if own, ok := errors.AsType[headed](err); ok {
		own.SetHeader(w.Header())
	}
	rf.sendRefusal(w, r, refusal, rf.wordingOf(r, err))
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

// Unwrap returns the reason of the refusal.
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

// Unwrap returns the error that is worded differently for this client.
func (e *worded) Unwrap() error { return e.error }

// wordingOf returns the function that words a refusal of r because of err.
func (rf *refuser) wordingOf(r *http.Request, err error) func(dialect.Refusal) dialect.Reply {
	if own, ok := errors.AsType[*worded](err); ok {
		return own.refuse
	}
	return rf.shapeOf(r)
}

// refusalOf returns the facts of a refusal that a dialect puts into words.
func refusalOf(r *http.Request, err error) dialect.Refusal {
	f, fields := faultOf(err)
	return dialect.Refusal{Fault: f, Fields: fields, Status: statusOf(f.Type), RequestID: chat.RequestID(r.Context()), Policies: violatedPolicies(err)}
}

// sendRefusal sends a refusal in the words of shape.
func (rf *refuser) sendRefusal(w http.ResponseWriter, r *http.Request, refusal dialect.Refusal, shape func(dialect.Refusal) dialect.Reply) dialect.Reply {
	if refusal.RetryAfter = comeBackAfter(refusal.Fault); refusal.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((refusal.RetryAfter+time.Second-1)/time.Second)))
	}
	if refusal.Fault.Type == fault.ShuttingDown && r.ProtoMajor == 1 {
		// A load balancer would send its next request on this connection just when the end
		// of the drain closes it.
		w.Header().Set("Connection", "close")
	}
	answer := shape(refusal)
	writeReply(w, &answer)
	return answer
}

// logRejection logs a request that was refused, at the level of its status.
func logRejection(r *http.Request, f *fault.Error, status int) {
	zerolog.Ctx(r.Context()).WithLevel(levelOfRefusal(status)).Dict("details", logRequestLine(faultDetails(f), r).
		Int("status", status)).Msg("error_occurred")
}

// answerPanic, deferred, answers a panic of a handler that has not begun to reply. A reply that has
// begun is cut, so that the client sees that the reply is incomplete.
func (rf *refuser) answerPanic(w *trackedWriter) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { // the end of a stream that broke, and no bug
		abortReply(w.r)
	}
	err := fmt.Errorf("panic after %v: %v\n%s", time.Since(w.began), p, debug.Stack())
	if w.begun {
		logRejection(w.r, fault.From(err), http.StatusInternalServerError)
		abortReply(w.r)
	}
	rf.refuseRequest(w, w.r, err)
	closeResets(w.r, false)
}

// addShape adds the refusals of a route, if it words its own.
func (rf *refuser) addShape(rt *routed) {
	if rt.Refuse != nil {
		rf.shapes = append(rf.shapes, rt)
	}
}

// shapeOf returns how a refusal of r is worded: as the route at its path does, also if the
// request does not get there.
func (rf *refuser) shapeOf(r *http.Request) func(dialect.Refusal) dialect.Reply {
	var refuse func(dialect.Refusal) dialect.Reply
	for _, rt := range rf.shapes {
		if !rt.matchesPath(r.URL.Path) {
			continue
		}
		if slices.Contains(rt.Methods, r.Method) {
			return rt.Refuse
		}
		if refuse == nil {
			refuse = rt.Refuse
		}
	}
	if refuse == nil {
		return dialect.Problem
	}
	return refuse
}
