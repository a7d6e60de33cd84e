package handlers

import (
	"net/http"
	"time"

	"sluice/internal/turn/chat"
)

const requestIDHeader = "X-Request-Id"

// identified gives the request an id: the client's own if it is fit, else one of
// ours. It is on the response, in the context and in the log lines of the request.
func (s *Server) identified(w http.ResponseWriter, r *http.Request) *http.Request {
	id := requestID(r.Header[requestIDHeader])
	w.Header()[requestIDHeader] = []string{id}
	ctx := chat.WithTurn(r.Context(), chat.Turn{RequestID: id, Began: time.Now()})
	log := s.cfg.Log.With().Str("request_id", id).Logger()
	r = r.WithContext(log.WithContext(ctx))
	s.bodies.track(w, r)
	return r
}

// requestID accepts one value of 1 to 64 [A-Za-z0-9._-].
func requestID(inbound []string) string {
	if len(inbound) == 1 && chat.Token(inbound[0], 1, 64) {
		return inbound[0]
	}
	return chat.NewRequestID()
}
