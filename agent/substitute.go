package agent

import (
	"fmt"

	"sluice/fault"
	"sluice/tool"
)

// substitute opens the call of the tool that the configuration names for when j's
// server is unavailable, with the same arguments. It returns nil if there is none,
// or if j may have changed something: then running another tool as well could do
// the same thing twice. A substitute has none itself.
func (t *turn) substitute(j *job, tools *tool.Set) *job {
	f := fault.From(j.err)
	if f == nil || f.Type != fault.MCPUnavailable || f.Unknown || !f.NoEffect || j.spec == nil {
		return nil
	}
	spec := tools.Lookup(j.spec.Fallback)
	if spec == nil || j.insteadOf != "" {
		return nil
	}
	call := tool.Call{Name: spec.Name, Arguments: j.call.Arguments}
	key, err := t.state.calls.admit(call, 0)
	if err != nil { // it was tried before, and the reason to refuse it holds here, too
		return nil
	}
	s := t.newJob(call, spec)
	s.key, s.insteadOf = key, j.key
	j.substitute = s
	t.start(s)
	return s
}

// ofSubstitute returns the result of j's substitute as the result of j, with a
// line that says so.
func (j *job) ofSubstitute() *tool.Result {
	r := j.substitute.forModel()
	how := "answered in its place"
	if r.IsError {
		how = "was called in its place"
	}
	r.ID, r.Name = j.call.ID, j.call.Name
	r.Text = fmt.Sprintf("[%s was unavailable; %s %s with the same arguments]\n%s",
		j.call.Name, j.substitute.call.Name, how, r.Text)
	return r
}
