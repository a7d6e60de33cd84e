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

	"github.com/mark3labs/mcp-go/mcp"
)

// TailWait is how long the end of a stream is waited for once the answer has come. A connection
// whose stream ended is used again; another one is closed. FastMCP on uvicorn sends the end in a
// packet of its own, 0.1 ms later.
const TailWait = 50 * time.Millisecond

// wholeReply reads the reply to a POST, at most x.limit bytes of it, and returns a
// body that holds it. stop ends the request; wholeReply, or the body's Close,
// calls it. Meanwhile x.OnMessage gets the messages that come before the answer.
// mcp-go can read the response in the body, whatever form the server gave it.
//
// If the server asks us something before it answers, the stream cannot be read to its end first.
// The body is then the part that was read, and the stream behind it.
func wholeReply(resp *http.Response, x *Exchange, stop context.CancelFunc) (io.ReadCloser, error) {
	r := newReply(resp, x, stop)
	state, err := r.readReply()
	if state == questioned {
		src := resp.Body
		return body{r.streamRest(&io.LimitedReader{R: src, N: int64(x.limit)}), func() error {
			stop()
			return src.Close()
		}}, nil
	}
	resp.Body.Close()
	stop()
	if errors.Is(err, ErrTooLarge) {
		if whole := x.salvageTools(r.messageHead()); whole != nil {
			return io.NopCloser(bytes.NewReader(r.frameMessage(whole))), nil
		}
	}
	if state == answered && !r.events {
		resp.Header.Set("Content-Type", "application/json") // whatever the server calls it
	}
	return io.NopCloser(bytes.NewReader(r.buf)), err
}

// newReply returns the reply to a POST, of which nothing was read.
func newReply(resp *http.Response, x *Exchange, stop context.CancelFunc) *reply {
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return &reply{
		src: resp.Body, limit: x.limit, stop: stop, onMessage: x.OnMessage, id: x.id,
		events: mediaType == "text/event-stream", resumes: !x.modern,
	}
}

// messageHead returns the beginning of the message in which the reply ended.
func (r *reply) messageHead() []byte {
	if !r.events {
		return r.buf
	}
	rest := bytes.TrimPrefix(r.buf[r.seen:], []byte("data:"))
	return append(r.data, rest...)
}

// frameMessage returns a message as the body of such a reply.
func (r *reply) frameMessage(message []byte) []byte {
	if !r.events {
		return message
	}
	return slices.Concat([]byte("data: "), message, []byte("\n\n"))
}

// minRead is the room for one read: most replies are smaller.
const minRead = 1 << 10

// reply reads the reply to one POST into memory. It belongs to one goroutine.
type reply struct {
	src    io.Reader
	limit  int
	stop   context.CancelFunc
	events bool // src is a stream of server-sent events
	// id is that of the request; nil means any. A response with another id answers nothing.
	id mcp.RequestId
	// resumes is true if the server may still have the remaining part of a stream that ends or
	// breaks.
	resumes bool

	onMessage func(message []byte) // gets each notification; may be nil

	buf   []byte
	seen  int    // how much of buf was scanned
	event int    // where the event at hand begins
	data  []byte // of it
	next  []byte // its id, nil without one
	// answer is the response, once readReply has returned answered.
	answer message
	// cursor is the id of the last complete event, and retry the last line with the time to resume.
	cursor, retry []byte
}

// readReply reads src until it ends, breaks off, grows too large or turns into a
// conversation.
func (r *reply) readReply() (messageKind, error) {
	state := nothing
	for {
		r.buf = slices.Grow(r.buf, minRead)
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if len(r.buf) > r.limit+maxNotes {
			return state, ErrTooLarge
		}
		if r.events && state == nothing {
			state = r.scanEvents()
			switch state {
			case nothing:
				r.dropNotes()
			case answered:
				// Timer (tail of a reply): cancels a stream whose answer has come and which stays
				// open.
				// Ends: the stream ends, or it has fired.
				// Waits: nobody: it only cancels a context.
				defer time.AfterFunc(TailWait, r.stop).Stop()
			}
		}
		switch {
		case state == questioned:
			return state, nil
		case err == io.EOF && state == nothing:
			return r.readEnd()
		case err == io.EOF:
			return state, nil
		case err != nil && state == answered:
			return state, nil // the answer is there, however the stream ended
		case err != nil && r.isResumable(err):
			return state, nil // mcp-go resumes a stream that ended, and not one that broke off
		case err != nil:
			return state, &cutError{err}
		}
	}
}

// readEnd looks at the text behind the last complete event, or at the whole of a reply without
// events, when src has ended.
func (r *reply) readEnd() (messageKind, error) {
	text := r.buf
	if r.events {
		if text = r.data; r.seen < len(r.buf) {
			text = r.messageHead()
		}
	}
	state, m := r.findAnswer(text)
	switch {
	case state == stray && r.events:
		r.buf = r.buf[:r.event]
		return nothing, nil
	case state == stray && m.isFor(r.id) && m.classify() == stray:
		return nothing, &cutError{errNoAnswer}
	case state != answered:
		return nothing, nil
	case !m.isPlain():
		r.buf = append(r.buf[:r.event:r.event], r.frameMessage(m.marshalFitted())...)
	}
	r.answer = m
	return answered, nil
}

// findAnswer returns what text says to the request: the first response to it, or else what its only
// message is.
func (r *reply) findAnswer(text []byte) (state messageKind, found message) {
	for m := range splitMessages(text) {
		found, state = m, m.classify()
		switch {
		case state != answered:
		case m.isFor(r.id):
			return answered, m
		default:
			state = stray
		}
	}
	return state, found
}

// isResumable reports whether a stream that broke off with err can be resumed behind an event.
func (r *reply) isResumable(err error) bool {
	return r.resumes && len(r.cursor) > 0 && !errors.Is(err, ErrTooLarge)
}

// scanEvents looks at the events that are complete in buf. It returns at the first response or
// request.
func (r *reply) scanEvents() messageKind {
	for {
		i := bytes.IndexByte(r.buf[r.seen:], '\n')
		if i < 0 {
			return nothing
		}
		line := bytes.TrimSuffix(r.buf[r.seen:r.seen+i], []byte("\r"))
		r.seen += i + 1
		if len(line) > 0 {
			r.readField(line)
			continue
		}
		if r.next != nil {
			r.cursor, r.next = r.next, nil
		}
		state, m := r.findAnswer(r.data)
		switch {
		case state == answered:
			if r.answer = m; !m.isPlain() {
				r.replaceEvent(r.frameMessage(m.marshalFitted()))
			}
		case state == stray:
			r.replaceEvent(r.resumeMark())
			state = nothing
		case state == nothing && r.onMessage != nil:
			r.onMessage(r.data)
		}
		r.data = r.data[:0]
		if state != nothing {
			return state
		}
		r.event = r.seen
	}
}

// readField takes one line of an event.
func (r *reply) readField(line []byte) {
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		r.data = append(append(r.data, data...), '\n')
	} else if id, ok := bytes.CutPrefix(line, []byte("id:")); ok {
		r.next = append([]byte{}, bytes.TrimPrefix(id, []byte(" "))...)
	} else if bytes.HasPrefix(line, []byte("retry:")) {
		r.retry = append(r.retry[:0], line...)
	}
}

// replaceEvent puts text in place of the event that was scanned last.
func (r *reply) replaceEvent(text []byte) {
	r.buf = slices.Replace(r.buf, r.event, r.seen, text...)
	r.seen = r.event + len(text)
}

// resumeMark returns an event without data, with the place to resume the stream from.
func (r *reply) resumeMark() []byte {
	var text []byte
	if len(r.cursor) > 0 {
		text = append(append(append(text, "id: "...), r.cursor...), '\n')
	}
	if len(r.retry) > 0 {
		text = append(append(text, r.retry...), '\n')
	}
	if text == nil {
		return nil
	}
	return append(text, '\n')
}

// maxNotes is how much of the notifications before an answer is kept.
const maxNotes = 64 << 10

// dropNotes drops the notifications so far once they are many. A tool with a detailed progress is
// not one with an answer that is too large.
func (r *reply) dropNotes() {
	if r.event > maxNotes {
		mark := r.resumeMark()
		r.buf = append(append(r.buf[:0:0], mark...), r.buf[r.event:]...)
		r.seen += len(mark) - r.event
		r.event = len(mark)
	}
}
