package conversation

import (
	"slices"
	"strings"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// maxNames is how many tools a marker names.
const maxNames = 8

// listener is a Sink that collects the answer's text, up to about Max bytes.
type listener struct {
	stream.Sink
	stream.Fold
	err error // the sink's first error
}

// Emit implements stream.Sink.
func (l *listener) Emit(ev stream.Event) error {
	l.Add(ev)
	return l.recordError(l.Sink.Emit(ev))
}

// continuesLater says that a turn is one with which another process, or this one later, continues:
// whichever ends it remembers it.
func continuesLater(req *chat.Request, err error) bool {
	if s := req.Facts.Saving; s != nil && s.IsHandedOver() {
		return true
	}
	if err == nil || !isWorkflow(req) {
		return false
	}
	switch fault.From(err).Type {
	case fault.ShuttingDown, fault.StoreUnavailable, fault.TurnLost:
		return true
	}
	return false
}

func isWorkflow(req *chat.Request) bool {
	return req.Workflow != "" || req.Resumed != nil && req.Resumed.By == chat.PausedWorkflow
}

// Flush implements stream.Sink.
func (l *listener) Flush() error { return l.recordError(l.Sink.Flush()) }

// recordError keeps the first error of the sink, to distinguish a user that left from a failed
// turn.
func (l *listener) recordError(err error) error {
	if l.err == nil {
		l.err = err
	}
	return err
}

// recordOf returns the record of an ended turn.
func (l *listener) recordOf(input string, result *stream.Result, err error) record {
	r := record{Version: recordVersion, Input: clipText(input, l.Max), Answer: clipText(strings.TrimSpace(l.Text()), l.Max)}
	switch {
	case err != nil || !result.Reason.Success():
		r.Answer = l.answerMarker(err)
		return r
	case r.Answer == "":
		r.Answer = "[No text.]"
	}
	if c := result.Checks; c != nil && c.Markdown != "" { // the events have reported the form of a channel
		r.Answer = clipText(strings.TrimSpace(c.Markdown), l.Max)
	}
	r.Steps = stepsOfAgents(result.TurnMessages)
	return r
}

// answerMarker stands for an answer that does not exist. A called tool may have had its effect.
func (l *listener) answerMarker(err error) string {
	marker := "[No complete answer: " + l.failureReason(err) + "."
	var tools []string
	for _, c := range l.Calls {
		if len(tools) < maxNames && !slices.Contains(tools, c.Tool) {
			tools = append(tools, c.Tool)
		}
	}
	if len(tools) > 0 {
		marker += " Tools that were called: " + chat.Line(strings.Join(tools, ", "), 1<<10) + "."
	}
	return marker + "]"
}

func (l *listener) failureReason(err error) string {
	switch f := fault.From(err); {
	case l.err != nil || err == fault.ErrClientGone:
		return "the user left"
	case f == nil:
	case f.Type == fault.Cancelled:
		return "the turn was cancelled"
	case f.Type == fault.Timeout:
		return "the turn took too long"
	}
	return "the turn failed"
}
