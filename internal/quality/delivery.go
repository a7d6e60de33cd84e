package quality

import (
	"sluice/stream"
	"time"
)

// delivery is the part of a turn that has left the gateway. final is the only attempt that was
// sent: a withheld text is never in it.
type delivery struct {
	released bool      // the text is out: the turn ends with a question
	sentAt   time.Time // when the first piece went out
	final    *attempt  // that was sent, or the graceful text's; nil: none
	checks   stream.Checks
}

// triedDelivery reports whether a sender tried to deliver the answer.
func (d *delivery) triedDelivery() bool {
	c := d.checks.Channel
	return c != nil && c.Delivery != nil && c.Delivery.Attempts > 0
}
