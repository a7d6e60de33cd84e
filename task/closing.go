package task

import (
	"bytes"
	"context"
	"slices"

	"sluice/fault"
	"sluice/store"
	"sluice/stream"
)

// Texts of a turn whose gateway is gone.
const (
	lostMessage    = "The server that answered this request is gone; the answer is not complete"
	outcomeMessage = "The outcome of this call is not known"
)

// Closing returns what ends the log of a turn whose owner is gone: open tool calls are
// unknown, agents cancelled, and a fatal error and Done follow. It is added by
// CloseTask, in the one step that makes sure that the owner is gone and that nobody
// else has closed the turn.
//
// If the log has its Done already, done is that, and there is nothing to add: the owner
// died before it wrote the task's last state. The error is store.ErrNotFound if there is
// no log, or wraps stream.ErrStored.
func Closing(ctx context.Context, r Reader, turn string) (a store.Append, done *stream.Done, err error) {
	var t remains
	for entries := []store.Entry(nil); ; {
		entries, err = r.ReadLog(ctx, turn, t.end, readPiece)
		if err != nil {
			return store.Append{}, nil, err
		}
		if len(entries) == 0 {
			break
		}
		for _, entry := range entries {
			for line := range bytes.Lines(entry.Data) {
				s, err := readLine(line)
				if err != nil {
					return store.Append{}, nil, err
				}
				t.take(s)
			}
			t.end = entry.N
		}
	}
	if t.done != nil {
		return store.Append{}, t.done, nil
	}
	data, err := t.close()
	return store.Append{Entry: store.Entry{N: t.last.N, Data: data}, At: t.end}, t.done, err
}

// readPiece is how many entries are read at once.
const readPiece = 200

// remains is what is left open in a turn that was broken off.
type remains struct {
	end     int // of the log
	last    stream.Stamp
	calls   []stream.Call
	agents  []stream.AgentRun
	fatal   bool
	unsafe  bool // a tool ran that must not run twice
	timings stream.Timings
	done    *stream.Done
}

func (t *remains) take(s Stamped) {
	t.last = s.Stamp
	switch ev := s.Event.(type) {
	case *stream.Start:
		t.timings.FirstEvent = s.At
	case *stream.Delta:
		if t.timings.FirstDelta == 0 {
			t.timings.FirstDelta = s.At
		}
	case *stream.ToolStarted:
		t.calls = append(t.calls, ev.Call)
		t.unsafe = t.unsafe || !ev.Repeatable
	case *stream.ToolCompleted, *stream.ToolFailed, *stream.ToolUnknown:
		id := stream.CallOf(ev).ID
		t.calls = slices.DeleteFunc(t.calls, func(c stream.Call) bool { return c.ID == id })
	case *stream.AgentRun:
		t.agents = slices.DeleteFunc(t.agents, func(a stream.AgentRun) bool { return a.AgentID == ev.AgentID })
		if ev.Status == stream.AgentStarted || ev.Status == stream.AgentRetrying {
			t.agents = append(t.agents, *ev)
		}
	case *stream.Error:
		t.fatal = t.fatal || ev.Fatal
	case *stream.Done:
		t.done = ev
	}
}

// close returns the events that are missing, as they are stored.
func (t *remains) close() (lines []byte, err error) {
	var events []stream.Event
	if t.last.N == 0 {
		events = append(events, &stream.Start{})
	}
	if !t.fatal {
		for _, c := range t.calls {
			events = append(events, &stream.ToolUnknown{Call: c, Message: outcomeMessage})
		}
		for _, run := range t.agents {
			no, none := false, int64(0)
			run.Status, run.Success, run.Millis = stream.AgentStopped, &no, &none
			run.ErrorType, run.ErrorMessage = fault.TurnLost, lostMessage
			events = append(events, &run)
		}
		events = append(events, &stream.Error{Type: fault.TurnLost, Message: lostMessage, Recoverable: !t.unsafe, Fatal: true})
	}
	t.timings.Total = t.last.At
	t.done = &stream.Done{Reason: stream.Failed, Timings: t.timings}
	for _, ev := range append(events, t.done) {
		t.last.N++
		if lines, err = stream.AppendStored(lines, t.last, ev); err != nil {
			return nil, err
		}
		lines = append(lines, '\n')
	}
	return lines, nil
}
