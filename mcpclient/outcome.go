package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
	"sluice/mcpclient/internal/wire"
)

// effect is the known effect of one attempt to run a tool.
type effect int

const (
	// settled: the server answered or refused, or the caller has left. Sending it
	// again would change nothing.
	settled effect = iota
	// notSent: it is proven that the tool was not run.
	notSent
	// lost: the request may have been carried out, but the answer is gone.
	lost
)

// outcome is how one attempt ended.
type outcome struct {
	text       string
	isError    bool
	structured jsontext.Value // of a result that has it
	err        *fault.Error   // nil: text counts

	effect  effect
	verdict breaker.Verdict
	// drop: the session must not be used again.
	drop bool
	// refresh: our list of tools may be old.
	refresh bool
}

// maxUpstreamText is how much of a JSON-RPC error's text the model is given.
const maxUpstreamText = 2 << 10

// outcomeOf makes an outcome of a session's call. ctx is the call's own context, and turn that of
// the caller.
func (u *upstream) outcomeOf(turn, ctx context.Context, t *boundTool, s *session, x *wire.Exchange, err error) outcome {
	err = u.scrubError(err)
	switch {
	case x.RPC != nil:
		return u.judgeRPC(t, x.RPC)
	case err == nil:
		return u.judgeResult(t, x)
	case ctx.Err() != nil:
		return u.judgeTimeout(turn, ctx, t, s, x)
	case errors.Is(err, wire.ErrTooLarge) && !wire.BrokeOff(err): // a line without an end loses everybody's answers
		return outcome{err: u.toolFailed("The tool's answer was too large", err,
			fmt.Sprintf("The answer of %s was larger than %d KiB and was not read. Ask for less, for example with a filter.", t.name, wire.MaxResult>>10)),
			verdict: breaker.Neutral}
	case x.NeedsInput, errors.Is(err, client.ErrMaxInputRoundTripsExceeded):
		return outcome{err: u.toolFailed("The tool asks for input that cannot be given here", err,
			t.name+" asked the user something in the middle of the call, which is not possible here. Do not call it again with the same arguments."), verdict: breaker.Neutral}
	}
	return u.judgeFailure(t, err)
}

// judgeResult judges an answer of the tool itself, also a failure: the server is sound. Its text
// reaches the model without our secrets, and without the paths of the server's machine if it is an
// error.
func (u *upstream) judgeResult(t *boundTool, x *wire.Exchange) outcome {
	r := readResult(x.Result)
	if r == nil {
		const form = " answered in a form that cannot be read"
		return outcome{err: u.toolFailed("The tool "+t.name+form, errUnreadable, t.name+form+". It may have taken effect."), verdict: breaker.Success}
	}
	text := u.hide.Text(r.renderText())
	if r.isError {
		text = hidePaths(text)
	}
	return outcome{text: text, isError: r.isError, structured: r.structured, verdict: breaker.Success}
}

// errUnreadable is the cause of a failed call with an unreadable result.
var errUnreadable = errors.New("the result is unreadable")

// judgeRPC judges a JSON-RPC error: the server is alive. The model gets the text of the error;
// servers disagree on whether bad arguments are an error or a result.
func (u *upstream) judgeRPC(t *boundTool, e *mcp.JSONRPCErrorDetails) outcome {
	said := clipText(hidePaths(u.hide.Text(tool.Clean(e.Message))), maxUpstreamText)
	o := outcome{
		err: u.toolFailed("The tool "+t.name+" could not be run", fmt.Errorf("JSON-RPC error %d", e.Code),
			t.name+" failed: "+cmp.Or(said, "the server does not say why")),
		verdict: breaker.Success,
	}
	switch e.Code {
	case mcp.INVALID_PARAMS, mcp.METHOD_NOT_FOUND, mcp.INVALID_REQUEST:
		o.refresh = true
	}
	return o
}

// silentLimit is the number of timeouts in a row after which the session itself is suspected: a
// child that hangs would otherwise hang until its end.
const silentLimit = 3

// judgeTimeout judges a call whose context has ended.
func (u *upstream) judgeTimeout(turn, ctx context.Context, t *boundTool, s *session, x *wire.Exchange) outcome {
	o := outcome{err: u.endedError(turn, t), verdict: breaker.Neutral}
	if turn.Err() == nil {
		o.verdict = breaker.Failure
		o.drop = s.silent.Add(1) >= silentLimit
	}
	o.err.NoEffect = x.Withdraw()
	o.err.Unknown = !o.err.NoEffect && !t.isRepeatable()
	return o
}

// endedError returns the error of a call whose context has ended: the turn's, if that
// has, or else the tool's own.
func (u *upstream) endedError(turn context.Context, t *boundTool) *fault.Error {
	if turn.Err() == nil {
		return &fault.Error{Type: fault.Timeout, Message: "The tool " + t.name + " took too long to answer",
			Service: u.service, Err: errToolTimeout}
	}
	cause := context.Cause(turn)
	f := u.toolFailed("The turn ended before the tool did", cause, "")
	ended, ok := errors.AsType[*fault.Error](cause)
	if errors.Is(cause, context.DeadlineExceeded) || ok && ended.Type == fault.Timeout {
		f.Type = fault.Timeout
	}
	return f
}

// unsentError is endedError for a call that was not sent.
func (u *upstream) unsentError(turn context.Context, t *boundTool) *fault.Error {
	f := u.endedError(turn, t)
	f.NoEffect = true
	return f
}

// judgeFailure judges a call that got no answer.
func (u *upstream) judgeFailure(t *boundTool, err error) outcome {
	if fault.Shortage(err) {
		return u.judgeShortage(t, err)
	}
	if wire.NotSent(err) {
		// Whether the server is down, the attempt to reach it again will show.
		return outcome{err: u.unavailableError(err), effect: notSent, verdict: breaker.Neutral, drop: true}
	}
	if errors.Is(err, wire.ErrExpired) {
		return outcome{err: u.unavailableError(err), effect: notSent, verdict: breaker.Neutral, drop: true}
	}
	if status, ok := errors.AsType[*wire.HTTPStatusError](err); ok {
		return u.judgeStatus(t, status)
	}
	f := u.toolFailed("The answer of the tool "+t.name+" was lost", err, "")
	f.Unknown = !t.isRepeatable()
	return outcome{err: f, effect: lost, verdict: breaker.Failure, drop: true}
}

// judgeShortage judges a call that a shortage of our own prevented or cut. It says
// nothing about the server, and a second attempt at once would meet the same.
func (u *upstream) judgeShortage(t *boundTool, err error) outcome {
	f := u.shortageError(err)
	_, f.NoEffect = errors.AsType[*wire.NotSentError](err)
	f.Unknown = !f.NoEffect && !t.isRepeatable()
	return outcome{err: f, verdict: breaker.Neutral, drop: wire.BrokeOff(err)}
}

// shortageError returns the error of a call that was not sent because of a shortage of
// our own.
func (u *upstream) shortageError(err error) *fault.Error {
	f := fault.NewOverloaded(u.service, err)
	f.NoEffect = true
	return f
}

// judgeForbidden judges 401 and 403: they are of this call alone. Other tools and, where the
// server receives for whom it works, other users may still be served.
func (u *upstream) judgeForbidden(t *boundTool, e *wire.HTTPStatusError) outcome {
	whom := "us"
	message := "The server of the tool " + t.name + " does not allow the call"
	if u.Identity {
		whom, message = "this user", "The tool "+t.name+" is not allowed to this user"
	}
	f := u.toolFailed(message, e,
		t.name+" was not run: its server does not allow it to "+whom+". Do not call it again; tell the user.")
	f.NoEffect = true
	return outcome{err: f, verdict: breaker.Neutral}
}

// judgeStatus judges a refusal by HTTP status. Only 429 and 5xx are failures of the service.
func (u *upstream) judgeStatus(t *boundTool, e *wire.HTTPStatusError) outcome {
	switch {
	case e.Code == http.StatusUnauthorized, e.Code == http.StatusForbidden:
		return u.judgeForbidden(t, e)
	case e.Code == http.StatusTooManyRequests:
		return outcome{err: u.unavailableError(e), verdict: breaker.Failure}
	case e.Code < 400, e.Code == http.StatusNotFound:
		return outcome{err: u.unavailableError(e), verdict: breaker.Neutral, drop: e.Code == http.StatusNotFound}
	case e.Code < 500:
		return outcome{err: u.toolFailed("The tool "+t.name+" could not be run", e,
			fmt.Sprintf("%s was not run: its server refuses the request with HTTP status %d", t.name, e.Code)), verdict: breaker.Neutral}
	}
	f := u.toolFailed("The answer of the tool "+t.name+" was lost", e, "")
	if e.Code == http.StatusBadGateway || e.Code == http.StatusServiceUnavailable || e.Code == http.StatusGatewayTimeout {
		f = u.unavailableError(e)
		f.NoEffect = t.offer.spec.Annotations.ReadOnly // a proxy says so, whatever the server behind it did
	}
	f.Unknown = !t.isRepeatable()
	return outcome{err: f, effect: lost, verdict: breaker.Failure}
}

// toolFailed returns the fault of a call. message is for a person, hint for the model (""
// if message will do), err for the log.
func (u *upstream) toolFailed(message string, err error, hint string) *fault.Error {
	return &fault.Error{Type: fault.ToolFailed, Message: message, Hint: hint, Service: u.service, Err: err}
}
