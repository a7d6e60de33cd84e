package quality

import (
	"time"

	"sluice/internal/base/telemetry/metrics"
)

// instruments count what becomes of answers. Ids of criteria are those of the
// configuration; the planner's share one.
type instruments struct {
	turns, criteria, messages, segments metrics.Counter
	seconds, held                       metrics.Histogram
}

// newInstruments registers the metrics of this package. r may be nil.
func newInstruments(r *metrics.Registry) *instruments {
	return &instruments{
		turns:    r.Counter("quality_turns_total", "Turns whose answer was checked, by outcome.", "outcome"),
		criteria: r.Counter("quality_criteria_total", "Criteria that were checked in the attempt that counts, by result.", "id", "result"),
		messages: r.Counter("channel_messages_total", "Messages in the form of a channel.", "channel"),
		segments: r.Counter("sms_segments_total", "Segments of SMS messages.", "encoding"),
		seconds:  r.Histogram("quality_seconds", "Time that planning, formatting, checking, judging and refining took.", "step"),
		held:     r.Histogram("quality_held_seconds", "Time from the first text of an answer to its first piece that was sent."),
	}
}

// observeSince observes how long a step took that ends now.
func (in *instruments) observeSince(name string, began time.Time) {
	in.observe(name, time.Since(began))
}

// observe observes how long a step took.
func (in *instruments) observe(name string, elapsed time.Duration) {
	in.seconds.Observe(elapsed.Seconds(), name)
}
