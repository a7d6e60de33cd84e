package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/chat"
	"sluice/fault"
	"sluice/run"
	"sluice/stream"
	"sluice/tool"
)

const (
	// maxParallel is how many tools run in one step; the model reads that the rest were not
	// executed.
	maxParallel = 8
	// maxForModel is how many bytes of a result the model is given.
	maxForModel = 32 << 10
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
	elapsed time.Duration
	result  tool.Result
	err     error

	news   mailbox   // what the tool reports of its progress
	nextAt time.Time // when the next report may be sent; the turn's goroutine alone uses it

	inner *Inner // what it says about itself; nil: nothing
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

// runTools runs the calls of the step at hand and reports each as it ends. Calls that must wait
// are left open; else the calls and their results, in the order of the calls, become part of
// the conversation. It returns an error if the turn cannot continue.
func (t *turn) runTools() error {
	if err := t.over(); err != nil {
		return err
	}
	jobs, admitted := t.openJobs()
	for _, j := range jobs {
		if j.err != nil {
			t.close(j)
		}
	}
	t.emitDropped()
	t.sink.Flush()
	if t.sink.Err != nil {
		return t.sink.Err
	}
	if err := t.runAll(t.tools, admitted); err != nil {
		return err
	}
	t.state.Messages = append(t.state.Messages, chat.Message{Role: chat.RoleModel, Parts: t.step.parts, Maker: t.step.maker})
	t.state.kept += t.step.kept
	t.state.Dropped = t.step.dropped
	t.settle(jobs)
	return nil
}

// openJobs reports the calls of the step at hand and decides which of them run. It stops where
// the turn does: the calls after that were never reported.
func (t *turn) openJobs() (jobs, admitted []*job) {
	running := 0
	for _, c := range t.step.calls {
		if t.over() != nil {
			break
		}
		j := t.newJob(c, t.tools.Lookup(c.Name))
		jobs = append(jobs, j)
		if j.key, j.err = t.admit(j, running); j.err == nil {
			running++
			if j.client = t.clients.runs(j.spec); j.client {
				continue
			}
			if j.waits = t.agent.cfg.Hold != nil && t.agent.cfg.Hold(c, j.spec); j.waits {
				continue
			}
			admitted = append(admitted, j)
		}
		t.start(j)
	}
	return jobs, admitted
}

// start reports a call that runs now, or was refused.
func (t *turn) start(j *job) {
	harmless := j.err != nil || j.spec == nil || j.spec.Annotations.Repeatable()
	t.sink.Emit(&stream.ToolStarted{Call: j.event, Repeatable: harmless})
	if j.err == nil {
		t.logCall(j)
	}
}

// admit decides whether a call may run, as ledger.admit does. Tools knows more tools
// than a turn of limited access was given, and would run them.
func (t *turn) admit(j *job, running int) (key string, err error) {
	if j.spec == nil && (t.state.Access != chat.ToolsAll || t.agent.cfg.Hold != nil) {
		return "", refusal(j.call, "no such tool is available in this turn", "Do without it.")
	}
	return t.admitCall(j.call, running)
}

// admitCall is ledger.admit, which also refuses what another agent of the turn has lost, or
// was not allowed.
func (t *turn) admitCall(c tool.Call, running int) (key string, err error) {
	if err := t.refusal(c); err != nil {
		return "", err
	}
	return t.state.calls.admit(c, running)
}

// lose notes that the outcome of a call is unknown, for all agents of the turn.
func (t *turn) lose(key string) {
	t.state.calls.lose(key)
	t.note(key, chat.CallLost)
}

// newJob gives the call an id that is unique in the turn, because models repeat
// theirs.
func (t *turn) newJob(c tool.Call, spec *tool.Spec) *job {
	l := &t.state.calls
	if known := chat.TurnOf(t.ctx); l.seed == "" && known.RequestID != "" {
		l.seed = chat.CallSeed(t.req.Turn, known.RequestID, known.Began)
	}
	return newJob(l.id(c.ID), c, spec)
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

// emitDropped says how many calls of the step were not even opened.
func (t *turn) emitDropped() {
	if n := t.step.dropped; n > 0 {
		t.failCall(&fault.Error{Type: fault.ToolFailed,
			Message: fmt.Sprintf("Tool calls not executed: %d. At most %d of one answer are taken", n, maxCalls)})
	}
}

// run runs the tool. A panic is an error of this call's turn, not of the process.
func (j *job) run(ctx context.Context, t *turn, wake func()) {
	began := time.Now()
	ctx, span := j.span(ctx)
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
	if j.result, j.err = t.call(ctx, j); j.err != nil {
		j.suspend()
	}
}

// call has a call made, past what must know of it. It runs on the goroutine of the call.
func (t *turn) call(ctx context.Context, j *job) (tool.Result, error) {
	g := t.req.Facts.Guard
	if g == nil {
		return t.make(ctx, j.call, j.inner)
	}
	spec := j.spec
	if spec == nil { // it may be there by now
		spec = t.agent.cfg.Tools.Tools(ctx).Lookup(j.call.Name)
	}
	return g.Call(ctx, spec, j.call, func(ctx context.Context, c tool.Call) (tool.Result, error) {
		return t.make(ctx, c, j.inner)
	})
}

// make makes a call; inner is that of a tool that may be an agent.
func (t *turn) make(ctx context.Context, c tool.Call, inner *Inner) (tool.Result, error) {
	if inner == nil {
		return t.agent.cfg.Tools.Call(ctx, c)
	}
	return t.agent.callees.CallWithin(ctx, c, inner)
}

// close says how a call ended.
func (t *turn) close(j *job) {
	t.state.Tools = append(t.state.Tools, stream.ToolTiming{Tool: j.call.Name, Duration: j.elapsed})
	if j.key != "" { // it was admitted
		t.logResult(j)
	}
	switch f := j.failure(t.ctx); {
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

// loseCall has no equal call made any more, unless a person is asked what became of this
// one: then the answer decides.
func (t *turn) loseCall(j *job, f *fault.Error) {
	if errors.Is(f, tool.ErrAsked) {
		return
	}
	t.lose(j.key)
	if j.fallbackOf != nil {
		t.lose(j.fallbackOf.key) // which would do the same thing once more
	}
}

// failCall reports a failed call, unless the turn ends anyway and says why.
func (t *turn) failCall(f *fault.Error) {
	if t.ctx.Err() == nil && !endsTurn(f) {
		t.fail(f)
	}
}

// endsTurn says whether a call that failed because of f ends its turn: a bug, or a
// shortage of the gateway's own. The model could do nothing better with a shortage
// than to call the next tool into it, and its own next call needs a descriptor too.
func endsTurn(f *fault.Error) bool { return f.Type == fault.Internal || f.Type == fault.Overloaded }

// failure returns why the call failed, or nil. Tools says what it knows of the
// outcome; a call that ended by a bug, or with nothing but the turn's own end, may
// have taken effect.
func (j *job) failure(turn context.Context) *fault.Error {
	f := fault.From(j.err)
	if f == nil {
		if !j.result.IsError {
			return nil
		}
		return &fault.Error{Type: fault.ToolFailed, Service: "mcp:" + j.event.Server,
			Message: "The tool " + j.call.Name + " answered with an error"}
	}
	switch f.Type {
	case fault.ToolFailed, fault.MCPUnavailable, fault.Timeout, fault.Overloaded:
		if error(f) != context.Cause(turn) {
			return f
		}
	}
	cut := *f
	cut.Unknown = j.spec == nil || !j.spec.Annotations.Repeatable()
	if turn.Err() != nil {
		cut.Message = "The turn ended before the tool did"
	}
	return &cut
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
