package geminisim

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// framing is how an answer travels.
type framing int

const (
	framingSSE   framing = iota // :streamGenerateContent?alt=sse
	framingArray                // :streamGenerateContent: a JSON array, an element at a time
	framingUnary                // :generateContent: one object
)

// reply writes one answer. Its methods return an error when the client has left.
type reply struct {
	w       http.ResponseWriter
	ctx     context.Context
	framing framing
	model   string // modelVersion of every chunk
	id      string // responseId of every chunk

	status  int // of the headers; 0 means 200
	started bool
	events  int   // written so far
	split   int   // >0: write in pieces of so many bytes, with a flush after each
	unary   chunk // the collected chunks of a unary answer
}

// sendHeaders sends the headers, once.
func (r *reply) sendHeaders() {
	if r.started {
		return
	}
	r.started = true
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if h := r.w.Header(); h.Get("Content-Type") == "" {
		h.Set("Content-Type", r.contentType())
	}
	r.w.WriteHeader(r.status)
}

// contentType is that of the service, to the letter.
func (r *reply) contentType() string {
	if r.framing == framingSSE {
		return "text/event-stream"
	}
	return "application/json; charset=UTF-8"
}

// sendChunk sends one chunk with the given parts. finish is "" but for the last one.
func (r *reply) sendChunk(parts []outPart, finish, message string, u *usage) error {
	c := chunk{
		Candidates: []candidate{{
			Content:       modelContent{Parts: parts, Role: "model"},
			FinishReason:  finish,
			FinishMessage: message,
		}},
		UsageMetadata: u,
		ModelVersion:  r.model,
		ResponseID:    r.id,
	}
	if r.framing == framingUnary {
		r.unary.mergeChunk(c)
		return nil
	}
	b, err := json.Marshal(c, r.layoutOptions())
	if err != nil {
		return err
	}
	return r.sendEvent(b)
}

// layoutOptions is how the API lays out JSON: on one line with a blank after each colon
// in an SSE stream, indented elsewhere.
func (r *reply) layoutOptions() json.Options {
	if r.framing == framingSSE {
		return jsontext.SpaceAfterColon(true)
	}
	return jsontext.WithIndent("  ")
}

// sendEvent sends one element of the stream, as it is.
func (r *reply) sendEvent(data []byte) error {
	r.events++
	switch {
	case r.framing == framingSSE:
		return r.write("data: " + string(data) + "\r\n\r\n")
	case r.framing == framingArray && r.events > 1:
		return r.write(",\r\n" + string(data) + "\n")
	case r.framing == framingArray:
		return r.write("[" + string(data) + "\n")
	}
	return r.write(string(data))
}

// end closes the answer cleanly.
func (r *reply) end() error {
	switch {
	case r.framing == framingArray && r.events > 0:
		return r.write("]\n")
	case r.framing == framingUnary && r.unary.Candidates != nil:
		b, err := json.Marshal(r.unary, r.layoutOptions())
		if err != nil {
			return err
		}
		return r.write(string(b) + "\n")
	}
	r.sendHeaders()
	return nil
}

// write sends bytes and flushes them.
func (r *reply) write(s string) error {
	r.sendHeaders()
	for len(s) > 0 {
		n := len(s)
		if r.split > 0 {
			n = min(n, r.split)
		}
		if _, err := r.w.Write([]byte(s[:n])); err != nil {
			return err
		}
		if err := r.flush(); err != nil {
			return err
		}
		s = s[n:]
	}
	return r.ctx.Err()
}

// flush sends the written bytes, and the headers before them.
func (r *reply) flush() error {
	r.sendHeaders()
	return http.NewResponseController(r.w).Flush()
}

// sleep waits for d, or until the client leaves.
func (r *reply) sleep(d time.Duration) error {
	if d <= 0 {
		return r.ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// wait holds the connection open until the client leaves.
func (r *reply) wait() error {
	<-r.ctx.Done()
	return r.ctx.Err()
}

// cutConnection ends the connection in the middle of the answer: the client reads an
// unexpected EOF, or, with reset over TCP, "connection reset by peer".
func (r *reply) cutConnection(reset bool) error {
	if !reset {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := http.NewResponseController(r.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
	return context.Canceled
}

// fail answers with an error in the API's shape. In a JSON array stream it is
// the array's only element, as with the real API.
func (r *reply) fail(e *apiError) error {
	r.status = e.Code
	b, err := json.Marshal(map[string]*apiError{"error": e}, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	text := string(b) + "\n"
	if r.framing == framingArray {
		text = "[" + text + "]\n"
	}
	h := r.w.Header()
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json; charset=UTF-8")
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	return r.write(text)
}

// refuse answers with an error where nothing else is to be done: a client that
// has left in the meantime is of no interest.
func (r *reply) refuse(e *apiError) { _ = r.fail(e) }
