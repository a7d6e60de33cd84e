package handlers

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

const (
	// maxDrained is how long an unread body may be for its connection to be kept.
	maxDrained = 4 << 10
	// drainTime bounds the time to read the part of such a body that the kernel holds. It is not
	// meant for waiting: with less, the time may be over before the first read.
	drainTime = 2 * time.Millisecond
	// lingerTime is how long an unread body is read on behind the reply: a connection
	// that is closed at once would be reset, and the client might lose the reply. With
	// the half second that net/http adds at times it stays below one.
	lingerTime = 400 * time.Millisecond
	maxLinger  = 4 << 20 // bytes
	// maxByServer is the size of the longest body of a known length that net/http reads behind the
	// reply. It reads nothing of a longer one.
	maxByServer = 256 << 10
)

// trackedBody knows how much of the body was read, and counts it while all of it is
// kept.
type trackedBody struct {
	io.ReadCloser
	all   *bodies
	share share
	until time.Time // its deadline; zero: without one
	begun bool      // something was read, or tried to be
	done  bool      // it was read to its end
}

// Read implements io.Reader.
func (b *trackedBody) Read(p []byte) (int, error) {
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	b.done = b.done || err == io.EOF
	if n > 0 {
		b.all.countBytes(&b.share, n)
	}
	return n, err
}

// isUnread reports whether a part of the request's body is still to be read.
func isUnread(r *http.Request) bool {
	b, ok := r.Body.(*trackedBody)
	return ok && !b.done
}

// bodyReader reads the bodies of requests, within bounds of size, time and memory.
type bodyReader struct {
	budget  bodies // of the memory of all bodies
	buffers buffers
	timeout time.Duration // of one body
}

// trackBody bounds the time of the request's body. The deadline stands until the body is read to
// its end, when net/http clears it, or until the connection is closed. In between net/http reads
// the rest of the body by itself.
func (br *bodyReader) trackBody(w http.ResponseWriter, r *http.Request) {
	b := &trackedBody{ReadCloser: r.Body, all: &br.budget, done: r.Body == http.NoBody}
	if !b.done {
		b.until = time.Now().Add(br.timeout)
		_ = http.NewResponseController(w).SetReadDeadline(b.until)
	}
	r.Body = b
}

// settleBody handles an unread body, right before the reply to a request over HTTP/1. It reports
// whether the connection can be kept: a short body that is there already is read. It does not wait
// for any other body.
func settleBody(w http.ResponseWriter, r *http.Request) (keep bool) {
	if !isUnread(r) {
		return true
	}
	rc := http.NewResponseController(w)
	if drainShort(rc, r) {
		return true
	}
	_ = rc.SetReadDeadline(time.Now().Add(lingerTime))
	placeOf(r).Waiting()
	return false
}

// drainShort reads a short body that has arrived. A client that asks before it sends
// (Expect) has not sent it; a read would ask it to.
func drainShort(rc *http.ResponseController, r *http.Request) bool {
	b := r.Body.(*trackedBody)
	if b.begun || r.ContentLength > maxDrained || r.Header.Get("Expect") != "" {
		return false
	}
	if rc.SetReadDeadline(time.Now().Add(drainTime)) != nil {
		return false
	}
	_, err := io.CopyN(io.Discard, b, maxDrained+1)
	return err == io.EOF
}

// anyType is a Route's ContentType that takes all.
const anyType = "*/*"

// wantType refuses a body of another type, by the header alone.
func wantType(r *http.Request, want string) error {
	if want == anyType {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != want {
		return &fault.Error{Type: fault.UnsupportedMediaType, Message: "Send the request as Content-Type: " + want}
	}
	return nil
}

// dropBody reads and drops the body of a request that does not need one.
func (br *bodyReader) dropBody(w http.ResponseWriter, r *http.Request) error {
	switch {
	case !isUnread(r):
		return nil
	case r.ContentLength > dialect.MaxBody:
		return tooLarge(dialect.MaxBody)
	}
	_, err := br.receiveBody(w, r, "", dialect.MaxBody)
	return err
}

// readBody reads the body to its end, within its limits of size (bytes) and time: only then
// does the server notice that a client leaves. It returns the content: unpacked, and without a
// byte order mark.
func (br *bodyReader) readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	encoding, err := encodingOf(r)
	if err != nil {
		return nil, err
	}
	body, err := br.receiveBody(w, r, encoding, limit)
	return withoutMark(body), err
}

// releaseBody gives back the memory of a body that readBody has returned.
func (br *bodyReader) releaseBody(body []byte) { br.buffers.put(body) }

// receiveBody reads the body and unpacks it. Its content counts among all bodies that are held.
func (br *bodyReader) receiveBody(w http.ResponseWriter, r *http.Request, encoding string, limit int64) ([]byte, error) {
	b, place := r.Body.(*trackedBody), placeOf(r)
	place.Waiting()
	br.budget.beginBody(&b.share, w)
	body, err := br.buffers.readAll(http.MaxBytesReader(w, b, bytesOf(limit, encoding)))
	if err != nil {
		err = bodyFault(err, b.until, limit)
	} else {
		arrived := len(body)
		body, err = br.buffers.unpackBody(body, encoding, limit)
		br.budget.countBytes(&b.share, max(len(body)-arrived, 0))
	}
	if br.budget.endBody(&b.share) {
		b.done = false
		br.buffers.put(body)
		return nil, &fault.Error{Type: fault.RequestTimeout, Message: "The request's body took longer than those of others, and there is no room for all"}
	}
	place.Busy()
	if err != nil {
		return nil, err
	}
	if r.ProtoMajor != 1 { // where net/http does not clear it
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	return body, nil
}

// bodyFault returns the fault of a body that could not be read. net/http does not always say
// that it was the deadline. limit is how many bytes the body may have.
func bodyFault(err error, deadline time.Time, limit int64) error {
	if errors.Is(err, net.ErrClosed) { // the client is gone: only the log gets it
		return &fault.Error{Type: fault.RequestTimeout, Message: "The connection was closed to make room for another one", Err: err}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(deadline) {
		return &fault.Error{Type: fault.RequestTimeout, Message: "The request's body did not arrive in time", Err: err}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit)
	}
	return &chat.ValidationError{Fields: []chat.FieldError{{
		Code: chat.CodeInvalidJSON, Message: "the body could not be read to its end",
	}}}
}
