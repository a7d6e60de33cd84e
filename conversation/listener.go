package conversation

import (
	"slices"
	"strings"

	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
)

// maxNames is how many tools a marker names.
const maxNames = 8

// listener is a Sink that hears what is said.
type listener struct {
	stream.Sink
	most  int // bytes of the answer that are kept, about
	text  []byte
	tools []string // whose calls began
	err   error    // the sink's first error
}

// Emit implements stream.Sink.
func (l *listener) Emit(ev stream.Event) error {
	switch ev := ev.(type) {
	case *stream.Delta:
		if len(l.text) <= l.most {
			l.text = append(l.text, ev.Text...)
		}
	case *stream.ToolStarted:
		if len(l.tools) < maxNames && !slices.Contains(l.tools, ev.Tool) {
			l.tools = append(l.tools, ev.Tool)
		}
	}
	return l.note(l.Sink.Emit(ev))
}

// Flush implements stream.Sink.
func (l *listener) Flush() error { return l.note(l.Sink.Flush()) }

func (l *listener) note(err error) error {
	if l.err == nil {
		l.err = err
	}
	return err
}

// record returns what is remembered of a turn that ended so.
func (l *listener) record(input string, result *stream.Result, err error) record {
	r := record{Version: recordVersion, Input: clip(input, l.most), Answer: clip(strings.TrimSpace(string(l.text)), l.most)}
	switch {
	case err != nil || !result.Reason.Success():
		r.Answer = l.marker(err)
		return r
	case r.Answer == "":
		r.Answer = "[No text.]"
	}
	if c := result.Checks; c != nil && c.Said != "" { // the events have told the form of a channel
		r.Answer = clip(strings.TrimSpace(c.Said), l.most)
	}
	r.Steps = stepsOf(result.Made)
	return r
}

// marker stands for an answer that there is not. What was called may have taken effect.
func (l *listener) marker(err error) string {
	why := "the turn failed"
	switch f := fault.From(err); {
	case l.err != nil || err == fault.ErrClientGone:
		why = "the user left"
	case f == nil:
	case f.Type == fault.Cancelled:
		why = "the turn was cancelled"
	case f.Type == fault.Timeout:
		why = "the turn took too long"
	}
	marker := "[No complete answer: " + why + "."
	if len(l.tools) > 0 {
		marker += " Tools that were called: " + chat.Line(strings.Join(l.tools, ", "), 1<<10) + "."
	}
	return marker + "]"
}
