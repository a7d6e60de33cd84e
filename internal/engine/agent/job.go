// This file is one call of a tool: the call, its outcome, and its result for the model. How calls
// run is in tools.go and parallel.go.

package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// job is one tool call of a step.
type job struct {
	// call is the model's own; event is its form for clients, with our id and the server. spec is
	// nil for a tool that is not offered.
	call    tool.Call
	event   stream.Call
	spec    *tool.Spec
	key     string // empty: refused
	sent    string // the key by which its server recognizes equal tries (tool.WithKey); may be empty
	waits   bool   // for an answer from outside
	client  bool   // the client runs it
	at      int    // in turn.hand.open; not set for a fallback
	elapsed time.Duration
	result  tool.Result
	err     error

	news   mailbox   // the progress that the tool reports
	nextAt time.Time // when the next report may be sent; the turn's goroutine alone uses it

	endSaving func() // ends what chat.Saver.Begin began; nil: nothing
	inner     *Inner // for the events of an agent; nil if no tool is an agent
	// within is the state of a call that is suspended; else nil. continued is set for a call that
	// has waited and continues; nil for a new one.
	within    *Within
	continued *Continued

	// fallback is the call that was made in place of this one; nil: none was.
	fallback *job
	// tried is how many of the call's fallbacks were.
	tried int
	// fallbackOf is the call that this one stands in for; nil: none.
	fallbackOf *job
}

// newJob gives the call an id that is unique in the turn, because models repeat
// theirs.
func (t *turn) newJob(c tool.Call, spec *tool.Spec) *job {
	l := &t.state.calls
	if known := chat.TurnOf(t.ctx); l.seed == "" && known.RequestID != "" {
		l.seed = chat.CallSeed(t.req.Turn, known.RequestID, known.Began)
	}
	return newJob(l.newCallID(c.ID), c, spec)
}

// newJob makes a job of a call. spec is nil for a tool that is not offered;
// such a job is only reported, never run.
func newJob(id string, c tool.Call, spec *tool.Spec) *job {
	j := &job{call: c, spec: spec}
	j.event = stream.Call{ID: id, Tool: c.Name, Arguments: c.Arguments}
	if spec != nil {
		j.event.Server = spec.Server
	}
	return j
}

// callFailure returns why the call failed, or nil. Tools sets Unknown and NoEffect by its
// knowledge. A call that ended by a bug, or only because the turn ended, may have taken effect.
func (j *job) callFailure(turn context.Context) *fault.Error {
	f := fault.From(j.err)
	if f == nil {
		if !j.result.IsError {
			return nil
		}
		return &fault.Error{Type: fault.ToolFailed, Service: "mcp:" + j.event.Server,
			Message: "The tool " + j.call.Name + " answered with an error"}
	}
	if isOutcome(f, turn) {
		return f
	}
	cut := *f
	cut.Unknown = j.spec == nil || !j.spec.Annotations.Repeatable()
	if turn.Err() != nil {
		cut.Message = "The turn ended before the tool did"
	}
	return &cut
}

// isOutcome reports whether a fault says what became of a call.
func isOutcome(f *fault.Error, turn context.Context) bool {
	switch f.Type {
	case fault.StoreUnavailable:
		return f.NoEffect
	case fault.ToolFailed, fault.MCPUnavailable, fault.Timeout, fault.Overloaded:
		return error(f) != context.Cause(turn)
	}
	return false
}

// originalCall returns the call that this one stands in for, or else the call itself.
func (j *job) originalCall() *job {
	if j.fallbackOf != nil {
		return j.fallbackOf
	}
	return j
}

// forModel returns the result as the model is given it.
func (j *job) forModel() *tool.Result {
	if j.fallback != nil {
		return j.ofFallback()
	}
	r := &tool.Result{ID: j.call.ID, Name: j.call.Name}
	if j.err == nil {
		r.Text, r.IsError = capResult(j.result.Text), j.result.IsError
		if r.IsError && strings.TrimSpace(r.Text) == "" {
			r.Text = j.call.Name + " failed without saying why"
		}
		return r
	}
	f := fault.From(j.err)
	r.IsError = true
	r.Text = capResult(f.ForModel())
	if f.Unknown {
		r.Text += ". The call was sent, but whether it took effect is not known. Do not call it again; tell the user that the outcome is unknown."
	}
	return r
}

// capResult cuts a result for the model to maxForModel bytes and adds a line about that. After a
// silent cut the model would not ask for less.
func capResult(s string) string {
	head, cut := chat.Truncate(s, maxForModel)
	if !cut {
		return s
	}
	return fmt.Sprintf("%s\n[cut here: the first %d of %d bytes are shown; ask for less, for example with a filter]", head, len(head), len(s))
}

// ofFallback returns the result of j's fallback as the result of j. A line about the fallback
// stands after it, as in front it would break JSON.
func (j *job) ofFallback() *tool.Result {
	r := j.fallback.forModel()
	how := "answered in its place"
	if r.IsError {
		how = "was called in its place"
	}
	r.ID, r.Name = j.call.ID, j.call.Name
	return withRemark(r, fmt.Sprintf("%s was unavailable; %s %s with the same arguments", j.call.Name, j.fallback.call.Name, how))
}
