package stream

import (
	"errors"
	"fmt"
)

// InnerDelta is a piece of text that is not the answer, or not yet.
type InnerDelta struct {
	Attribution
	Delta string `json:"delta"`
	// Attempt is 1 in a draft, or 2 in its refinement. A draft is a text that is held until its
	// check, sent as it is written. A draft has no number and is not stored, so it is missing from
	// a resumed stream.
	Attempt int `json:"attempt,omitzero"`
	// Unkept marks a text that may become part of a held answer. It has no number and is not stored
	// either.
	Unkept bool `json:"-"`
}

const innerName = "inner_delta"

func (*InnerDelta) markEvent() {}

// Name returns "inner_delta".
func (*InnerDelta) Name() string { return innerName }

// Allow refuses drafts once the answer has begun, and those of an attempt that is over. An answer that
// was taken back as a whole begins again, with drafts.
func (d *InnerDelta) Allow(t *Turn) error {
	switch {
	case d.Delta == "":
		return errors.New("it is empty")
	case d.Attempt == 0:
		return nil
	case d.Attempt < 0 || d.Attempt > lastAttempt:
		return fmt.Errorf("attempt %d", d.Attempt)
	case t.size > 0:
		return errors.New("a draft after a piece of the answer")
	case d.Attempt < t.attempt:
		return errors.New("a draft of an attempt that is over")
	}
	t.attempt = d.Attempt
	return nil
}

// Attributed implements attributable.
func (d *InnerDelta) Attributed(a Attribution) Event { return copyAttributed(d, a) }

// Passing reports whether ev is a draft, or may become one: it has no number and is not stored.
func Passing(ev Event) bool {
	d, ok := ev.(*InnerDelta)
	return ok && (d.Attempt > 0 || d.Unkept)
}

// Inner reports whether ev reports what happens in a delegate's session, or of the session itself,
// rather than of the agent that called it.
func Inner(ev Event) bool {
	switch ev := ev.(type) {
	case *InnerDelta:
		return ev.SessionID != ""
	case *AgentRun:
		return ev.SessionID != ""
	}
	c := CallOf(ev)
	return c != nil && c.SessionID != ""
}
