package handlers

import (
	"io"
	"net/http"
	"time"
)

// trackedWriter knows whether the reply has begun. A reply that begins while the request's body is
// unread closes the connection, unless the body is short and has arrived: net/http would wait for
// the rest first. HTTP/2 does not need that: there it would end the connection for all its streams.
type trackedWriter struct {
	http.ResponseWriter
	r       *http.Request
	began   time.Time     // the request
	begun   bool          // the reply
	closing bool          // it closes the connection, whose body is unread
	timeout time.Duration // of the writes of a reply that is not a stream; 0: none
}

// beginReply also bounds the time of the reply, for a client that does not read. A stream sets
// deadlines of its own. Deadlines of other replies end with them: over HTTP/1 net/http clears them
// behind the reply, and over HTTP/2 they are the request's own.
func (w *trackedWriter) beginReply() {
	if w.begun {
		return
	}
	w.begun = true
	if w.timeout > 0 && (w.r.ProtoMajor == 1 || w.Header().Get("Content-Type") != "text/event-stream") {
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.timeout))
	}
	if w.r.ProtoMajor != 1 {
		return
	}
	if w.closing = !settleBody(w.ResponseWriter, w.r); w.closing {
		w.Header().Set("Connection", "close")
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *trackedWriter) WriteHeader(status int) {
	w.beginReply()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *trackedWriter) Write(p []byte) (int, error) {
	w.beginReply()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (w *trackedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// linger ends our side behind a reply that left a body unread, and reads on: a client that still
// writes would otherwise be reset and lose the reply. net/http does so with a short body of a known
// length, but its reader of chunks returns a first error for ever.
func (w *trackedWriter) linger() {
	n := w.r.ContentLength
	if !w.closing || n >= 0 && n <= maxByServer || n > 0 && w.r.Header.Get("Expect") != "" {
		return
	}
	c := connOf(w.r.Context()).Conn
	if c == nil || http.NewResponseController(w.ResponseWriter).Flush() != nil {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && w.r.TLS == nil {
		_ = half.CloseWrite()
	}
	_, _ = io.CopyN(io.Discard, c, maxLinger) // settleBody has set a deadline
}
