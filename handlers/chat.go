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
}

func (s *Server) postChat(w http.ResponseWriter, r *http.Request) error {
	t := turn{began: time.Now()}
	if err := s.origins.check(r); err != nil {
		return err
	}
	if lost(r) {
		return giveUp(w)
	}
	body, err := readBody(w, r, s.cfg.BodyTimeout)
	if err != nil {
		return err
	}
	t.Request, err = chat.DecodeRequest(body)
	if t.key, err = headerKey(r, err); err != nil {
		return err
	}
	return s.stream(w, r, t)
}

// headerKey returns the idempotency key of a POST, and err with the key's own fault.
func headerKey(r *http.Request, err error) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	return key, withKey(err, key, r.Header.Values("Idempotency-Key"))
}

func (s *Server) getChat(w http.ResponseWriter, r *http.Request) error {
	t := turn{began: time.Now()}
	if err := s.origins.check(r); err != nil {
		return err
	}
	if lost(r) {
		return giveUp(w)
	}
	if err := dropBody(w, r, s.cfg.BodyTimeout); err != nil {
		return err
	}
	var err error
	t.Request, err = chat.QueryRequest(r.URL.RawQuery)
	keys := queryValues(r, "idempotency_key")
	if len(keys) > 0 {
		t.key = keys[0]
	}
	if err := withKey(err, t.key, keys); err != nil {
		return err
	}
	err = s.stream(w, r, t)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Type == fault.DuplicateRequest {
		return giveUp(w)
	}
	return err
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

// stream decides, runs and streams. An error means that nothing was sent.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, t turn) error {
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

	log := requestLogger(r, t)
	log.Info().Dict("details", zerolog.Dict().Str("method", r.Method).Str("path", r.URL.Path).
		Int("input_length", utf8.RuneCountInString(t.Input))).Msg("request_received")
	out := sse.NewWriter(w, sse.Config{
		Encoder:      t.encoder,
		RequestID:    chat.RequestID(ctx),
		Accumulated:  t.Accumulated,
		Heartbeat:    s.cfg.Heartbeat,
		WriteTimeout: s.cfg.WriteTimeout,
		Began:        t.began,
		OnFail:       cancel,
	})
	seen := observer{next: out}
	guard := stream.NewGuard(&seen)
	err = s.run(log.WithContext(ctx), t.Request, guard)
	err = conclude(ctx, &log, guard, err)
	_ = out.Close()
	s.metrics.turn(&seen, out.Stats(), time.Since(t.began))
	logCompleted(&log, &seen, err, time.Since(t.began))
	return nil
}

// run is the last resort for a runner's bug: whatever happens inside, the stream
// gets its end.
func (s *Server) run(ctx context.Context, req chat.Request, sink stream.Sink) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return s.cfg.Runner.Run(ctx, req, sink)
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

func requestLogger(r *http.Request, t turn) zerolog.Logger {
	c := zerolog.Ctx(r.Context()).With()
	if t.UserID != "" {
		c = c.Str("user_id", t.UserID)
	}
	if t.ConversationID != "" {
		c = c.Str("conversation_id", t.ConversationID)
	}
	return c.Logger()
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
		Strs("tools_called", seen.tools).
		Int("events", seen.total())
	if err != nil {
		details.AnErr("cause", err)
	}
	log.Info().Int64("duration_ms", total.Milliseconds()).Dict("details", details).Msg("request_completed")
}
