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

// cancelWait is how long a cancel waits for the turn's end.
const cancelWait = 2 * time.Second

// recordOfPath finds the response of a path.
func (s *Server) recordOfPath(r *http.Request) (*record, string, error) {
	e := new(chat.ValidationError)
	user, wrong := chat.CheckUserID(r.URL.Query().Get("user_id"))
	if e.Add("/user_id", wrong); len(e.Fields) > 0 {
		return nil, "", e
	}
	k, err := s.findRecord(r.Context(), turnOf(r.PathValue("id")), user)
	if err == nil && (k == nil || k.responseID() != r.PathValue("id")) {
		err = noResponse()
	}
	return k, user, err
}

func noResponse() error {
	return &fault.Error{Type: fault.NotFound, Message: "There is no such response"}
}

// startingAfter reads the number of the last event that a client has, or returns -1 without one.
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

// getResponse answers GET /v1/responses/{id}: with the response as it is, or with the events behind
// the one that the client has.
func (s *Server) getResponse(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	k, _, err := s.recordOfPath(r)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	if query.Get("stream") != "true" {
		return s.replyStored(r.Context(), k)
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
	return followLog(log, k, after), nil
}

// replyStored answers with a response as it is.
func (s *Server) replyStored(ctx context.Context, k *record) (*dialect.Exchange, error) {
	response := k.Response
	if response == nil {
		var err error
		if response, _, err = s.responseSoFar(ctx, k); err == nil && response == nil { // its log has just gone
			err = noResponse()
		}
		if err != nil {
			return nil, err
		}
	}
	return &dialect.Exchange{Reply: dialect.JSON(response)}, nil
}

// followLog reports the events of a turn behind number after.
func followLog(log Log, k *record, after int) *dialect.Exchange {
	at := log.Stored()
	e := newResponder(at.RequestID, at.Began, k.encoderFacts(), asStream)
	x := &dialect.Exchange{Encoder: e, Followed: k.Turn}
	x.Follow = func(ctx context.Context, out dialect.Frames) bool {
		done := false
		var frames []byte
		err := log.Follow(ctx, func(stamp stream.Stamp, ev stream.Event) {
			first := e.seq
			frames = e.Encode(frames[:0], stamp, ev)
			if rest := skipFrames(frames, after+1-first); len(rest) > 0 {
				_ = out.WriteFrame(rest) // its error is that of Flush
			}
			_, is := ev.(*stream.Done)
			done = done || is
		}, out.Flush)
		return err == nil && done
	}
	return x
}

// skipFrames returns frames without the first n.
func skipFrames(frames []byte, n int) []byte {
	for ; n > 0 && len(frames) > 0; n-- {
		_, frames, _ = bytes.Cut(frames, []byte("\n\n"))
	}
	return frames
}

// deleteResponse answers DELETE /v1/responses/{id}. The task stays.
func (s *Server) deleteResponse(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	k, _, err := s.recordOfPath(r)
	if err == nil {
		err = s.cfg.Turns.DropResponse(r.Context(), k.Turn)
	}
	if err != nil {
		return nil, err
	}
	return jsonReply(struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{k.responseID(), "response", true})
}

// cancelResponse answers POST /v1/responses/{id}/cancel: with the response as it has ended, or as it is
// if that takes longer than a moment.
func (s *Server) cancelResponse(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	k, user, err := s.recordOfPath(r)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Turns.CancelResponse(r.Context(), chat.TurnOf(r.Context()).Principal, user, k.Task); err != nil {
		return nil, err
	}
	log, err := s.cfg.Turns.ResponseLog(r.Context(), k.Turn)
	if err == nil && log != nil {
		ctx, cancel := context.WithTimeout(r.Context(), cancelWait)
		defer cancel()
		_ = log.Follow(ctx, func(stream.Stamp, stream.Event) {}, func() error { return nil })
	}
	return s.replyStored(r.Context(), k)
}
