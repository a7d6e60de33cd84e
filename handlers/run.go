package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// turnRunner runs turns that were admitted, and accounts for them.
type turnRunner struct {
	outputs     *outputs
	metrics     *instruments
	tracer      trace.Tracer
	logPayloads bool
}

// runTurn runs a turn that was admitted. w is nil if its client does not wait for it. A reply whose
// client did not get its Done is aborted, whatever the reason. A client that left looks like one
// that closed only its sending side, and that one must not take its part for the whole.
func (tr *turnRunner) runTurn(in *slot, w http.ResponseWriter, r *http.Request, t *turn) {
	if t.Close != nil {
		defer t.Close()
	}
	defer t.endCharge()
	if t.Begun != nil {
		t.Begun(in.cancel)
	}
	ctx, o := tr.beginTurn(in, w, r, t)
	within := t.chargedContext(ctx)
	if t.stored != nil {
		within = t.stored.Context(within, t.began)
	}
	err := t.frame.Run(within, &t.Request, &o.seen)
	if tr.accountTurn(ctx, o, err) && t.Mode != dialect.Unattended {
		abortReply(r)
	}
}

// emission is a turn that runs, with the sinks of its events.
type emission struct {
	turn    *turn
	out     writer
	stamper *stream.Stamper
	seen    observer
	span    trace.Span
}

// beginTurn logs that a turn begins, and joins its sinks. It and accountTurn are apart from
// runTurn, whose frame lies on the stack while the turn runs.
func (tr *turnRunner) beginTurn(in *slot, w http.ResponseWriter, r *http.Request, t *turn) (context.Context, *emission) {
	o := &emission{turn: t}
	ctx, span := tr.beginSpan(withLogger(in.ctx, t), r, t)
	o.span = span
	log := zerolog.Ctx(ctx)
	logAsked(log, r, t)
	addTurnHeaders(t.replyHeader(w), log, t)
	o.out = tr.outputs.turnWriter(w, r, t, in.cancel)
	if t.stored != nil {
		t.stored.OnBreak(o.out.Discard)
	}
	o.stamper = stream.NewStamper(t.outputChain(o.out), t.began)
	o.seen.Only, o.seen.next, o.seen.noRoom = stream.Tools, o.stamper, t.noRoom
	return ctx, o
}

// beginSpan begins the span of a turn. The span of a turn that continues links to the span of the
// paused turn.
func (tr *turnRunner) beginSpan(ctx context.Context, r *http.Request, t *turn) (context.Context, trace.Span) {
	path := t.route.Path
	ctx, span := trace.Request(ctx, tr.tracer, r.Header, r.Method, path)
	if span.On() {
		span.String("http.request.method", r.Method)
		span.String("http.route", path)
		span.String("sluice.request_id", chat.RequestID(ctx))
		if t.Request.Resumed != nil {
			span.Link(t.Request.Resumed.Trace)
		}
	}
	return ctx, span
}

// withLogger adds the turn's user and conversation to the request's logger.
func withLogger(ctx context.Context, t *turn) context.Context {
	user, conversation := t.Request.UserID, t.Request.ConversationID
	if user == "" && conversation == "" {
		return ctx
	}
	c := zerolog.Ctx(ctx).With()
	if user != "" {
		c = c.Str("user_id", user)
	}
	if conversation != "" {
		c = c.Str("conversation_id", conversation)
	}
	log := c.Logger()
	return log.WithContext(ctx)
}

// logAsked is logReceived for a turn that was read: it adds the history and tools of its client's
// program.
func logAsked(log *zerolog.Logger, r *http.Request, t *turn) {
	details := logRequestLine(zerolog.Dict(), r).Int("input_length", utf8.RuneCountInString(t.Request.Input))
	if p := t.Request.Pruning; t.route.Dialect != "" || p != (chat.Pruning{}) {
		details.Str("dialect", t.route.Name()).Bool("streamed", t.Form == dialect.Streamed).
			Int("history_messages", p.Kept).Int("history_chars", p.Chars)
		tools := 0
		if app := t.Request.App; app != nil {
			tools = len(app.Tools)
		}
		details.Int("client_tools", tools)
	}
	log.Info().Dict("details", details).Msg("request_received")
}

// addTurnHeaders adds the headers about the turn to its reply. It also logs that a part of the
// history was left out, for the operator.
func addTurnHeaders(h http.Header, log *zerolog.Logger, t *turn) {
	for name, values := range t.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	if t.charged != nil {
		t.charged.Headers(h)
	}
	if app := t.Request.App; app != nil {
		dialect.AddIgnored(h, app.Ignored)
	}
	p := t.Request.Pruning
	dropped := p.Dropped + p.Context
	if dropped == 0 {
		return
	}
	h.Set("X-Sluice-History", fmt.Sprintf("kept=%d; dropped=%d", p.Kept, dropped))
	log.Info().Dict("details", zerolog.Dict().Int("kept", p.Kept).Int("dropped", dropped)).Msg("history_pruned")
}

// accountTurn closes the reply of a turn that is over, and records it in metrics, log and traces.
// broken says that the client did not get the whole.
//
// err is why the turn ended without an answer; nil if it had one.
func (tr *turnRunner) accountTurn(ctx context.Context, o *emission, err error) (broken bool) {
	if o.turn.stored != nil {
		o.turn.stored.StopGathering() // the reply is this goroutine's again
	}
	closeErr := o.out.Close()
	tr.metrics.countRequest(o.turn, &o.seen)
	tr.metrics.countTurn(&o.seen, o.stamper, o.out.Stats(), time.Since(o.turn.began), spentBefore(o.turn))
	logCompleted(zerolog.Ctx(ctx), &o.seen, err, time.Since(o.turn.began))
	o.seen.endSpan(o.span)
	return closeErr != nil || o.seen.Done == nil
}

// logCompleted logs the end of a turn. err is why it ended without an answer; nil if it
// had one.
func logCompleted(log *zerolog.Logger, seen *observer, err error, total time.Duration) {
	reason := seen.finishReason()
	details := zerolog.Dict().
		Int64("total_duration_ms", total.Milliseconds()).
		Bool("success", reason.Success()).
		Str("finish_reason", string(reason)).
		Strs("tools_called", loggedNames(seen.calledTools())).
		Int("events", seen.totalEvents())
	if err != nil {
		details.AnErr("cause", err)
	}
	log.Info().Int64("duration_ms", total.Milliseconds()).Dict("details", details).Msg("request_completed")
}

// reportFrame has the turns of a frame logged and counted like the turns of requests.
func (tr *turnRunner) reportFrame(f *stream.Frame) {
	f.OnError, f.OnReset = tr.logFailure, tr.countReset
}

// logFailure logs why a turn ends without an answer.
func (tr *turnRunner) logFailure(ctx context.Context, err error) {
	f := fault.From(err)
	zerolog.Ctx(ctx).Error().Dict("details", zerolog.Dict().
		Str("error_type", string(f.Type)).
		AnErr("error_message", errors.New(fault.LogText(err, tr.logPayloads))).
		Bool("recoverable", f.Type.Recoverable())).Msg("error_occurred")
}

// countReset logs and counts that text was taken back.
func (tr *turnRunner) countReset(ctx context.Context, ev *stream.Reset) {
	tr.metrics.resets.Inc(string(ev.Reason))
	zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().Str("reason", string(ev.Reason)).Int("chars", ev.Runes)).Msg("text_reset")
}
