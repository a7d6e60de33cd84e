package quality

import (
	"sluice/stream"
	"time"
)

// delivery is what has gone out of a turn. Of its attempts final alone has: a text that was
// withheld is never there.
type delivery struct {
	released bool      // the text is out: the turn ends with a question
	sentAt   time.Time // when the first piece went out
	final    *attempt  // that was sent, or the graceful text's; nil: none
	checks   stream.Checks
}

// triedDelivery says whether a sender tried to deliver the answer.
func (d *delivery) triedDelivery() bool {
	c := d.checks.Channel
	return c != nil && c.Delivery != nil && c.Delivery.Attempts > 0
}
