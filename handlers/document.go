package handlers

import (
	"net/http"
	"time"

	"sluice/dialect"
	"sluice/fault"
	"sluice/stream"
	"sluice/stream/sse"
)

// document is the reply to a turn that is sent as one JSON document. Nothing is sent
// until the turn is over, so a turn that fails gets the status of its fault.
type document struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	turn   *turn

	text   []byte
	failed *fault.Error
	done   bool
	sent   bool // the reply
	stats  sse.Stats
}

// Write adds what the encoder makes of ev.
func (d *document) Write(s stream.Stamp, ev stream.Event) error {
	d.text = d.turn.Encoder.Encode(d.text, s, ev)
	switch ev := ev.(type) {
	case *stream.Error:
		if ev.Fatal {
			d.failed = &fault.Error{Type: ev.Type, Message: ev.Message, RetryAfter: ev.RetryAfter}
		}
	case *stream.Done:
		d.done = true
	}
	return nil
}

// Flush has nothing to do: the client gets all of it at the end, unless it is not to wait.
func (d *document) Flush() error {
	if d.turn.Early && !d.sent && len(d.text) > 0 {
		d.send()
	}
	return nil
}

// send sends the reply, once.
func (d *document) send() {
	d.sent = true
	respond(d.w, dialect.JSON(d.text))
}

// Blocked is 0 as long as events come.
func (d *document) Blocked() time.Duration { return 0 }

// Close sends the reply, unless the turn was left without an end.
func (d *document) Close() error {
	if !d.done || d.sent {
		return nil
	}
	began := time.Now()
	if d.failed != nil && !d.turn.Told {
		d.server.refuse(d.w, d.r, d.server.refusal(d.r, d.failed), d.server.shape(d.r))
	} else {
		d.send()
	}
	d.stats.Blocked = time.Since(began)
	return nil
}

// Stats returns the figures of the one write.
func (d *document) Stats() sse.Stats { return d.stats }
