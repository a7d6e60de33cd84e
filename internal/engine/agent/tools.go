package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

const (
	// maxParallel is how many tools run in one step; the model reads that the rest were not
	// executed.
	maxParallel = 8
	// maxForModel is how many bytes of a result the model is given.
	maxForModel = 32 << 10
)

// runTools runs the calls of the step at hand and reports each as it ends. Calls that must wait
// are left open; else the calls and their results, in the order of the calls, become part of
// the conversation. It returns an error if the turn cannot continue.
func (t *turn) runTools() error {
	if err := t.stopCause(); err != nil {
		return err
	}
	jobs := t.openJobs()
	t.saveIntents(jobs)
	jobs = t.emitBegin(jobs)
	if t.sink.Err != nil {
		return t.sink.Err
	}
	admitted, err := t.confirmStored(runnableJobs(jobs))
	if err == nil {
		err = t.runAll(t.tools, admitted)
	}
	if err != nil {
		return err
	}
	t.hand = atHand{}
	t.state.Messages = append(t.state.Messages, chat.Message{Role: chat.RoleModel, Parts: t.step.parts, Maker: t.step.maker})
	t.state.keptBytes += t.step.keptBytes
	t.state.Dropped = t.step.dropped
	t.closeStep(jobs)
	return nil
}

// emitBegin reports the calls of the step at hand: those that run begin, and those that were
// refused end. It returns those that it has reached before the turn was over.
func (t *turn) emitBegin(jobs []*job) []*job {
	for i, j := range jobs {
		if t.stopCause() != nil {
			jobs = jobs[:i]
			break
		}
		if j.isReported() {
			t.emitStarted(j)
		}
	}
	for _, j := range jobs {
		if j.err != nil {
			t.closeCall(j)
		}
	}
	t.emitDropped()
	t.sink.Flush()
	return jobs
}

// isReported reports whether a call is reported: not one that others run, or that waits.
func (j *job) isReported() bool { return j.err != nil || !j.client && !j.waits }

// runnableJobs returns the calls that run here and now.
func runnableJobs(jobs []*job) (some []*job) {
	for _, j := range jobs {
		if j.err == nil && !j.client && !j.waits {
			some = append(some, j)
		}
	}
	return some
}

// openJobs decides which calls of the step at hand run. It stops where the turn does: the calls
// after that are never reported.
func (t *turn) openJobs() (jobs []*job) {
	running := 0
	for _, c := range t.step.calls {
		if t.stopCause() != nil {
			break
		}
		j := t.newJob(c, t.tools.Lookup(c.Name))
		jobs = append(jobs, j)
		if j.key, j.err = t.admitJob(j, running); j.err == nil {
			running++
			j.client = t.clients.runsAtClient(j.spec)
			j.waits = !j.client && t.agent.cfg.Hold != nil && t.agent.cfg.Hold(c, j.spec)
		}
	}
	return jobs
}

// emitStarted reports a call that runs now, or was refused.
func (t *turn) emitStarted(j *job) {
	harmless := j.err != nil || j.spec != nil && j.spec.Annotations.Repeatable()
	t.sink.Emit(&stream.ToolStarted{Call: j.event, Repeatable: harmless})
	if j.err == nil {
		t.logCall(j)
	}
}

// admitJob decides whether a call may run, as ledger.admitCall does. Tools knows more tools
// than a turn of limited access was given, and would run them.
func (t *turn) admitJob(j *job, running int) (key string, err error) {
	if j.spec == nil && (t.state.Access != chat.ToolsAll || t.agent.cfg.Hold != nil) {
		return "", refusalFault(j.call, "no such tool is available in this turn", "Do without it.")
	}
	return t.admitCall(j.call, running)
}

// admitCall is ledger.admitCall, which also refuses what another agent of the turn has lost, or
// was not allowed.
func (t *turn) admitCall(c tool.Call, running int) (key string, err error) {
	if err := t.sharedRefusal(c); err != nil {
		return "", err
	}
	return t.state.calls.admitCall(c, running)
}

// markLost records for all agents of the turn that the outcome of a call is unknown.
func (t *turn) markLost(key string) {
	t.state.calls.markLost(key)
	t.shareVerdict(key, chat.CallLost)
}

// emitDropped says how many calls of the step were not even opened.
func (t *turn) emitDropped() {
	if n := t.step.dropped; n > 0 {
		t.failCall(&fault.Error{Type: fault.ToolFailed,
			Message: fmt.Sprintf("Tool calls not executed: %d. At most %d of one answer are taken", n, maxCalls)})
	}
}

// runTool runs the tool. A panic is an error of this call's turn, not of the process.
func (j *job) runTool(ctx context.Context, t *turn, wake func()) {
	began := time.Now()
	ctx, span := j.beginSpan(ctx)
	defer func() {
		j.elapsed = time.Since(began)
		j.endSpan(span)
	}()
	defer run.Recover(&j.err)
	ctx = tool.WithProgress(ctx, func(p tool.Progress) {
		j.news.put(p)
		wake()
	})
	if j.sent != "" {
		ctx = tool.WithKey(ctx, j.sent)
	}
	if j.result, j.err = t.callGuarded(ctx, j); j.err != nil {
		j.suspendCall()
	}
}

// callGuarded makes a call through the turn's Guard, if it has one. It runs on the goroutine of the
// call.
func (t *turn) callGuarded(ctx context.Context, j *job) (tool.Result, error) {
	g := t.req.Facts.Guard
	if g == nil {
		return t.callTool(ctx, j.call, j.inner)
	}
	spec := j.spec
	if spec == nil { // it may be there by now
		spec = t.agent.cfg.Tools.Tools(ctx).Lookup(j.call.Name)
	}
	return g.Call(ctx, spec, j.call, func(ctx context.Context, c tool.Call) (tool.Result, error) {
		return t.callTool(ctx, c, j.inner)
	})
}

// callTool makes a call; inner is that of a tool that may be an agent.
func (t *turn) callTool(ctx context.Context, c tool.Call, inner *Inner) (tool.Result, error) {
	if inner == nil {
		return t.agent.cfg.Tools.Call(ctx, c)
	}
	return t.agent.callees.CallWithin(ctx, c, inner)
}

// closeCall emits and logs the end of a call.
func (t *turn) closeCall(j *job) {
	t.state.Tools = append(t.state.Tools, stream.ToolTiming{Tool: j.call.Name, Duration: j.elapsed})
	if j.key != "" { // it was admitted
		t.logResult(j)
	}
	switch f := j.callFailure(t.ctx); {
	case f == nil:
		t.sink.Emit(&stream.ToolCompleted{Call: j.event, Duration: j.elapsed, Result: j.result.Text, Cached: j.result.Cached, Warning: j.result.Warning})
	case f.Unknown:
		t.loseCall(j, f)
		t.sink.Emit(&stream.ToolUnknown{Call: j.event, Duration: j.elapsed, Message: f.Message})
		t.failCall(f)
	default:
		t.sink.Emit(&stream.ToolFailed{Call: j.event, Duration: j.elapsed, Message: f.Message})
		t.failCall(f)
	}
}

// loseCall forbids equal calls, unless a person is asked about the outcome of this one: then the
// answer decides.
func (t *turn) loseCall(j *job, f *fault.Error) {
	if errors.Is(f, tool.ErrAsked) {
		return
	}
	t.markLost(j.key)
	if j.fallbackOf != nil {
		t.markLost(j.fallbackOf.key) // which would do the same thing once more
	}
}

// failCall reports a failed call, unless the turn ends anyway and says why.
func (t *turn) failCall(f *fault.Error) {
	if t.ctx.Err() == nil && !endsTurn(f) {
		t.reportFailure(f)
	}
}

// endsTurn reports whether a call that failed because of f ends its turn: a bug, or a
// shortage of the gateway's own. The model could do nothing better with a shortage
// than to call the next tool into it, and its own next call needs a descriptor too.
func endsTurn(f *fault.Error) bool { return f.Type == fault.Internal || f.Type == fault.Overloaded }
