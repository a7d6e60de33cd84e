package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
	"sluice/stream/sse"
)

// turn is a chat request that has passed validation.
type turn struct {
	chat.Request
	key     string // idempotency key; empty: none
	began   time.Time
	encoder sse.Encoder // nil: the one of the gateway's own stream
	over    func()      // called at the end; nil: nothing is
}

// The handlers leave reading to functions of their own: an open stream keeps the
// frames of all that called it on its stack, which has room for them in 8 KB but
// would else grow to 16 (docs/performance.md).

func (s *Server) postChat(w http.ResponseWriter, r *http.Request) error {
	t, err := s.posted(w, r)
	if t == nil {
		return err
	}
	return s.stream(w, r, t)
}

// posted reads the turn of a POST. It returns nil if there is none to run: the
// error says why, or the reply was given.
func (s *Server) posted(w http.ResponseWriter, r *http.Request) (*turn, error) {
	t := &turn{began: time.Now()}
	body, err := s.body(w, r)
	if body == nil {
		return nil, err
	}
	t.Request, err = chat.DecodeRequest(body)
	if t.key, err = headerKey(r, err); err != nil {
		return nil, err
	}
	return t, nil
}

// body reads the body of a POST that may run something. It returns nil if nothing
// is to run: the error says why, or the reply was given.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if wanted, err := s.wanted(w, r); !wanted {
		return nil, err
	}
	return s.readBody(w, r)
}

// wanted decides what can be decided before the body of a request that may run
// something: neither time nor memory is spent on one that will be refused. It returns
// false if the body is not to be read: the error says why, or the reply was given.
func (s *Server) wanted(w http.ResponseWriter, r *http.Request) (bool, error) {
	if s.gate.isDraining() && !lost(r) { // whoever comes back need not ask elsewhere
		return false, s.gate.vacant()
	}
	if err := s.origins.check(r); err != nil {
		return false, err
	}
	if lost(r) {
		return false, giveUp(w)
	}
	if r.Method == http.MethodPost {
		if err := wantJSON(r); err != nil {
			return false, err
		}
	}
	if r.ContentLength > maxBody {
		return false, tooLarge()
	}
	if err := s.gate.vacant(); err != nil {
		return false, err
	}
	return true, nil
}

// headerKey returns the idempotency key of a POST, and err with the key's own fault.
func headerKey(r *http.Request, err error) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	return key, withKey(err, key, r.Header.Values("Idempotency-Key"))
}

func (s *Server) getChat(w http.ResponseWriter, r *http.Request) error {
	t, err := s.queried(w, r)
	if t == nil {
		return err
	}
	err = s.stream(w, r, t)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Type == fault.DuplicateRequest {
		return giveUp(w)
	}
	return err
}

// queried reads the turn of a GET, as posted does.
func (s *Server) queried(w http.ResponseWriter, r *http.Request) (*turn, error) {
	t := &turn{began: time.Now()}
	if wanted, err := s.wanted(w, r); !wanted {
		return nil, err
	}
	if err := s.dropBody(w, r); err != nil {
		return nil, err
	}
	var err error
	t.Request, err = chat.QueryRequest(r.URL.RawQuery)
	t.Tools = s.cfg.GetTools
	keys := queryValues(r, "idempotency_key")
	if len(keys) > 0 {
		t.key = keys[0]
	}
	if err := withKey(err, t.key, keys); err != nil {
		return nil, err
	}
	return t, nil
}

func queryValues(r *http.Request, name string) []string {
	q, _ := url.ParseQuery(r.URL.RawQuery)
	return q[name]
}

// lost says whether the client had this stream before and lost it. A turn is
// never run twice because a connection was lost, and there is nothing to resume.
func lost(r *http.Request) bool { return len(r.Header.Values("Last-Event-ID")) > 0 }

// giveUp answers 204, the one reply that makes an EventSource stop for good.
func giveUp(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// withKey adds the fault of an idempotency key to those of the request.
func withKey(err error, key string, given []string) error {
	if len(given) == 0 || len(given) == 1 && wellFormed(key, 8, 128) {
		return err
	}
	v, ok := errors.AsType[*chat.ValidationError](err)
	if !ok {
		v = &chat.ValidationError{}
	}
	v.Fields = append(v.Fields, chat.FieldError{
		Field: "/idempotency_key", Code: chat.CodeInvalidFormat, Message: "must be one value of 8 to 128 of A-Z a-z 0-9 . _ -",
	})
	return v
}

// stream decides, runs and streams. An error means that nothing was sent. A reply
// whose client did not get its Done is aborted, whatever kept it: a client that left
// and one that only closed its sending side look the same, and the latter must not
// take what it got for the whole.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, t *turn) error {
	ctx, cancel, leave, err := s.gate.enter(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	release, err := s.keys.take(t.UserID, t.key)
	if err != nil {
		return err
	}
	defer release()
	if t.over != nil {
		defer t.over()
	}

	ctx = withLogger(ctx, t)
	log := zerolog.Ctx(ctx)
	logReceived(log, r, t)
	out := s.writer(ctx, w, r, t, cancel)
	seen := &observer{next: out}
	guard := stream.NewGuard(seen)
	err = s.run(ctx, t, guard)
	err = conclude(ctx, log, guard, err)
	closeErr := out.Close()
	s.metrics.turn(seen, out.Stats(), time.Since(t.began))
	logCompleted(log, seen, err, time.Since(t.began))
	if closeErr != nil || !guard.Ended() {
		abort(r)
	}
	return nil
}

// run is the last resort for a runner's bug: whatever happens inside, the stream
// gets its end.
func (s *Server) run(ctx context.Context, t *turn, sink stream.Sink) (err error) {
	defer rescue(&err)
	return s.cfg.Runner.Run(ctx, t.Request, sink)
}

func rescue(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// conclude gives the stream the end that its runner did not, unless nobody is left
// to hear it. It returns what kept the client from hearing it all.
func conclude(ctx context.Context, log *zerolog.Logger, guard *stream.Guard, err error) error {
	switch {
	case guard.Ended(), errors.Is(fault.Cause(ctx), fault.ErrClientGone):
		return err
	case err == nil:
		err = errors.New("the runner returned before Done")
	case errors.Is(err, fault.ErrClientGone): // it is not: a bug, and told as one
		err = fmt.Errorf("the runner gave up: %v", err)
	}
	log.Error().Dict("details", faultDetails(fault.From(err))).Msg("error_occurred")
	return guard.Fail(err)
}

// writer commits the reply.
func (s *Server) writer(ctx context.Context, w http.ResponseWriter, r *http.Request, t *turn, cancel context.CancelCauseFunc) *sse.Writer {
	return sse.NewWriter(w, sse.Config{
		Encoder:      t.encoder,
		RequestID:    chat.RequestID(ctx),
		Accumulated:  t.Accumulated,
		Heartbeat:    s.cfg.Heartbeat,
		WriteTimeout: s.cfg.WriteTimeout,
		HTTP1:        r.ProtoMajor == 1,
		Began:        t.began,
		OnFail:       cancel,
	})
}

// withLogger adds to the request's logger what the turn says of its sender.
func withLogger(ctx context.Context, t *turn) context.Context {
	if t.UserID == "" && t.ConversationID == "" {
		return ctx
	}
	c := zerolog.Ctx(ctx).With()
	if t.UserID != "" {
		c = c.Str("user_id", t.UserID)
	}
	if t.ConversationID != "" {
		c = c.Str("conversation_id", t.ConversationID)
	}
	log := c.Logger()
	return log.WithContext(ctx)
}

func logReceived(log *zerolog.Logger, r *http.Request, t *turn) {
	log.Info().Dict("details", logRequestLine(zerolog.Dict(), r).
		Int("input_length", utf8.RuneCountInString(t.Input))).Msg("request_received")
}

func logCompleted(log *zerolog.Logger, seen *observer, err error, total time.Duration) {
	reason := seen.reason
	if reason == "" { // the client left before the end
		reason = stream.Cancelled
	}
	details := zerolog.Dict().
		Int64("total_duration_ms", total.Milliseconds()).
		Bool("success", reason.Success()).
		Str("finish_reason", string(reason)).
		Strs("tools_called", loggedNames(seen.tools)).
		Int("events", seen.total())
	if err != nil {
		details.AnErr("cause", err)
	}
	log.Info().Int64("duration_ms", total.Milliseconds()).Dict("details", details).Msg("request_completed")
}
