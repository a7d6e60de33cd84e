package handlers

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
	"sluice/stream/sse"
)

// readers serves clients that read a turn without running it: subscribers, repeated keys and
// lost streams.
type readers struct {
	gate    *gate
	origins *originPolicy
	senders *senders
	limits  *limits
	bodies  *bodyReader
	tasks   *task.Service // nil stores no turn
	outputs *outputs
}

// followStream streams events for a request that runs no turn.
func (rd *readers) followStream(w http.ResponseWriter, r *http.Request, t *turn) error {
	enter := rd.gate.admitStream
	if t.Followed != "" {
		enter = func(parent context.Context) (*slot, error) { return rd.gate.admitReader(parent, t.Followed) }
	}
	in, err := enter(r.Context())
	if err != nil {
		return err
	}
	defer in.leave()
	watch, err := rd.limits.chargeRequest(r, principalOf(t.identity), SpendWatch)
	if err != nil {
		return err
	}
	defer watch.End()
	defer rd.senders.whileMay(t.identity, ruleOf(t.route), in.cancel)()
	defer context.AfterFunc(r.Context(), func() { in.cancel(fault.ErrClientGone) })()
	for name, values := range t.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	out := rd.outputs.readerWriter(w, r, t.Encoder, t.BeatEvents, in.cancel)
	if r.Method == http.MethodHead {
		return out.Close()
	}
	whole := t.Follow(in.ctx, out)
	if out.Close() != nil || !whole {
		abortReply(r)
	}
	return nil
}

// replayUsedKey answers a repeated idempotency key by the turn that used it. A client that wants
// no stream gets the task as it is now.
func (rd *readers) replayUsedKey(w http.ResponseWriter, r *http.Request, t *turn, replay *task.Replay) error {
	switch t.Mode {
	case dialect.Unattended:
		return rd.replyWithTask(r.Context(), w, t)
	case dialect.Early:
		return sendFirst(w, r, t, func() error { return rd.streamUsedTurn(nil, r, t, replay) })
	}
	return rd.streamUsedTurn(w, r, t, replay)
}

// replyWithTask answers a repeated answer whose client wants the task alone. Its used key shows
// that the caller might answer, also about a task of another user.
func (rd *readers) replyWithTask(ctx context.Context, w http.ResponseWriter, t *turn) error {
	tenant := chat.Principal{Tenant: t.Request.Principal.Tenant}
	doc, err := rd.tasks.Show(ctx, task.Caller{Principal: tenant, Inspects: true}, t.Decides)
	if err == nil {
		w.Header().Set("X-Sluice-Replayed", "true")
		rd.tasks.Resumed("attached")
		writeBody(w, http.StatusAccepted, doc)
	}
	return err
}

// streamUsedTurn answers a repeated idempotency key with the turn that it was used for. A client that
// sends requests again by itself has its stream while the turn begins, for it would take
// anything else for the end.
func (rd *readers) streamUsedTurn(w http.ResponseWriter, r *http.Request, t *turn, replay *task.Replay) error {
	enc := t.replayEncoder()
	if enc == nil {
		return &fault.Error{Type: fault.DuplicateRequest, Message: "A turn with this idempotency key runs or has run; it is not run again"}
	}
	in, err := rd.gate.admitReader(r.Context(), replay.Turn)
	if err != nil {
		return err
	}
	defer in.leave()
	watch, err := rd.limits.chargeRequest(r, principalOf(t.identity), SpendRead|SpendWatch)
	if err != nil {
		return err
	}
	defer watch.End()
	defer rd.senders.whileMay(t.identity, ruleOf(t.route), in.cancel)()
	var out writer
	begin := func(e stream.Encoder) {
		h := t.replyHeader(w)
		for name, values := range t.Header {
			h[http.CanonicalHeaderKey(name)] = values
		}
		h.Set("X-Sluice-Replayed", "true")
		t.Encoder = e
		out = rd.outputs.turnWriter(w, r, t, in.cancel)
	}
	var late awaited
	log, err := rd.tasks.Reopen(in.ctx, replay, func() {
		if t.route.Reconnects {
			begin(&late)
			frames := out.(dialect.Frames)
			_ = frames.WriteFrame(sse.Ping()) // sends the head of the reply
			_ = frames.Flush()
		}
	})
	if err != nil {
		return rd.refuseReplay(r, out, err)
	}
	rd.tasks.Resumed("attached")
	if late.Encoder = enc(storedAs(log)); out == nil {
		begin(late.Encoder)
	}
	rd.sendLog(in, r, log, out, 0)
	return nil
}

// refuseReplay answers a repeated key whose turn cannot be reported, or not yet. A stream that
// has begun breaks off, so that its client comes back.
func (rd *readers) refuseReplay(r *http.Request, out writer, err error) error {
	outcome := "failed"
	if errors.Is(err, task.ErrGone) {
		outcome = "gone"
		err = &fault.Error{Type: fault.DuplicateRequest, Message: "A turn with this idempotency key runs or has run; it is not run again"}
	}
	rd.tasks.Resumed(outcome)
	if out != nil {
		_ = out.Close()
		abortReply(r)
	}
	return err
}

// awaited is the encoder of a stream whose turn is not known yet.
type awaited struct{ stream.Encoder }

// Heartbeat returns a comment, also before there is an Encoder.
func (*awaited) Heartbeat() []byte { return sse.Ping() }

// storedAs returns the facts of a logged turn that an encoder needs, so that a reader gets the same
// bytes as the first one.
func storedAs(l *task.Log) dialect.StoredTurn {
	k := dialect.StoredTurn{TurnID: l.Turn, RequestID: l.RequestID, Accumulated: l.Accumulated, Dialect: cmp.Or(l.Dialect, dialect.Native), Facts: l.Facts}
	if l.Began > 0 {
		k.Began = time.Unix(0, l.Began)
	}
	return k
}

// serveReconnect answers a client that lost its stream: with the remaining events, if the turn is
// stored, and else with 204, which stops an EventSource. It admits clients also during a drain.
func (rd *readers) serveReconnect(w http.ResponseWriter, r *http.Request, rt *dialect.Route, by *redeemedTicket) error {
	if err := rd.origins.checkOrigin(r); err != nil {
		return err
	}
	who, err := rd.senderOf(r, rt, by)
	if err != nil {
		return err
	}
	if rd.tasks == nil {
		return replyNoContent(w)
	}
	if err := rd.limits.chargeHead(r, who, ruleOf(rt)); err != nil {
		return err
	}
	turn, after, ok := eventID(r)
	if !ok || rt.Resume == nil {
		return rd.refuseResume(w, "gone")
	}
	named, beatEvents, err := rd.readNamed(w, r, rt, who)
	if err != nil {
		return err
	}
	c, err := callerFor(principalOf(who), named)
	if err != nil {
		return rd.senders.refuseUser(r, who)
	}
	return rd.resumeTurn(w, r, rt.Resume, sought{turn: turn, after: after, by: c, until: who, rule: ruleOf(rt), beatEvents: beatEvents})
}

// readNamed returns the user whom a request names that resumes a turn, and whether it asks for
// heartbeats as events. Both stand in its query, or in the body of a route that has one. Without
// authentication the user is not read.
func (rd *readers) readNamed(w http.ResponseWriter, r *http.Request, rt *dialect.Route, who *access.Identity) (user string, beatEvents bool, err error) {
	if rt.NoBody {
		if err := rd.bodies.dropBody(w, r); err != nil {
			return "", false, err
		}
		if beatEvents, err = heartbeatIn(r.URL.Query()); err == nil {
			user, err = userInQuery(r.URL.Query())
		}
		return user, beatEvents, err
	}
	if rt.User == nil {
		return "", false, nil
	}
	body, err := rd.bodies.readBody(w, r, rt.MaxBody)
	if err != nil {
		return "", false, err
	}
	defer rd.bodies.releaseBody(body)
	if beatEvents, err = dialect.NamedHeartbeat(body); err == nil && who != nil {
		user, err = rt.User(body)
	}
	return user, beatEvents, err
}

// heartbeatIn reports whether a query asks for heartbeats as events.
func heartbeatIn(query url.Values) (event bool, err error) {
	if !query.Has("heartbeat") {
		return false, nil
	}
	event, wrong := chat.CheckHeartbeat(query.Get("heartbeat"))
	if wrong != nil {
		e := new(chat.ValidationError)
		e.Add("/heartbeat", wrong)
		return false, e
	}
	return event, nil
}

// senderOf returns the sender of a reconnect: the owner of its ticket or of its credential.
func (rd *readers) senderOf(r *http.Request, rt *dialect.Route, by *redeemedTicket) (*access.Identity, error) {
	if by != nil {
		return by.sender, nil
	}
	return rd.senders.authenticate(r, ruleOf(rt))
}

// refuseResume replies that a stream cannot be resumed, and counts the outcome.
func (rd *readers) refuseResume(w http.ResponseWriter, outcome string) error {
	rd.tasks.Resumed(outcome)
	return replyNoContent(w)
}

// sought is the request of a reader for a turn.
type sought struct {
	turn  string
	task  string // that it must be of; empty: any
	after int    // the number of the last event that the reader has
	by    task.Caller
	until *access.Identity // its credential ends the stream; nil: without authentication
	rule  rule             // by which until may watch
	// beatEvents is true if the reader asks for heartbeats as events.
	beatEvents bool
}

// resumeTurn sends the rest of a turn.
func (rd *readers) resumeTurn(w http.ResponseWriter, r *http.Request, encoder func(dialect.StoredTurn) stream.Encoder, want sought) error {
	in, err := rd.gate.admitReader(r.Context(), want.turn)
	if err != nil {
		return err
	}
	defer in.leave()
	watch, err := rd.limits.chargeRequest(r, want.by.Principal, SpendWatch)
	if err != nil {
		return err
	}
	defer watch.End()
	log, err := rd.tasks.Await(in.ctx, want.task, want.turn)
	if err == nil && (!log.IsFor(want.by) || want.task != "" && log.Task != want.task) {
		err = task.ErrGone
	}
	if errors.Is(err, task.ErrGone) {
		return rd.refuseResume(w, "gone")
	}
	if err != nil {
		rd.tasks.Resumed("failed")
		return err
	}
	enc := encoder(storedAs(log))
	skipper, ok := enc.(dialect.Skipper)
	if !ok { // the protocol's frames are without ids: this one is of another protocol
		return rd.refuseResume(w, "gone")
	}
	more, err := log.Skip(in.ctx, want.after, skipper.Skip)
	if err != nil && !errors.Is(err, task.ErrGone) { // the store has become unavailable
		rd.tasks.Resumed("failed")
		return err
	}
	if err != nil || !more {
		return rd.refuseResume(w, "gone")
	}
	out := rd.outputs.readerWriter(w, r, enc, want.beatEvents, in.cancel)
	if r.Method == http.MethodHead {
		return out.Close()
	}
	rd.tasks.Resumed("resumed")
	defer rd.senders.whileMay(want.until, want.rule, in.cancel)()
	rd.sendLog(in, r, log, out, want.after)
	return nil
}

// sendLog sends the events of a log from its position on, as they come. A reply that ends without
// Done is aborted, as in runTurn.
func (rd *readers) sendLog(in *slot, r *http.Request, log *task.Log, out writer, from int) {
	defer context.AfterFunc(r.Context(), func() { in.cancel(fault.ErrClientGone) })()
	sent, done := 0, false
	_ = out.Flush()
	for events, err := range log.Events(in.ctx) {
		if err != nil {
			break
		}
		for _, e := range events {
			_ = out.Write(e.Stamp, e.Event) // its error is that of Flush
			_, done = e.Event.(*stream.Done)
		}
		sent += len(events)
		if out.Flush() != nil {
			break
		}
	}
	err := out.Close()
	zerolog.Ctx(r.Context()).Info().Dict("details", zerolog.Dict().Int("from", from).Int("events", sent)).Msg("turn_resumed")
	if err != nil || !done {
		abortReply(r)
	}
}
