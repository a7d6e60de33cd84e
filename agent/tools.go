package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
)

const (
	// maxParallel is how many tools run in one step; the model is told that the
	// rest were not executed.
	maxParallel = 8
	// maxForModel is how many bytes of a result the model is given.
	maxForModel = 32 << 10
)

// job is one tool call of a step.
type job struct {
	call   chat.ToolCall
	told   stream.Call
	spec   *chat.ToolSpec
	key    string
	began  time.Time
	took   time.Duration
	result chat.ToolResult
	err    error
}

// runTools runs the calls of the step at hand, tells of each as it ends, and
// appends the calls and their results, in the order of the calls, to the
// conversation. It returns an error if the turn cannot go on.
func (t *turn) runTools(tools *chat.ToolSet) error {
	jobs := make([]*job, len(t.step.calls))
	var admitted []*job
	for i, c := range t.step.calls {
		j := &job{call: c, spec: tools.Lookup(c.Name), began: time.Now()}
		j.told = stream.Call{ID: t.calls.id(c.ID), Tool: c.Name, Arguments: c.Arguments}
		if j.spec != nil {
			j.told.Server = j.spec.Server
		}
		jobs[i] = j
		t.emit(&stream.ToolStarted{Call: j.told})
		if j.key, j.err = t.calls.admit(c, len(admitted)); j.err == nil {
			admitted = append(admitted, j)
			t.logCall(j)
		}
	}
	for _, j := range jobs {
		if j.err != nil {
			t.close(j)
		}
	}
	t.flush()
	if err := t.runAll(admitted); err != nil {
		return err
	}
	t.messages = append(t.messages,
		chat.Message{Role: chat.RoleModel, Parts: t.step.parts},
		chat.Message{Role: chat.RoleUser, Parts: results(jobs)})
	return t.told
}

func results(jobs []*job) []chat.Part {
	parts := make([]chat.Part, len(jobs))
	for i, j := range jobs {
		parts[i] = chat.Part{Result: j.forModel()}
	}
	return parts
}

// runAll runs the jobs at the same time and closes each as it ends.
func (t *turn) runAll(jobs []*job) error {
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	ended := make(chan *job, len(jobs))
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, j := range jobs {
		if len(jobs) == 1 { // as mostly: no goroutine needed
			j.run(ctx, t.agent.cfg.Tools)
			ended <- j
			break
		}
		wg.Go(func() {
			j.run(ctx, t.agent.cfg.Tools)
			ended <- j
		})
	}
	var bug error
	for range jobs {
		j := <-ended
		t.close(j)
		t.flush()
		if j.err != nil && fault.From(j.err).Type == fault.Internal && bug == nil {
			bug = j.err
			cancel(bug)
		}
	}
	if t.ctx.Err() != nil {
		return fault.Cause(t.ctx)
	}
	return bug
}

// run runs the tool. A panic is an error of this call's turn, not of the process.
func (j *job) run(ctx context.Context, tools Tools) {
	defer func() {
		if p := recover(); p != nil {
			j.err = fmt.Errorf("panic in tool call: %v\n%s", p, debug.Stack())
		}
		j.took = time.Since(j.began)
	}()
	j.result, j.err = tools.Call(ctx, j.call)
}

// close tells how a call ended.
func (t *turn) close(j *job) {
	if j.key != "" {
		t.logResult(j)
		t.timings = append(t.timings, stream.ToolTiming{Tool: j.call.Name, Duration: j.took})
	}
	switch f := j.failure(t.ctx); {
	case f == nil:
		t.emit(&stream.ToolCompleted{Call: j.told, Duration: j.took, Result: j.result.Text})
	case f.Unknown:
		t.calls.lose(j.key)
		t.emit(&stream.ToolUnknown{Call: j.told, Duration: j.took, Message: f.Message})
		t.failCall(f)
	default:
		t.emit(&stream.ToolFailed{Call: j.told, Duration: j.took, Message: f.Message})
		t.failCall(f)
	}
}

// failCall tells of a failed call, unless the turn ends anyway and says why.
func (t *turn) failCall(f *fault.Error) {
	if t.ctx.Err() == nil && f.Type != fault.Internal {
		t.fail(f, false)
	}
}

// failure returns why the call failed, or nil.
func (j *job) failure(turn context.Context) *fault.Error {
	switch {
	case j.err == nil && !j.result.IsError:
		return nil
	case j.err == nil:
		return &fault.Error{Type: fault.ToolFailed, Service: "mcp:" + j.told.Server,
			Message: "The tool " + j.call.Name + " answered with an error", Hint: j.result.Text}
	case turn.Err() != nil && j.key != "":
		return &fault.Error{Type: fault.Timeout, Message: "The turn ended before the tool did",
			Unknown: j.spec == nil || !j.spec.Annotations.Repeatable(), Err: j.err}
	}
	return fault.From(j.err)
}

// forModel returns the result as the model is given it.
func (j *job) forModel() *chat.ToolResult {
	r := &chat.ToolResult{ID: j.call.ID, Name: j.call.Name}
	if j.err == nil {
		r.Text, r.IsError = capResult(j.result.Text), j.result.IsError
		return r
	}
	f := fault.From(j.err)
	r.IsError = true
	r.Text = f.ForModel()
	if f.Unknown {
		r.Text += ". The call was sent, but whether it took effect is not known. Do not call it again; tell the user that the outcome is unknown."
	}
	return r
}

func capResult(s string) string {
	head, cut := chat.Truncate(s, maxForModel)
	if !cut {
		return s
	}
	return fmt.Sprintf("%s\n[cut here: the first %d of %d bytes are shown; ask for less, for example with a filter]", head, len(head), len(s))
}
