package gemini

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"

	"github.com/google/generative-ai-go/genai"

	"sluice/internal/model"
)

// sdkCallKey is the key of the *sdkAnswer in the context of a call.
type sdkCallKey struct{}

var errForeignRequest = errors.New("not the one request of a call")

// sdkTransport is what the SDK believes to be the network. In place of the SDK's
// request it sends the one that the rest source makes, with another URL, other
// headers and the body that the call carries; and in place of the event stream it
// returns the array that the SDK expects. Redirects and errors of the service come
// back as errors, so that the SDK's http.Client has nothing to follow.
type sdkTransport struct{}

// RoundTrip sends our own rendered body in place of the SDK's, once a call. It
// refuses a second request of the same call: attempts are the frame's to
// decide.
func (sdkTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	a, ok := req.Context().Value(sdkCallKey{}).(*sdkAnswer)
	if !ok || a.asked { // retries are not the SDK's to decide
		return nil, errForeignRequest
	}
	a.asked = true
	p := &a.pump
	if p.upstream, p.err = a.rest.open(req.Context(), a.body); p.err != nil {
		return nil, p.err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: p, ContentLength: -1, Request: req,
	}, nil
}

// pump is the body that the SDK reads: a JSON array with one element per chunk of
// the answer. An element holds what the SDK has types for, and is made only when
// the SDK asks for more, so that nothing waits in between. The chunk itself is
// kept as a record, for anyone who takes the element out at the SDK's other end.
type pump struct {
	upstream *restAnswer // nil until the service has agreed to answer
	records  []rawChunk  // read by the SDK and not popped yet, oldest first
	element  []byte      // reused
	unread   []byte      // rest of element
	elements int         // so far
	// err is why there is no further chunk; io.EOF: the stream ended cleanly. It
	// stays: the SDK reads once more after an error, and calls it a good end if
	// there is none then.
	err error
}

// Read gives the SDK whole events, as the service sent them.
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

// Close does nothing: the SDK closes only after some endings, and sdkAnswer.close
// does it after all.
func (p *pump) Close() error { return nil }

// fill makes the next element, or the end of the array.
func (p *pump) fill() {
	n := len(p.records)
	if n == cap(p.records) {
		p.records = append(p.records, rawChunk{})
	}
	p.records = p.records[:n+1]
	if p.err = p.upstream.next(&p.records[n]); p.err != nil {
		p.records = p.records[:n]
	}
	b := p.element[:0]
	switch {
	case p.err == nil:
		b = p.append(b, &p.records[n])
	case p.err == io.EOF && p.elements == 0:
		b = append(b, `[]`...)
	case p.err == io.EOF:
		b = append(b, ']')
	}
	p.element, p.unread = b, b
}

// append appends the element of c. Each has a candidate of another index: those of
// one index the SDK joins into one answer, all its text again for each chunk.
//
// A call goes without its arguments, which are handed on byte for byte from the
// record: the SDK would make numbers of type float64 of all numbers, and give up
// at one that is none, such as 1e999.
func (p *pump) append(b []byte, c *rawChunk) []byte {
	separator := byte(',')
	if p.elements == 0 {
		separator = '['
	}
	b = append(append(b, separator), `{"candidates":[{"index":`...)
	b = strconv.AppendInt(b, int64(p.elements&math.MaxInt32), 10)
	b = append(b, `,"content":{"parts":[`...)
	p.elements++
	first := true
	for i := range c.parts {
		part := &c.parts[i]
		if !typed(part) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		if part.call != nil {
			b = append(model.AppendString(append(b, `{"functionCall":{"name":`...), part.call.name), `}}`...)
		} else {
			b = append(model.AppendString(append(b, `{"text":`...), part.text), '}')
		}
	}
	return append(b, `]}}]}`...)
}

// typed says whether the SDK has a type for p that we have a use for. Some of the
// others it answers with a panic.
func typed(p *rawPart) bool { return p.call != nil || !p.foreign }

// pop puts the oldest record into c.
func (p *pump) pop(c *rawChunk) bool {
	n := len(p.records)
	if n == 0 {
		return false
	}
	oldest := p.records[0]
	copy(p.records, p.records[1:])
	p.records[n-1] = *c // for its room
	p.records = p.records[:n-1]
	*c = oldest
	return true
}

// takeOver puts the texts and the names of calls that came through the SDK into
// the record c of the same chunk. It says whether the two belong together.
func takeOver(c *rawChunk, resp *genai.GenerateContentResponse) bool {
	if len(resp.Candidates) != 1 || resp.Candidates[0].Content == nil {
		return false
	}
	parts := resp.Candidates[0].Content.Parts
	for i := range c.parts {
		p := &c.parts[i]
		if !typed(p) {
			continue
		}
		if len(parts) == 0 {
			return false
		}
		text, isText := parts[0].(genai.Text)
		call, isCall := parts[0].(genai.FunctionCall)
		switch {
		case p.call == nil && isText:
			p.text = string(text)
		case p.call != nil && isCall:
			p.call.name = call.Name
		default:
			return false
		}
		parts = parts[1:]
	}
	return len(parts) == 0
}
