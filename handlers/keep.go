package handlers

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"

	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/dialect"
	"sluice/fault"
	"sluice/stream"
	"sluice/stream/sse"
	"sluice/task"
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

// keep is stream for a turn that is to be kept. Its goroutine runs the turn to the end,
// also without a client: so a drain waits for it as for any other.
func (s *Server) keep(w http.ResponseWriter, r *http.Request, t *turn) error {
	parent := r.Context()
	if t.Detached {
		parent = context.WithoutCancel(parent)
	}
	ctx, cancel, leave, err := s.gate.enter(parent)
	if err != nil {
		return err
	}
	unheard := false // then the turn's own goroutine leaves
	defer func() {
		if !unheard {
			leave()
		}
	}()
	if err := t.take(ctx); err != nil {
		return err
	}
	request := s.kept(r, t)
	request.Cancel = cancel
	t.kept, err = s.cfg.Tasks.Begin(ctx, request)
	if replay, ok := errors.AsType[*task.Replay](err); ok {
		return s.attach(ctx, cancel, w, r, t, replay.Turn)
	}
	if err != nil {
		return err
	}
	if t.kept == nil && t.Early {
		return &fault.Error{Type: fault.StoreUnavailable, Message: "The store is unavailable; try again in a moment"}
	}
	if t.kept == nil { // the store is unavailable: the turn ends with its connection
		defer context.AfterFunc(r.Context(), func() { cancel(fault.ErrClientGone) })()
		s.run(ctx, cancel, w, r, t)
		return nil
	}
	if t.asked != "" {
		t.accepted.Decided(ctx)
	}
	t.Request.Task, t.Request.Turn = t.kept.Task(), t.kept.ID()
	if t.Unheard {
		unheard = true
		return s.unheard(ctx, cancel, leave, w, r, t)
	}
	defer t.kept.End()
	if t.Request.Deliver {
		ctx = chat.WithTurnID(ctx, t.kept.ID())
	}
	if t.route.Resume != nil {
		t.Encoder = t.route.Resume(dialect.Kept{TurnID: t.kept.ID(), RequestID: chat.RequestID(r.Context()), Accumulated: t.Accumulated})
	}
	s.run(ctx, cancel, w, r, t)
	return nil
}

// kept returns what is to be kept of a turn.
func (s *Server) kept(r *http.Request, t *turn) task.Request {
	return task.Request{
		Chat: &t.Request, TaskID: t.TaskID, Asked: t.asked, RequestID: chat.RequestID(r.Context()), Accumulated: t.Accumulated,
		Recall: len(s.team().Agents) > 0, Detached: t.Detached, Durable: durable(&t.Request), Key: t.Key, Body: t.sum,
	}
}

// durable says whether a turn is a run of a workflow.
func durable(req *chat.Request) bool {
	return req.Workflow != "" || req.Resumed != nil && req.Resumed.By == chat.PausedWorkflow
}

// keptWriter has nothing written that the log does not have. A client that leaves does not
// end a turn that goes on without it.
func keptWriter(cfg *sse.Config, t *turn) {
	cfg.Spill = t.kept.Spill
	if t.Detached {
		cfg.OnFail = nil
	}
}

// attach answers a repeated idempotency key with the turn that it was used for.
func (s *Server) attach(ctx context.Context, cancel context.CancelCauseFunc, w http.ResponseWriter, r *http.Request, t *turn, turn string) error {
	used := &fault.Error{Type: fault.DuplicateRequest, Message: "A turn with this idempotency key runs or has run; it is not run again"}
	enc := t.retelling()
	if enc == nil {
		return used
	}
	log, err := s.cfg.Tasks.OpenLog(ctx, turn)
	if errors.Is(err, task.ErrGone) {
		s.cfg.Tasks.Resumed("gone")
		return used
	}
	if err != nil {
		return err
	}
	w.Header().Set("X-Sluice-Replayed", "true")
	s.cfg.Tasks.Resumed("attached")
	t.Encoder = enc(keptAs(log))
	s.retell(ctx, cancel, r, log, s.writer(w, r, t, cancel), 0)
	return nil
}

// retelling returns what makes the encoder of a turn that is told again; nil: nothing
// does.
func (t *turn) retelling() func(dialect.Kept) stream.Encoder {
	switch {
	case t.Attach:
		return func(dialect.Kept) stream.Encoder { return t.Encoder }
	case t.Collect:
		return nil
	}
	return t.route.Resume
}

// keptAs is what an encoder must know of a turn that is read from its log, so
// that a reader gets the same bytes as the first one.
func keptAs(l *task.Log) dialect.Kept {
	return dialect.Kept{TurnID: l.Turn, RequestID: l.RequestID, Accumulated: l.Accumulated}
}

// takeUp answers a client that lost its stream: with the rest of it, if the turn is kept,
// else with what makes an EventSource stop.
func (s *Server) takeUp(w http.ResponseWriter, r *http.Request, rt *dialect.Route) error {
	turn, after, ok := eventID(r)
	if !ok || rt.Resume == nil {
		return s.nothing(w, "gone")
	}
	if rt.NoBody {
		if err := s.dropBody(w, r); err != nil {
			return err
		}
	}
	who, err := s.sender(r)
	if err != nil {
		return err
	}
	return s.resume(w, r, rt.Resume, sought{turn: turn, after: after, who: who})
}

// nothing answers that there is nothing to resume.
func (s *Server) nothing(w http.ResponseWriter, outcome string) error {
	s.cfg.Tasks.Resumed(outcome)
	return giveUp(w)
}

// sender returns who sent a request that runs nothing.
func (s *Server) sender(r *http.Request) (chat.Principal, error) {
	if s.cfg.Authenticate == nil {
		return chat.Principal{}, nil
	}
	return s.cfg.Authenticate(r)
}

// sought says what a reader wants of a turn.
type sought struct {
	turn  string
	task  string // that it must be of; empty: any
	after int    // the number of the last event that the reader has
	who   chat.Principal
}

// resume sends the rest of a turn. A reader counts as a stream.
func (s *Server) resume(w http.ResponseWriter, r *http.Request, encoder func(dialect.Kept) stream.Encoder, want sought) error {
	ctx, cancel, leave, err := s.gate.enter(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	log, err := s.logOf(ctx, want)
	if err == nil && (log.Tenant != want.who.Tenant || want.task != "" && log.Task != want.task) {
		err = task.ErrGone
	}
	if errors.Is(err, task.ErrGone) {
		return s.nothing(w, "gone")
	}
	if err != nil {
		s.cfg.Tasks.Resumed("failed")
		return err
	}
	enc := encoder(keptAs(log))
	more, err := log.Skip(ctx, want.after, func(ev stream.Event) { enc.(dialect.Skipper).Skip(ev) })
	if err != nil && !errors.Is(err, task.ErrGone) { // the store has become unavailable
		s.cfg.Tasks.Resumed("failed")
		return err
	}
	if err != nil || !more {
		return s.nothing(w, "gone")
	}
	s.cfg.Tasks.Resumed("resumed")
	s.retell(ctx, cancel, r, log, s.reader(w, r, enc, cancel), want.after)
	return nil
}

// logOf opens the log of a turn.
func (s *Server) logOf(ctx context.Context, want sought) (*task.Log, error) {
	if want.task == "" {
		return s.cfg.Tasks.OpenLog(ctx, want.turn)
	}
	return s.cfg.Tasks.Await(ctx, want.task, want.turn)
}

// reader returns what writes to a client that runs nothing.
func (s *Server) reader(w http.ResponseWriter, r *http.Request, enc stream.Encoder, cancel context.CancelCauseFunc) *sse.Writer {
	return sse.NewWriter(w, sse.Config{
		Encoder: enc, Heartbeat: s.cfg.Heartbeat, WriteTimeout: s.cfg.WriteTimeout, HTTP1: r.ProtoMajor == 1, OnFail: cancel,
	})
}

// retell sends what is left of a log, as it comes. A reply that ends without Done is
// aborted, as in stream.
func (s *Server) retell(ctx context.Context, cancel context.CancelCauseFunc, r *http.Request, log *task.Log, out writer, from int) {
	defer context.AfterFunc(r.Context(), func() { cancel(fault.ErrClientGone) })()
	told, done := 0, false
	_ = out.Flush()
	for events, err := range log.Events(ctx) {
		if err != nil {
			break
		}
		for _, e := range events {
			_ = out.Write(e.Stamp, e.Event) // its error is that of Flush
			_, done = e.Event.(*stream.Done)
		}
		told += len(events)
		if out.Flush() != nil {
			break
		}
	}
	err := out.Close()
	zerolog.Ctx(r.Context()).Info().Dict("details", zerolog.Dict().Int("from", from).Int("events", told)).Msg("turn_resumed")
	if err != nil || !done {
		abort(r)
	}
}
