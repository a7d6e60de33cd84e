package handlers

import (
	"net/http"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/state/task"
	"sluice/stream"
	"sluice/stream/sse"
)

// document is the reply to a turn that is sent as one JSON document. The reply is sent after the
// end of the turn, so a failed turn gets the status of its fault. For a client that does not wait
// it is sent with the first event.
type document struct {
	refuser *refuser
	repeats *repeats
	w       http.ResponseWriter // nil: turn.early takes the reply
	r       *http.Request
	turn    *turn

	stream.Fold

	text   []byte
	sent   bool // the reply
	broken bool // it will not come
	stats  sse.Stats
}

// Write adds the encoding of ev.
func (d *document) Write(s stream.Stamp, ev stream.Event) error {
	d.text = d.turn.Encoder.Encode(d.text, s, ev)
	d.Add(ev)
	return nil
}

// Flush does nothing if the client waits: it gets all of the reply at the end.
func (d *document) Flush() error {
	if d.turn.early != nil && !d.sent && !d.broken && !d.isRefused() && len(d.text) > 0 {
		d.sendOnce()
	}
	return nil
}

// isRefused reports whether a fault stands in the place of the reply.
func (d *document) isRefused() bool {
	ev := d.Fatal()
	return ev != nil && d.turn.Form != dialect.AnyDocument && (d.turn.Words == nil || !d.turn.Words(ev.Type))
}

// sendOnce sends the reply, once.
func (d *document) sendOnce() {
	d.sent = true
	if d.turn.early != nil {
		d.turn.early.send(d.text)
		return
	}
	writeReply(d.w, dialect.JSON(d.text))
}

// Blocked is 0 as long as events come.
func (d *document) Blocked() time.Duration { return 0 }

// Discard leaves the request without a reply.
func (d *document) Discard() { d.broken = true }

// Close sends the reply, unless the turn was left without an end.
func (d *document) Close() error {
	if d.broken {
		return task.ErrBroken
	}
	if d.Done == nil || d.sent {
		return nil
	}
	began := time.Now()
	if d.isRefused() {
		d.refuseTurn()
	} else {
		d.sendOnce()
	}
	d.stats.Blocked = time.Since(began)
	return nil
}

// refuseTurn sends the fault that ended the turn in place of the reply.
func (d *document) refuseTurn() {
	ev := d.Fatal()
	why := &fault.Error{Type: ev.Type, Message: ev.Message, RetryAfter: ev.RetryAfter}
	if d.turn.early != nil {
		d.turn.early.refuse(why)
		return
	}
	refusal := refusalOf(d.r, why)
	refusal.Ended, refusal.Acted = true, len(d.Calls) > 0 || why.Recoverable() && !ev.Recoverable
	shape := d.turn.Refuse
	if shape == nil {
		shape = d.refuser.shapeOf(d.r)
	}
	if allowsRetry(d.refuser.sendRefusal(d.w, d.r, refusal, shape)) {
		d.repeats.forgetContent(d.r, d.turn)
	}
}

// Stats returns the figures of the one write.
func (d *document) Stats() sse.Stats { return d.stats }
