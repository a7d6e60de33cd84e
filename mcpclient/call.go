package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
	"sluice/mcpclient/internal/wire"
)

// errToolTimeout is the cause of a context whose tool call took too long.
var errToolTimeout = errors.New("the tool took too long")

// maxAvailable is how many names of tools a model is given that asked for one that
// does not exist.
const maxAvailable = 40

// Call runs one tool. Its errors are *fault.Error. If the tool itself reports a failure, it returns
// a result with IsError.
//
// A tool runs at most once. The call is sent a second time only if the first one provably did not
// reach the tool, or if the tool is repeatable. When ctx ends Call returns at once, with an error
// that wraps ctx's cause.
func (c *Client) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	v := c.currentView()
	t := v.tools[call.Name]
	if t == nil {
		return tool.Result{}, unknownTool(call.Name, v.set)
	}
	args, invalid := t.offer.schema.Check(ctx, t.name, call.Arguments)
	if invalid != nil && ctx.Err() != nil {
		return tool.Result{}, t.withHint(t.up.unsentError(ctx, t))
	}
	if invalid != nil {
		invalid.Service, invalid.NoEffect = t.up.service, true
		return tool.Result{}, invalid
	}
	if t.standIn { // its schema and annotations are not those of the server's own tool
		return tool.Result{}, t.withHint(cmp.Or(t.up.unavailableBecause(t.up.currentCondition()), t.up.unavailableError(errNotConnected)))
	}
	own, cancel := context.WithTimeoutCause(ctx, t.up.Timeout, errToolTimeout)
	defer cancel()
	progress := t.up.newListener(ctx)
	defer progress.endReports() // whatever still comes, the call is over
	o := t.up.callWithRetry(ctx, own, t, json.RawMessage(args), progress)
	if o.err != nil {
		return tool.Result{}, t.withHint(o.err)
	}
	return tool.Result{ID: call.ID, Name: call.Name, Text: o.text, IsError: o.isError, Warning: t.up.checkResult(ctx, t, &o)}, nil
}

// unknownTool returns the fault of a call for a tool that is not in set. Its hint lets the model
// choose another one. name is the model's text: it is cleaned and cut.
func unknownTool(name string, set *tool.Set) *fault.Error {
	var names []string
	for i := range set.Specs {
		if i == maxAvailable {
			names = append(names, "…")
			break
		}
		names = append(names, set.Specs[i].Name)
	}
	hint := fmt.Sprintf("There is no tool %q. ", clipText(tool.Clean(name), maxName))
	if len(names) == 0 {
		hint += "No tools are available."
	} else {
		hint += "Available: " + strings.Join(names, ", ") + "."
	}
	return &fault.Error{Type: fault.ToolFailed, Message: "The model asked for a tool that does not exist", Hint: hint, NoEffect: true}
}

// callWithRetry makes one attempt, and a second one where that is safe.
func (u *upstream) callWithRetry(turn, ctx context.Context, t *boundTool, args json.RawMessage, progress *listener) outcome {
	o := u.callOnce(turn, ctx, t, args, progress, false)
	if o.effect == settled || o.effect == lost && !t.isRepeatable() || ctx.Err() != nil {
		return o
	}
	zerolog.Ctx(turn).Warn().Dict("details", zerolog.Dict().Str("tool_name", t.name).Str("server", u.Name).
		Bool("was_sent", o.effect == lost).AnErr("reason", o.err.Err)).Msg("mcp_call_repeated")
	again := u.callOnce(turn, ctx, t, args, progress, true)
	if again.err != nil && o.effect == lost { // the proof of the second attempt does not hold for the first
		f := *again.err
		f.NoEffect = t.offer.spec.Annotations.ReadOnly
		again.err = &f
	}
	return again
}

// callOnce sends the call once. With last no further attempt follows. If a new session fails as
// well, this counts as a failure. The call waits for the session, because the server worked a
// moment ago and some servers take a second for the handshake.
func (u *upstream) callOnce(turn, ctx context.Context, t *boundTool, args json.RawMessage, progress *listener, last bool) outcome {
	s, err := u.awaitSession(ctx, last)
	if fault.Shortage(err) {
		return outcome{err: u.shortageError(err)}
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return outcome{err: f}
	}
	if err != nil {
		return outcome{err: u.unsentError(turn, t)}
	}
	report, err := u.Breaker.Allow(turn)
	if err != nil {
		return outcome{err: u.unavailableError(err)}
	}
	var o outcome
	defer func() { report(o.verdict, o.breakerCause()) }()
	if !s.acquire() {
		o = outcome{err: u.unavailableError(wire.ErrClosed), effect: notSent, verdict: breaker.Neutral}
		return o
	}
	x, err := s.sendCall(ctx, t.offer.name, args, progress, u.Identity)
	s.release()
	o = u.outcomeOf(turn, ctx, t, s, x, err)
	if last && wire.NotSent(err) && !fault.Shortage(err) {
		o.verdict = breaker.Failure
	}
	if err == nil || x.RPC != nil {
		s.silent.Store(0)
	}
	if o.drop {
		u.drop(s, o.err.Err)
	}
	if o.refresh {
		u.requestRefresh()
	}
	return o
}

// breakerCause returns the cause of a failure for the breaker's log.
func (o outcome) breakerCause() error {
	if o.err == nil {
		return nil
	}
	return o.err.Err
}
