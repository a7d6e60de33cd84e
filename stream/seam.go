package stream

import (
	"cmp"
	"unicode/utf8"
)

// Seam is a place of the answer where another call has continued a text that broke off.
type Seam struct {
	At     int    `json:"at"`     // code points of the answer before it
	Key    string `json:"key"`    // of the model that continued
	Reason string `json:"reason"` // the class of the failure, or taken_over
}

// seamCounter stands between a Runner and the Guard of a turn whose text another call may continue.
// It counts the code points of the answer, and collects the seams.
type seamCounter struct {
	Sink
	seams *[]Seam
	chars int
}

// Emit implements Sink.
func (c *seamCounter) Emit(ev Event) error {
	switch e := ev.(type) {
	case *Delta:
		c.chars += utf8.RuneCountInString(e.Text)
	case *Reset:
		if e.Back > 0 {
			c.chars = max(0, c.chars-e.Runes)
		} else {
			c.chars = utf8.RuneCountInString(e.Accumulated)
		}
	case *ModelChanged:
		if !e.Continued {
			break
		}
		*c.seams = append(*c.seams, Seam{c.chars, cmp.Or(e.Key, defaultKey), e.Reason})
		if e.Key == e.Previous {
			return nil
		}
	}
	return c.Sink.Emit(ev)
}

// defaultKey is the key of the model where none is configured.
const defaultKey = "default"

// countSeams returns the sink of the Runner in front of next, if a text may be continued. It is not
// inlined: its frame would lie on the stack of open streams.
//
//go:noinline
func (f *Frame) countSeams(guard *Guard, next Sink) Sink {
	return &seamCounter{next, &guard.seams, utf8.RuneCountInString(f.Accumulated)}
}
