package agent

import (
	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

// openFallback opens the call of the tool that the configuration names for when j's server is
// unavailable, with the same arguments. It returns nil without such a tool, or if j may have
// changed something: then another tool could do the same thing twice. If the server of a fallback
// is unavailable too, the next fallback of the original call follows.
func (t *turn) openFallback(j *job, tools *tool.Set) *job {
	if !j.hadNoServer() {
		return nil
	}
	first := j.originalCall()
	spec := first.nextFallback(tools)
	if spec == nil {
		return nil
	}
	call := tool.Call{Name: spec.Name, Arguments: first.call.Arguments}
	if hold := t.agent.cfg.Hold; hold != nil && hold(call, spec) { // nobody was asked about this one
		return nil
	}
	key, err := t.admitCall(call, 0)
	if err != nil { // it was tried before, and the reason to refuse it holds here, too
		return nil
	}
	s := t.newJob(call, spec)
	s.key, s.fallbackOf = key, first
	if !t.saveFallback(s) {
		return nil
	}
	first.fallback = s
	t.emitStarted(s)
	return s
}

// hadNoServer reports whether the server of a call was unavailable, so that nothing was done.
func (j *job) hadNoServer() bool {
	f := fault.From(j.err)
	return f != nil && f.Type == fault.MCPUnavailable && !f.Unknown && f.NoEffect && j.spec != nil
}

// nextFallback returns the next untried fallback of a call, or nil after the last.
func (j *job) nextFallback(tools *tool.Set) *tool.Spec {
	for ; j.tried <= len(j.spec.More); j.tried++ {
		name := j.spec.Fallback
		if j.tried > 0 {
			name = j.spec.More[j.tried-1]
		}
		if spec := tools.Lookup(name); spec != nil {
			j.tried++
			return spec
		}
	}
	return nil
}
