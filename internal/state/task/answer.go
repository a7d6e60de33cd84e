// This file gathers the facts of a turn for its task's document, from the events that clients get.
// It takes one event after the other. It keeps text once, with a list of the parts by agent, so an
// answer of several agents is not copied. It writes to no store.

package task

import (
	"cmp"
	"time"

	"sluice/stream"
)

// answer holds the facts of a turn that go into its task's document. It is gathered while the turn
// is sent.
//
// Only the goroutine of the turn uses it. The text may be lent from a pool (buffer.go), so data
// that outlives the turn is copied.
type answer struct {
	stream.Fold
	// text is the answer as clients saw it, to its last byte.
	text []byte
	// lent is the pool's buffer of text, or nil if the text has another buffer.
	lent *[]byte
	// spans say which agent wrote which part of text, where the document names agents.
	spans []span
}

// isOver reports whether the turn has ended, or was about to.
func (a *answer) isOver() bool { return a.Done != nil || a.Fatal() != nil || len(a.Questions) > 0 }

// borrowBuffer gives the answer of a turn that begins a buffer, for the whole turn.
func (a *answer) borrowBuffer(from *buffers) {
	a.lent = from.get()
	a.text = *a.lent
}

// giveBack ends the answer of a turn that is over: the store has all of it.
func (a *answer) giveBack(to *buffers) {
	if a.lent != nil {
		*a.lent = a.text // it may have grown
		to.put(a.lent)
		a.lent, a.text, a.spans = nil, nil, nil
	}
}

// addEvent adds the next event.
func (a *answer) addEvent(ev stream.Event) {
	a.Only = stream.Agents
	if d, ok := ev.(*stream.Delta); ok {
		a.text = append(a.text, d.Text...)
		a.markSpeaker(d.AgentID)
	}
	if r, ok := ev.(*stream.Reset); ok {
		a.cutText(len(r.Accumulated))
	}
	a.Add(ev)
}

// cutText drops all of the text behind its first bytes.
func (a *answer) cutText(size int) {
	a.text = a.text[:min(size, len(a.text))]
	for n := len(a.spans); n > 0 && a.spans[n-1].to > len(a.text); n = len(a.spans) {
		if last := &a.spans[n-1]; last.from < len(a.text) {
			last.to = len(a.text)
			break
		}
		a.spans = a.spans[:n-1]
	}
}

// openQuestions returns the ids of the questions that wait for a person, and the prompt of the
// first one.
func (a *answer) openQuestions() (ids []string, prompt string) {
	for _, q := range a.Questions {
		ids, prompt = append(ids, q.ID), cmp.Or(prompt, q.Prompt)
	}
	return ids, prompt
}

// longestWait returns the time until the last question expires, or 0 if no question has a readable
// end.
func (a *answer) longestWait() (longest time.Duration) {
	for _, q := range a.Questions {
		if at, err := time.Parse(stream.ExpiryFormat, q.ExpiresAt); err == nil {
			longest = max(longest, time.Until(at))
		}
	}
	return longest
}

// span is a part of an answer that one agent has said, from byte from up to byte to.
type span struct {
	agent    string
	from, to int
}

// markSpeaker records which agent wrote the newest text. Adjacent text of one agent is one span,
// unless another run began in between: the new run did not write the earlier text.
func (a *answer) markSpeaker(agent string) {
	if len(a.Runs) == 0 {
		return
	}
	if n := len(a.spans); n > 0 && a.spans[n-1].agent == agent && a.spans[n-1].from >= a.Runs[len(a.Runs)-1].From {
		a.spans[n-1].to = len(a.text)
		return
	}
	a.spans = append(a.spans, span{agent, a.Size, len(a.text)})
}

// textOfRun returns the text that the agent of a run has written since the run began.
//
// An earlier run of the same agent does not count, but a later one does.
func (a *answer) textOfRun(run stream.Run) string {
	var said []byte
	for _, s := range a.spans {
		if s.agent == run.AgentID && s.from >= run.From {
			said = append(said, a.text[s.from:s.to]...)
		}
	}
	return string(said)
}
