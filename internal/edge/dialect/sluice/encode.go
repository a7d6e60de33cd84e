package sluice

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect/native"
	"sluice/stream"
	"sluice/stream/sse"
)

// encoder turns events into frames. It holds the parts that all frames of a turn share, so that a
// frame costs only its own bytes.
type encoder struct {
	native.Data
	idPrefix   []byte // "id: req_…:"
	dataPrefix []byte // `data: {"request_id":"req_…"`
	retry      time.Duration
}

// NewEncoder returns the encoder of a turn. requestID must consist of characters that are never
// escaped: [A-Za-z0-9._-]. With accumulated each response_delta repeats the text so far. retry is
// the EventSource retry time; 0 means sse.NoRetry.
func NewEncoder(requestID string, accumulated bool, retry time.Duration) stream.Encoder {
	if retry == 0 {
		retry = sse.NoRetry
	}
	return newEncoder(requestID, requestID, accumulated, retry)
}

// newStoredEncoder is NewEncoder for a turn that can be resumed. The ids of its events are of the
// turn, and a client that lost its stream returns after a second.
func newStoredEncoder(turnID, requestID string, accumulated bool) stream.Encoder {
	return newEncoder(turnID, requestID, accumulated, time.Second)
}

// newEncoder returns an encoder whose constant parts of a frame are rendered
// once. id is what event ids begin with; retry 0 writes no retry line.
func newEncoder(id, requestID string, accumulated bool, retry time.Duration) *encoder {
	quoted, _ := jsontext.AppendQuote(nil, requestID)
	return &encoder{
		idPrefix:   append(append([]byte("id: "), id...), ':'),
		dataPrefix: append([]byte(`data: {"request_id":`), quoted...),
		retry:      retry,
		Data:       native.Data{Accumulate: accumulated},
	}
}

// Heartbeat returns a comment.
func (e *encoder) Heartbeat() []byte { return sse.Ping() }

// Encode appends the one frame of ev.
//
// It appends nothing for an event that is neither a core event nor an extension.
func (e *encoder) Encode(dst []byte, s stream.Stamp, ev stream.Event) []byte {
	before := len(dst)
	dst, ok := e.Append(e.openFrame(dst, s.N, stream.Name(ev)), ev)
	if !ok {
		return dst[:before]
	}
	return append(dst, "}\n\n"...)
}

// openFrame begins a frame up to the first member after request_id.
func (e *encoder) openFrame(dst []byte, n int, event string) []byte {
	if n == 1 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, e.retry.Milliseconds(), 10)
		dst = append(dst, '\n')
	}
	if n > 0 { // else nobody can come back to it: stream.Passing
		dst = append(dst, e.idPrefix...)
		dst = strconv.AppendInt(dst, int64(n), 10)
		dst = append(dst, '\n')
	}
	dst = append(dst, "event: "...)
	dst = append(dst, event...)
	dst = append(dst, '\n')
	return append(dst, e.dataPrefix...)
}
