package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// TailWait is how long the end of a stream is waited for once the answer has
// come. A connection whose stream ended is used again (FastMCP on uvicorn sends
// the end in a packet of its own, 0.1 ms later); another one is closed.
const TailWait = 50 * time.Millisecond

// wholeReply reads the reply to a POST, at most x.limit bytes of it, and returns a
// body that holds it. stop ends the request; wholeReply, or the body's Close,
// calls it. Meanwhile x.OnMessage gets the messages that come before the answer.
//
// A stream in which the server asks us something before it answers cannot be read
// to its end first: then the body is what was read and the stream behind it.
func wholeReply(resp *http.Response, x *Exchange, stop context.CancelFunc) (io.ReadCloser, error) {
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	r := reply{src: resp.Body, limit: x.limit, stop: stop, onMessage: x.OnMessage, events: mediaType == "text/event-stream"}
	state, err := r.read()
	if state == asked {
		src := resp.Body
		rest := &io.LimitedReader{R: src, N: int64(x.limit)}
		return body{io.MultiReader(bytes.NewReader(r.buf), rest), func() error {
			stop()
			return src.Close()
		}}, nil
	}
	resp.Body.Close()
	stop()
	if errors.Is(err, ErrTooLarge) {
		if whole := x.salvage(r.head()); whole != nil {
			return io.NopCloser(bytes.NewReader(r.framed(whole))), nil
		}
	}
	return io.NopCloser(bytes.NewReader(r.buf)), err
}

// head returns the beginning of the message in which the reply broke off.
func (r *reply) head() []byte {
	if !r.events {
		return r.buf
	}
	rest := bytes.TrimPrefix(r.buf[r.seen:], []byte("data:"))
	return append(r.data, rest...)
}

// framed returns a message as the body of such a reply.
func (r *reply) framed(message []byte) []byte {
	if !r.events {
		return message
	}
	return slices.Concat([]byte("data: "), message, []byte("\n\n"))
}

// minRead is the room for one read: most replies are smaller.
const minRead = 1 << 10

// said is what a reply has brought so far.
type said int

const (
	nothing  said = iota
	answered      // the response
	asked         // a request of the server's own
)

// reply reads the reply to one POST into memory. It belongs to one goroutine.
type reply struct {
	src    io.Reader
	limit  int
	stop   context.CancelFunc
	events bool // src is a stream of server-sent events

	onMessage func(message []byte) // gets each notification; may be nil

	buf   []byte
	seen  int    // how much of buf was scanned
	event int    // where the event at hand begins
	data  []byte // of it
}

// read reads src until it ends, breaks off, grows too large or turns into a
// conversation.
func (r *reply) read() (said, error) {
	state := nothing
	for {
		r.buf = slices.Grow(r.buf, minRead)
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if len(r.buf) > r.limit+maxNotes {
			return state, ErrTooLarge
		}
		if r.events && state == nothing {
			state = r.scan()
			switch state {
			case nothing:
				r.forget()
			case answered:
				// Timer (tail of a reply): cancels a stream whose answer has come and which stays
				// open.
				// Ends: the stream ends, or it has fired.
				// Waits: nobody: it only cancels a context.
				defer time.AfterFunc(TailWait, r.stop).Stop()
			}
		}
		switch {
		case state == asked, err == io.EOF:
			return state, nil
		case err != nil && state == answered:
			return state, nil // the answer is there, however the stream ended
		case err != nil:
			return state, &cutError{err}
		}
	}
}

// scan looks at the events that are complete in buf.
func (r *reply) scan() said {
	for {
		i := bytes.IndexByte(r.buf[r.seen:], '\n')
		if i < 0 {
			return nothing
		}
		line := bytes.TrimSuffix(r.buf[r.seen:r.seen+i], []byte("\r"))
		r.seen += i + 1
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			r.data = append(append(r.data, data...), '\n')
			continue
		}
		if len(line) > 0 {
			continue
		}
		message := r.data
		state := classify(message)
		r.data = r.data[:0] // message stays as it is until the next line is read
		if state != nothing {
			return state
		}
		if r.onMessage != nil {
			r.onMessage(message)
		}
		r.event = r.seen
	}
}

// maxNotes is how much of the notifications before an answer is kept.
const maxNotes = 64 << 10

// forget drops the notifications so far once they have become many: a tool that
// reports its progress in detail is not one whose answer is too large.
func (r *reply) forget() {
	if r.event > maxNotes {
		r.buf = append(r.buf[:0], r.buf[r.event:]...)
		r.seen -= r.event
		r.event = 0
	}
}

// classify says whether a message is a JSON-RPC response or a request; a notification,
// like anything else, is nothing.
func classify(message []byte) said {
	var id, method bool
	dec := jsontext.NewDecoder(bytes.NewReader(message), Lenient)
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nothing
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nothing
		}
		key := name.String()
		kind := dec.PeekKind()
		if dec.SkipValue() != nil {
			return nothing
		}
		id = id || key == "id" && kind != 'n'
		method = method || key == "method"
	}
	switch {
	case id && method:
		return asked
	case id:
		return answered
	}
	return nothing
}
