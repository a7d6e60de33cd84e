package sdk

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"

	"sluice/internal/model"
)

// callKey is the key of the *Answer in the context of a call.
type callKey struct{}

var errForeignRequest = errors.New("not the one request of a call")

// Transport is the network that the SDK sees. It drops the SDK's request and opens the
// Upstream of the call. In place of the event stream it returns the array that the SDK
// expects. Redirects and errors of the service come back as errors, so that the SDK's
// http.Client does not follow them.
type Transport struct{}

// RoundTrip opens the Upstream, once a call. It refuses a second request of the same call:
// the caller decides about attempts.
func (Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	a, ok := req.Context().Value(callKey{}).(*Answer)
	if !ok || a.hasSent { // a retry of the SDK
		return nil, errForeignRequest
	}
	a.hasSent = true
	p := &a.pump
	if p.err = p.upstream.Open(req.Context()); p.err != nil {
		return nil, p.err
	}
	p.opened = true
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: p, ContentLength: -1, Request: req,
	}, nil
}

// pump is the body that the SDK reads: a JSON array with one element per chunk of the
// answer. An element is made only when the SDK asks for more, so that no chunk waits in
// between.
type pump struct {
	upstream Upstream
	opened   bool   // the service has agreed to reply
	pending  int    // elements that the SDK has read and not returned yet
	element  []byte // reused
	unread   []byte // the end of element
	elements int    // so far
	// err is the reason why the chunks ended. io.EOF means that the stream ended cleanly. It
	// stays: the SDK reads again after an error, and would call a success then a good end.
	err error
}

// Read gives the SDK whole elements.
func (p *pump) Read(b []byte) (int, error) {
	for len(p.unread) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		p.fill()
	}
	n := copy(b, p.unread)
	p.unread = p.unread[n:]
	return n, nil
}

// Close does nothing: the SDK closes only after some endings, and the caller always closes
// the Upstream.
func (p *pump) Close() error { return nil }

// fill makes the next element, or the end of the array.
func (p *pump) fill() {
	var parts []Part
	parts, p.err = p.upstream.Next()
	b := p.element[:0]
	switch {
	case p.err == nil:
		b = p.appendElement(b, parts)
	case p.err == io.EOF && p.elements == 0:
		b = append(b, `[]`...)
	case p.err == io.EOF:
		b = append(b, ']')
	}
	p.element, p.unread = b, b
}

// appendElement appends the element of a chunk. Each has a candidate of another index: the
// SDK joins the chunks of one index into one answer, all its text again for each chunk.
//
// A call goes without its arguments: the caller has them byte for byte. The SDK would make
// a float64 of each number, and give up at one outside its range, such as 1e999.
func (p *pump) appendElement(b []byte, parts []Part) []byte {
	separator := byte(',')
	if p.elements == 0 {
		separator = '['
	}
	b = append(append(b, separator), `{"candidates":[{"index":`...)
	b = strconv.AppendInt(b, int64(p.elements&math.MaxInt32), 10)
	b = append(b, `,"content":{"parts":[`...)
	p.elements++
	p.pending++
	for i := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		if parts[i].IsCall {
			b = append(model.AppendString(append(b, `{"functionCall":{"name":`...), parts[i].Name), `}}`...)
		} else {
			b = append(model.AppendString(append(b, `{"text":`...), parts[i].Text), '}')
		}
	}
	return append(b, `]}}]}`...)
}
