package handlers

import (
	"bytes"
	"errors"
	"net/http"
)

// firstReply hands the reply of a turn from its goroutine to that of the request. Later replies are
// dropped, as the first one was sent.
type firstReply struct {
	header http.Header   // of the turn's goroutine until sent is closed
	sent   chan struct{} // closed when the fields below are set, for good
	text   []byte
	err    error
	isSent bool // of the turn's goroutine: sent is closed
}

func (f *firstReply) send(text []byte) { f.setReply(bytes.Clone(text), nil) }
func (f *firstReply) refuse(err error) { f.setReply(nil, err) }

func (f *firstReply) setReply(text []byte, err error) {
	if f.isSent {
		return
	}
	f.isSent = true
	f.text, f.err = text, err
	close(f.sent)
}

// errEarly is the bug of a turn that ended without a first event.
var errEarly = errors.New("the turn ended before it began")
