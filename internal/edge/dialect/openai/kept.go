package openai

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// cancelled is how long a cancel waits for the turn's end.
const cancelled = 2 * time.Second

// sought finds the response of a path.
func (s *Server) sought(r *http.Request) (*record, string, error) {
	e := new(chat.ValidationError)
	user, wrong := chat.CheckUserID(r.URL.Query().Get("user_id"))
	if e.Add("/user_id", wrong); len(e.Fields) > 0 {
		return nil, "", e
	}
	k, err := s.find(r.Context(), turnOf(r.PathValue("id")), user)
	if err == nil && (k == nil || k.id() != r.PathValue("id")) {
		err = noResponse()
	}
	return k, user, err
}

func noResponse() error {
	return &fault.Error{Type: fault.NotFound, Message: "There is no such response"}
}

// startingAfter reads the number of the last event that a client has; -1: it has none.
func startingAfter(query url.Values) (int, error) {
	given := query.Get("starting_after")
	if given == "" {
		return -1, nil
	}
	after, err := strconv.Atoi(given)
	if err != nil || after < 0 {
		e := new(chat.ValidationError)
		e.Add("/starting_after", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "must be the number of an event"})
		return 0, e
	}
	return after, nil
}

// response answers GET /v1/responses/{id}: with the response as it is, or with the events behind
// the one that the client has.
func (s *Server) response(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	k, _, err := s.sought(r)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	if query.Get("stream") != "true" {
		return s.shown(r.Context(), k)
	}
	after, err := startingAfter(query)
	if err != nil {
		return nil, err
	}
	log, err := s.cfg.Turns.ResponseLog(r.Context(), k.Turn)
	if err != nil {
		return nil, err
	}
	if log == nil {
		return nil, &fault.Error{Type: fault.NotFound, Message: "The events of this response are not kept any more; ask for it without stream"}
	}
	return follow(log, k, after), nil
}

// shown answers with a response as it is.
func (s *Server) shown(ctx context.Context, k *record) (*dialect.Exchange, error) {
	response := k.Response
	if response == nil {
		var err error
		if response, _, err = s.past(ctx, k); err == nil && response == nil { // its log has just gone
			err = noResponse()
		}
		if err != nil {
			return nil, err
		}
	}
	return &dialect.Exchange{Reply: dialect.JSON(response)}, nil
}

// follow reports the events of a turn behind number after.
func follow(log Log, k *record, after int) *dialect.Exchange {
	at := log.Stored()
	e := newResponder(at.RequestID, at.Began, k.facts(), asStream)
	x := &dialect.Exchange{Encoder: e, Followed: k.Turn}
	x.Follow = func(ctx context.Context, out dialect.Frames) bool {
		done := false
		var frames []byte
		err := log.Rest(ctx, func(stamp stream.Stamp, ev stream.Event) {
			first := e.seq
			frames = e.Encode(frames[:0], stamp, ev)
			if rest := without(frames, after+1-first); len(rest) > 0 {
				_ = out.WriteFrame(rest) // its error is that of Flush
			}
			_, is := ev.(*stream.Done)
			done = done || is
		}, out.Flush)
		return err == nil && done
	}
	return x
}

// without returns frames without the first n.
func without(frames []byte, n int) []byte {
	for ; n > 0 && len(frames) > 0; n-- {
		_, frames, _ = bytes.Cut(frames, []byte("\n\n"))
	}
	return frames
}

// drop answers DELETE /v1/responses/{id}. The task stays.
func (s *Server) drop(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	k, _, err := s.sought(r)
	if err == nil {
		err = s.cfg.Turns.DropResponse(r.Context(), k.Turn)
	}
	if err != nil {
		return nil, err
	}
	return document(struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{k.id(), "response", true})
}

// cancel answers POST /v1/responses/{id}/cancel: with the response as it has ended, or as it is
// if that takes longer than a moment.
func (s *Server) cancel(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	k, user, err := s.sought(r)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Turns.CancelResponse(r.Context(), chat.TurnOf(r.Context()).Principal, user, k.Task); err != nil {
		return nil, err
	}
	log, err := s.cfg.Turns.ResponseLog(r.Context(), k.Turn)
	if err == nil && log != nil {
		ctx, cancel := context.WithTimeout(r.Context(), cancelled)
		defer cancel()
		_ = log.Rest(ctx, func(stream.Stamp, stream.Event) {}, func() error { return nil })
	}
	return s.shown(r.Context(), k)
}
