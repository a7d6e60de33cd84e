package stream

import (
	"cmp"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"sluice/internal/turn/chat"
)

// Seam is a place of the answer where another call has continued a text that broke off.
type Seam struct {
	At     int    `json:"at"`     // code points of the answer before it
	Key    string `json:"key"`    // of the model that continued
	Reason string `json:"reason"` // the class of the failure, or taken_over
}

// seamCounter stands between a Runner and the Guard of a turn whose text another call may continue.
// It counts the code points of the answer, and collects the seams. They are saved as well.
type seamCounter struct {
	Sink
	guard *Guard
	saver *chat.Saving // nil: the turn is not saved
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
		c.keepSeams(c.guard.seams)
	case *ModelChanged:
		if !e.Continued {
			break
		}
		s := Seam{c.chars, cmp.Or(e.Key, defaultKey), e.Reason}
		c.guard.seams = append(c.guard.seams, s)
		if c.saver != nil {
			state, _ := json.Marshal(s)
			c.saver.Save(chat.SavedSeam, state)
		}
		if e.Key == e.Previous {
			return nil
		}
	}
	return c.Sink.Emit(ev)
}

// keepSeams has the turn keep those seams that have text behind them.
func (c *seamCounter) keepSeams(seams []Seam) {
	c.guard.seams = slices.DeleteFunc(slices.Clone(seams), func(s Seam) bool { return s.At >= c.chars })
}

// defaultKey is the key of the model where none is configured.
const defaultKey = "default"

// countSeams returns the sink of the Runner in front of next, if a text may be continued. It is not
// inlined: its frame would lie on the stack of open streams.
//
//go:noinline
func (f *Frame) countSeams(saver *chat.Saving, guard *Guard, next Sink) Sink {
	c := &seamCounter{next, guard, saver, utf8.RuneCountInString(f.Accumulated)}
	c.keepSeams(f.Seams)
	return c
}
