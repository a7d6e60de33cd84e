package handlers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync/atomic"
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

// Turns that are kept: all that Config.Tasks adds to the way of a turn.

// checksum is that of what an idempotency key came with: keyed, or if that is nil the
// whole request.
func checksum(r *http.Request, body, keyed []byte) *[32]byte {
	if keyed != nil {
		sum := sha256.Sum256(keyed)
		return &sum
	}
	h := sha256.New()
	_, _ = h.Write([]byte(r.URL.Path + "?" + r.URL.RawQuery + "\n"))
	_, _ = h.Write(body)
	return (*[32]byte)(h.Sum(nil))
}

// keep is stream for a turn that is to be kept. The goroutine that runs the turn runs it to
// the end, also without a client: so a drain waits for it as for any other.
func (s *Server) keep(w http.ResponseWriter, r *http.Request, t *turn) error {
	in, err := s.start(r, t)
	if replay, ok := errors.AsType[*task.Replay](err); ok {
		return s.reattach(w, r, t, replay)
	}
	if err != nil {
		return err
	}
	switch {
	case t.Mode == dialect.Unattended && t.stored != nil:
		return s.unattended(in, w, r, t)
	case t.Mode == dialect.Early:
		return s.sendFirst(w, r, t, func() error { s.finish(in, nil, r, t); return nil })
	}
	s.finish(in, w, r, t)
	return nil
}

// start admits a turn that is to be kept. With an error nothing runs; a *task.Replay says
// that its key was used.
func (s *Server) start(r *http.Request, t *turn) (*slot, error) {
	parent := r.Context()
	if t.Mode != dialect.Attached {
		parent = context.WithoutCancel(parent)
	}
	in, err := s.gate.enter(parent)
	if err != nil {
		return nil, err
	}
	admitted := false
	defer func() {
		if !admitted { // also after a panic
			in.leave()
		}
	}()
	if err := s.limits.chargeTurn(r, t); err != nil {
		return nil, err
	}
	if err := s.commit(in, r, t); err != nil {
		t.uncharge()
		return nil, err
	}
	admitted = true
	return in, nil
}

// commit uses up what the turn may use once, and has the store keep it. Without a store that
// answers, the turn is not kept.
func (s *Server) commit(in *slot, r *http.Request, t *turn) error {
	if err := t.claim(in.ctx); err != nil {
		return err
	}
	if err := s.storeTurn(in, r, t); err != nil || t.stored == nil {
		if err != nil && t.accepted != nil {
			t.accepted.Unclaim()
		}
		return err
	}
	t.noRoom = t.stored.NoRoom()
	if t.asked != "" {
		t.accepted.Decided(in.ctx)
	}
	t.Request.Task, t.Request.Turn = t.stored.Task(), t.stored.ID()
	if t.Request.Facts.Saving = t.stored.Saving(); t.Request.Facts.Saving != nil {
		s.gate.endBy(in, t.stored.HandOver)
	}
	return nil
}

// storeTurn has the store keep a turn, if it can and has room. A turn whose task is all that its client
// gets cannot do without.
func (s *Server) storeTurn(in *slot, r *http.Request, t *turn) (err error) {
	request := s.kept(r, t)
	request.Cancel = in.cancel
	t.stored, err = s.cfg.Tasks.Begin(in.ctx, request)
	if errors.Is(err, task.ErrNoRoom) {
		t.noRoom, err = new(atomic.Bool), nil
		t.noRoom.Store(true)
	}
	if err == nil && t.stored == nil && t.Mode == dialect.Early {
		return fault.NewStoreUnavailable(nil)
	}
	return err
}

// finish runs a turn that start has admitted, and gives its slot back.
func (s *Server) finish(in *slot, w http.ResponseWriter, r *http.Request, t *turn) {
	defer in.leave()
	if t.stored == nil { // the store is unavailable: the turn ends with its connection
		defer context.AfterFunc(r.Context(), func() { in.cancel(fault.ErrClientGone) })()
		s.run(in, w, r, t)
		return
	}
	defer t.stored.End()
	if t.who != nil && w != nil && t.Mode != dialect.Attached && durable(&t.Request) { // its client only watches
		defer s.senders.whileMay(t.who, ruleOf(t.route), func(error) { cut(w, r) })()
	}
	if t.Mode != dialect.Unattended {
		defer context.AfterFunc(r.Context(), t.stored.Left)()
		if t.route.Resume != nil && t.Form == dialect.Streamed {
			t.Encoder = t.route.Resume(dialect.StoredTurn{TurnID: t.stored.ID(), RequestID: chat.RequestID(r.Context()), Accumulated: t.Accumulated,
				Dialect: t.route.Name(), Began: t.began, Facts: t.Facts})
		}
	}
	s.run(in, w, r, t)
}

// kept returns what is to be kept of a turn.
func (s *Server) kept(r *http.Request, t *turn) task.Request {
	var asked task.Protocol
	if t.route.Dialect != "" {
		asked = task.Protocol{Dialect: t.route.Dialect, Began: t.began.UnixNano(), Facts: t.Facts}
	}
	return task.Request{
		Protocol: asked, Chat: &t.Request, TaskID: t.TaskID, Asked: t.asked, Question: t.question, RequestID: chat.RequestID(r.Context()), Accumulated: t.Accumulated,
		Recall: len(s.team(t.Request.Principal.Tenant).Agents) > 0, Detached: t.Mode != dialect.Attached, Retracts: t.route.Retracts, Durable: durable(&t.Request), Key: t.Key, KeyMade: t.KeyMade, Body: t.sum, MessageID: t.MessageID,
		Sender: t.sender,
	}
}

// storedWriter has nothing written that the log does not have. A client that leaves does not
// end a turn that continues without it.
func storedWriter(cfg *sse.Config, t *turn) {
	cfg.Spill = t.stored.Spill
	if t.Mode != dialect.Attached {
		cfg.OnFail = nil
	}
}

// attach answers a repeated idempotency key with the turn that it was used for. A client that
// sends requests again by itself has its stream while the turn begins, for it would take
// anything else for the end.
func (s *Server) attach(w http.ResponseWriter, r *http.Request, t *turn, replay *task.Replay) error {
	enc := t.replayEncoder()
	if enc == nil {
		return &fault.Error{Type: fault.DuplicateRequest, Message: "A turn with this idempotency key runs or has run; it is not run again"}
	}
	in, err := s.gate.read(r.Context(), replay.Turn)
	if err != nil {
		return err
	}
	defer in.leave()
	watch, err := s.limits.charge(r, principalOf(t.who), SpendRead|SpendWatch)
	if err != nil {
		return err
	}
	defer watch.End()
	defer s.senders.whileMay(t.who, ruleOf(t.route), in.cancel)()
	var out writer
	begin := func(e stream.Encoder) {
		h := t.header(w)
		for name, values := range t.Header {
			h[http.CanonicalHeaderKey(name)] = values
		}
		h.Set("X-Sluice-Replayed", "true")
		t.Encoder = e
		out = s.writer(w, r, t, in.cancel)
	}
	var late awaited
	log, err := s.cfg.Tasks.Reopen(in.ctx, replay, func() {
		if t.route.Reconnects {
			begin(&late)
			frames := out.(dialect.Frames)
			_ = frames.WriteFrame(sse.Ping()) // sends the head of the reply
			_ = frames.Flush()
		}
	})
	if err != nil {
		return s.notAttached(r, out, err)
	}
	s.cfg.Tasks.Resumed("attached")
	if late.Encoder = enc(storedAs(log)); out == nil {
		begin(late.Encoder)
	}
	s.replay(in, r, log, out, 0)
	return nil
}

// notAttached answers a repeated key whose turn cannot be reported, or not yet. A stream that
// has begun breaks off, so that its client comes back.
func (s *Server) notAttached(r *http.Request, out writer, err error) error {
	outcome := "failed"
	if errors.Is(err, task.ErrGone) {
		outcome = "gone"
		err = &fault.Error{Type: fault.DuplicateRequest, Message: "A turn with this idempotency key runs or has run; it is not run again"}
	}
	s.cfg.Tasks.Resumed(outcome)
	if out != nil {
		_ = out.Close()
		abort(r)
	}
	return err
}

// awaited is the encoder of a stream whose turn is not known yet.
type awaited struct{ stream.Encoder }

// Heartbeat returns a comment, also before there is an Encoder.
func (*awaited) Heartbeat() []byte { return sse.Ping() }

// storedAs is what an encoder must know of a turn that is read from its log, so
// that a reader gets the same bytes as the first one.
func storedAs(l *task.Log) dialect.StoredTurn {
	k := dialect.StoredTurn{TurnID: l.Turn, RequestID: l.RequestID, Accumulated: l.Accumulated, Dialect: cmp.Or(l.Dialect, dialect.Native), Facts: l.Facts}
	if l.Began > 0 {
		k.Began = time.Unix(0, l.Began)
	}
	return k
}

// comeBack answers a client that lost its stream: with the rest of it, if the turn is kept,
// else with what makes an EventSource stop. It is let in also while the gateway drains.
func (s *Server) comeBack(w http.ResponseWriter, r *http.Request, rt *dialect.Route, by *ticketed) error {
	if err := s.origins.check(r); err != nil {
		return err
	}
	who, err := s.returning(r, rt, by)
	if err != nil {
		return err
	}
	if s.cfg.Tasks == nil {
		return giveUp(w)
	}
	if err := s.limits.chargeHead(r, who, ruleOf(rt)); err != nil {
		return err
	}
	turn, after, ok := eventID(r)
	if !ok || rt.Resume == nil {
		return s.nothing(w, "gone")
	}
	named, err := s.namedUser(w, r, rt, who)
	if err != nil {
		return err
	}
	c, err := callerFor(principalOf(who), named)
	if err != nil {
		return s.senders.refuseUser(r, who)
	}
	return s.resume(w, r, rt.Resume, sought{turn: turn, after: after, by: c, until: who, rule: ruleOf(rt)})
}

// namedUser returns the user whom a request names that resumes a turn: in its query, or in the
// body of a route that has one. Where nobody is asked who they are, the body is not read.
func (s *Server) namedUser(w http.ResponseWriter, r *http.Request, rt *dialect.Route, who *access.Identity) (string, error) {
	if rt.NoBody {
		if err := s.bodies.drop(w, r); err != nil {
			return "", err
		}
		return userInQuery(r.URL.Query())
	}
	if who == nil || rt.User == nil {
		return "", nil
	}
	body, err := s.bodies.read(w, r, rt.MaxBody)
	if err != nil {
		return "", err
	}
	defer s.bodies.release(body)
	return rt.User(body)
}

// returning is who comes back: by a ticket that was read, or with a credential.
func (s *Server) returning(r *http.Request, rt *dialect.Route, by *ticketed) (*access.Identity, error) {
	if by != nil {
		return by.who, nil
	}
	return s.senders.authenticate(r, ruleOf(rt))
}

// nothing answers that there is nothing to resume.
func (s *Server) nothing(w http.ResponseWriter, outcome string) error {
	s.cfg.Tasks.Resumed(outcome)
	return giveUp(w)
}

// sought says what a reader wants of a turn.
type sought struct {
	turn  string
	task  string // that it must be of; empty: any
	after int    // the number of the last event that the reader has
	by    task.Caller
	until *access.Identity // whose credential ends the stream; nil: nobody's does
	rule  rule             // by which until may watch
}

// resume sends the rest of a turn.
func (s *Server) resume(w http.ResponseWriter, r *http.Request, encoder func(dialect.StoredTurn) stream.Encoder, want sought) error {
	in, err := s.gate.read(r.Context(), want.turn)
	if err != nil {
		return err
	}
	defer in.leave()
	watch, err := s.limits.charge(r, want.by.Principal, SpendWatch)
	if err != nil {
		return err
	}
	defer watch.End()
	log, err := s.cfg.Tasks.Await(in.ctx, want.task, want.turn)
	if err == nil && (!log.IsFor(want.by) || want.task != "" && log.Task != want.task) {
		err = task.ErrGone
	}
	if errors.Is(err, task.ErrGone) {
		return s.nothing(w, "gone")
	}
	if err != nil {
		s.cfg.Tasks.Resumed("failed")
		return err
	}
	enc := encoder(storedAs(log))
	skipper, ok := enc.(dialect.Skipper)
	if !ok { // the protocol's frames have no ids: this one is of another protocol
		return s.nothing(w, "gone")
	}
	more, err := log.Skip(in.ctx, want.after, skipper.Skip)
	if err != nil && !errors.Is(err, task.ErrGone) { // the store has become unavailable
		s.cfg.Tasks.Resumed("failed")
		return err
	}
	if err != nil || !more {
		return s.nothing(w, "gone")
	}
	out := s.reader(w, r, enc, in.cancel)
	if r.Method == http.MethodHead {
		return out.Close()
	}
	s.cfg.Tasks.Resumed("resumed")
	defer s.senders.whileMay(want.until, want.rule, in.cancel)()
	s.replay(in, r, log, out, want.after)
	return nil
}

// reader returns what writes to a client that runs nothing.
func (s *Server) reader(w http.ResponseWriter, r *http.Request, enc stream.Encoder, cancel context.CancelCauseFunc) *sse.Writer {
	return sse.NewWriter(w, sse.Config{
		Encoder: enc, Heartbeat: s.cfg.Heartbeat, WriteTimeout: s.cfg.WriteTimeout, HTTP1: lazyDeadline(r), OnFail: cancel,
	})
}

// replay sends what is left of a log, as it comes. A reply that ends without Done is
// aborted, as in run.
func (s *Server) replay(in *slot, r *http.Request, log *task.Log, out writer, from int) {
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
		abort(r)
	}
}
