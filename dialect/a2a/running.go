package a2a

import (
	"context"
	"sync"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/dialect"
	"sluice/fault"
	"sluice/stream"
)

// Turns that are not kept can be asked for while they run: that is what is known of them
// here.

// registry is the turns of a server that run and are not kept.
type registry struct {
	mu   sync.Mutex // guards the field below
	runs map[sdk.TaskID]*run
}

// add makes a run findable by its task. It is safe for concurrent use, as are
// all methods.
func (r *registry) add(a *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[sdk.TaskID]*run{}
	}
	r.runs[sdk.TaskID(a.task)] = a
}

// remove forgets a run.
func (r *registry) remove(a *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, sdk.TaskID(a.task))
}

// get returns the run of a task, or nil if it runs elsewhere or not at all.
func (r *registry) get(id sdk.TaskID) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[id]
}

// of returns the tasks of a conversation.
func (r *registry) of(context string) (tasks []*sdk.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.runs {
		if a.context == context {
			tasks = append(tasks, a.shown())
		}
	}
	return tasks
}

// run is a turn that runs and is not kept.
type run struct {
	mu      sync.Mutex // guards the fields below; turn's ids do not change
	turn               // its pieces are those that were flushed
	cancel  context.CancelCauseFunc
	late    []string // of the answer, not flushed yet
	done    *stream.Done
	at      time.Duration // of done
	changed chan struct{} // closed when there is more to tell; nil: nobody waits for that
}

// begun notes what ends the turn.
func (a *run) begun(cancel context.CancelCauseFunc) { a.cancel = cancel }

// ear hears what a turn tells, and passes it on.
type ear struct {
	stream.Output
	run   *run
	all   *registry
	deaf  bool // the turn is kept
	added bool
}

// Write implements stream.Output.
func (e *ear) Write(s stream.Stamp, ev stream.Event) error {
	if !e.deaf {
		e.hear(s, ev)
	}
	return e.Output.Write(s, ev)
}

// hear takes an event of the run. It never blocks: those who listen read what
// is kept.
func (e *ear) hear(s stream.Stamp, ev stream.Event) {
	a := e.run
	a.mu.Lock()
	defer a.mu.Unlock()
	switch ev := ev.(type) {
	case *stream.Start:
		if e.deaf = ev.TaskID != ""; e.deaf {
			return
		}
	case *stream.Delta:
		a.late = append(a.late, ev.Text)
	case *stream.Error, *stream.Approval:
		a.turn.hear(ev)
	case *stream.Done:
		done := *ev
		a.done, a.at = &done, s.At
	}
}

// Flush implements stream.Output. The first one is that of the turn's start.
func (e *ear) Flush() error {
	if !e.deaf {
		if !e.added {
			e.added = true
			e.all.add(e.run)
		}
		e.run.publish()
	}
	return e.Output.Flush()
}

// publish tells those who listen.
func (a *run) publish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pieces = append(a.pieces, a.late...)
	a.late = a.late[:0]
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// more needs mu. It returns what is closed when there is more to tell.
func (a *run) more() <-chan struct{} {
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

// shown returns the task as it is now.
func (a *run) shown() *sdk.Task {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now()
}

// now needs mu.
func (a *run) now() *sdk.Task {
	if a.done != nil {
		return a.snapshot(stateOf(a.done.Reason), a.at)
	}
	return a.snapshot(sdk.TaskStateWorking, time.Since(a.began))
}

// stop cancels the turn and waits a moment for its end.
func (a *run) stop(ctx context.Context) *sdk.Task {
	a.cancel(&fault.Error{Type: fault.Cancelled, Message: "The turn was cancelled"})
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	for {
		a.mu.Lock()
		task, ended, changed := a.now(), a.done != nil, a.more()
		a.mu.Unlock()
		if ended {
			return task
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return task
		}
	}
}

// follow tells a client the rest of the turn. The task is out.
func (a *run) follow(ctx context.Context, e *teller, out dialect.Frames) bool {
	heard := len(e.pieces)
	for {
		a.mu.Lock()
		fresh, done, failure, at, changed := a.pieces[heard:], a.done, a.failure, a.at, a.more()
		questions := a.questions
		a.mu.Unlock()
		heard += len(fresh)
		var frames []byte
		for _, piece := range fresh {
			frames = e.Encode(frames, stream.Stamp{}, &stream.Delta{Text: piece})
		}
		if done != nil {
			e.failure, e.questions = failure, questions
			frames = e.Encode(frames, stream.Stamp{At: at}, done)
		}
		if len(frames) > 0 && (out.WriteFrame(frames) != nil || out.Flush() != nil) || done != nil {
			return done != nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
