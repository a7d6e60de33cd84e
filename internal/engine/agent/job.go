// This file is one call of a tool: what it is, what became of it, and what the model reads of
// it. How calls run is in tools.go and parallel.go.

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
	// call is the model's own, event what clients receive of it: with our id and the server.
	// spec is nil for a tool that is not offered.
	call    tool.Call
	event   stream.Call
	spec    *tool.Spec
	key     string // empty: refused
	sent    string // by what its server recognizes equal tries: tool.WithKey; empty: nothing
	waits   bool   // for an answer from outside
	client  bool   // the client runs it
	at      int    // in turn.hand.open, of a call that is no fallback
	elapsed time.Duration
	result  tool.Result
	err     error

	news   mailbox   // what the tool reports of its progress
	nextAt time.Time // when the next report may be sent; the turn's goroutine alone uses it

	endSaving func() // ends what chat.Saver.Begin began; nil: nothing
	inner     *Inner // what it says about itself; nil: nothing
	// within is what waits in it for a person; nil: nothing. continued is how it continues that
	// has waited; nil: it begins.
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

// callFailure returns why the call failed, or nil. Tools says what it knows of the
// outcome; a call that ended by a bug, or with nothing but the turn's own end, may
// have taken effect.
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

// isOutcome says whether a fault says what became of a call.
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

// capResult cuts what the model gets to maxForModel bytes, and says so in the text: the model
// can ask for less, which a silent cut would not suggest.
func capResult(s string) string {
	head, cut := chat.Truncate(s, maxForModel)
	if !cut {
		return s
	}
	return fmt.Sprintf("%s\n[cut here: the first %d of %d bytes are shown; ask for less, for example with a filter]", head, len(head), len(s))
}

// ofFallback returns the result of j's fallback as the result of j, and behind it a line that
// says so: in front of it what was JSON would be none.
func (j *job) ofFallback() *tool.Result {
	r := j.fallback.forModel()
	how := "answered in its place"
	if r.IsError {
		how = "was called in its place"
	}
	r.ID, r.Name = j.call.ID, j.call.Name
	return withRemark(r, fmt.Sprintf("%s was unavailable; %s %s with the same arguments", j.call.Name, j.fallback.call.Name, how))
}
