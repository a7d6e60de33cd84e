// This file continues with a step whose calls were answered from outside: by a person, or by
// somebody else who ran them.

package agent

import (
	"slices"
	"strings"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// closeStep takes over the calls of a step. If none waits, their results become the
// next message.
func (t *turn) closeStep(jobs []*job) {
	s := &t.state
	waits := slices.ContainsFunc(jobs, func(j *job) bool { return j.waits })
	if t.requireClientCalls(jobs, waits); s.IsOver() {
		return
	}
	if !waits {
		s.addResults(len(jobs), func(i int) *tool.Result { return jobs[i].forModel() })
		return
	}
	s.Open = make([]OpenCall, len(jobs))
	for i, j := range jobs {
		s.Open[i] = OpenCall{ID: j.event.ID, Call: j.call, Within: j.within, key: j.key}
		switch {
		case j.client:
			s.Open[i].Answer, s.Open[i].Message = answerRefused, notWithApproval
		case !j.waits:
			s.Open[i].Answer, s.Open[i].Result = answerRan, j.forModel()
		}
	}
}

// runAnswered closes the calls that have waited: it runs those that were approved.
func (t *turn) runAnswered() error {
	s := &t.state
	jobs := make([]*job, len(s.Open))
	var approved []*job
	for i := range s.Open {
		switch c := &s.Open[i]; c.Answer {
		case answerApproved:
			jobs[i] = t.startApproved(c)
		case answerDecided:
			jobs[i] = t.startContinued(c)
		case answerRuns:
			jobs[i] = t.repeatCall(c)
		}
		if jobs[i] != nil && jobs[i].err == nil {
			approved = append(approved, jobs[i])
		}
	}
	t.closeRefused()
	t.intendAnswered(jobs)
	t.sink.Flush()
	approved, err := t.confirmStored(approved)
	if err == nil {
		err = t.runAll(t.tools, approved)
	}
	if err != nil {
		return err
	}
	t.hand = atHand{}
	for i, j := range jobs {
		if j != nil && !j.waits {
			s.Open[i].Result = s.Open[i].approvedResult(j)
		}
	}
	if s.suspendedAgain(jobs) {
		return nil
	}
	s.addResults(len(s.Open), func(i int) *tool.Result { return s.Open[i].Result })
	return nil
}

// closeRefused closes the calls that do not run. It is called after the approved calls have begun,
// as an equal call may have been allowed.
func (t *turn) closeRefused() {
	for i := range t.state.Open {
		c := &t.state.Open[i]
		switch {
		case c.Answer == answerRejected:
			t.forbidCall(c)
			t.emitRejected(c)
			c.Result = &tool.Result{ID: c.Call.ID, Name: c.Call.Name, IsError: true,
				Text: strings.TrimSpace("Not executed: the user has not allowed this call. " + c.Message)}
		case c.Answer == answerRefused && c.Outcome:
			t.markLost(c.key)
			c.Result = lostResult(c)
		case c.Answer == answerRefused:
			c.Result = &tool.Result{ID: c.Call.ID, Name: c.Call.Name, IsError: true, Text: "Not executed: " + c.Message}
		}
	}
}

// startApproved reports a call that was allowed to run, and closes one that may not any more.
func (t *turn) startApproved(c *OpenCall) *job {
	call := c.Call
	if c.Changed != nil {
		call.Arguments = c.Changed
	}
	j := newJob(c.ID, call, t.tools.Lookup(call.Name))
	j.key, j.sent = c.key, c.sent
	j.err = t.recheckApproved(j, c)
	t.emitStarted(j)
	if j.err != nil {
		t.closeCall(j)
	}
	return j
}

// emitRejected reports a call that a person has not allowed: a client that was asked about it
// learns that nothing will come of it.
func (t *turn) emitRejected(c *OpenCall) {
	j := newJob(c.ID, c.Call, t.tools.Lookup(c.Call.Name))
	t.sink.Emit(&stream.ToolStarted{Call: j.event, Repeatable: true}) // it does not run
	t.state.Tools = append(t.state.Tools, stream.ToolTiming{Tool: c.Call.Name})
	t.sink.Emit(&stream.ToolFailed{Call: j.event, ErrorType: fault.ApprovalRejected,
		Message: "The call of " + safeToolName(c.Call.Name) + " was not executed: the user has not allowed it"})
}

// approvedResult returns the result of an approved call, as the model receives it.
func (c *OpenCall) approvedResult(j *job) *tool.Result {
	r := j.forModel()
	if c.Changed != nil {
		r = withNewArguments(r, c.Changed)
	}
	return withUserNote(r, c.Message)
}
