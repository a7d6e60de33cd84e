package handlers

import (
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// front is the first part that a request passes, at the address of the API as at that of operators.
type front struct {
	log          zerolog.Logger
	isSealed     bool
	writeTimeout time.Duration // of a reply that is not a stream
	hosts        hostPolicy
	origins      *originPolicy
	bodies       *bodyReader
	refuser      *refuser
}

// identifyRequest gives the request an id: the client's own if it is fit, else one of
// ours. It is on the response, in the context and in the log lines of the request.
func (fr *front) identifyRequest(w http.ResponseWriter, r *http.Request) *http.Request {
	id := requestID(r.Header[requestIDHeader])
	w.Header()[requestIDHeader] = []string{id}
	ctx := chat.WithTurn(r.Context(), chat.Turn{RequestID: id, Began: time.Now()})
	log := fr.log.With().Str("request_id", id).Logger()
	r = r.WithContext(log.WithContext(ctx))
	fr.bodies.trackBody(w, r)
	return r
}

// trackReply returns the writer of a reply, which knows whether the reply has begun.
func (fr *front) trackReply(w http.ResponseWriter, r *http.Request) *trackedWriter {
	return &trackedWriter{ResponseWriter: w, r: r, began: time.Now(), timeout: fr.writeTimeout}
}

// sealReply adds the headers for every reply of a gateway with authentication or TLS. A page of
// another origin then cannot load a reply as if it were a picture or a script, and no browser sends
// on where its user was.
func (fr *front) sealReply(w http.ResponseWriter, r *http.Request) {
	if !fr.isSealed {
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer") // the page's own files have another one: see serveFile
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000") // one year
	}
}

// isAnswered reports whether the request had its answer before it is routed.
func (fr *front) isAnswered(w *trackedWriter, r *http.Request) bool {
	placeOf(r).Busy()
	return fr.refusedHost(w, r) || fr.origins.answerPreflight(w, r) || fr.crowdedOut(w, r)
}

// refusedHost reports whether it has refused the request because of its host.
func (fr *front) refusedHost(w http.ResponseWriter, r *http.Request) bool {
	err := fr.hosts.checkHost(r)
	if err != nil {
		fr.refuser.refuseRequest(w, r, err)
	}
	return err != nil
}

// crowdedOut reports whether it has refused a request on a connection without a place. An
// operator's request for the state of the gateway is answered even then.
func (fr *front) crowdedOut(w *trackedWriter, r *http.Request) bool {
	if !placeOf(r).Surplus() {
		return false
	}
	w.Header().Set("Connection", "close")
	switch r.URL.Path {
	case "/healthz", "/readyz", "/metrics":
		return false
	}
	fr.refuser.refuseRequest(w, r, &fault.Error{Type: fault.Overloaded, Message: "All the connections that the gateway can take are in use; try again in a moment"})
	return true
}
