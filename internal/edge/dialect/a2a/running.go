package a2a

import (
	"context"
	"sync"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/stream"
)

// Turns that are not stored are found here while they run.

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

// tasksOf returns the tasks of a conversation.
func (r *registry) tasksOf(context string) (tasks []*sdk.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.runs {
		if a.context == context {
			tasks = append(tasks, a.snapshotNow())
		}
	}
	return tasks
}

// run is a turn that runs and is not kept.
type run struct {
	mu      sync.Mutex // guards the fields below; turn's ids do not change
	turn               // Pieces are those that were flushed
	cancel  context.CancelCauseFunc
	late    []string      // of the answer, not flushed yet
	at      time.Duration // of Done
	changed chan struct{} // closed when there is more to report; nil: nobody waits for that
}

// setCancel notes what ends the turn.
func (a *run) setCancel(cancel context.CancelCauseFunc) { a.cancel = cancel }

// observer notes the events of a turn in its run, and passes them on.
type observer struct {
	stream.Output
	run    *run
	all    *registry
	stored bool // the turn is: nothing is noted here
	added  bool
}

// Write implements stream.Output.
func (o *observer) Write(s stream.Stamp, ev stream.Event) error {
	if start, ok := ev.(*stream.Start); ok {
		o.stored = start.TaskID != ""
	}
	if !o.stored {
		o.run.recordEvent(s, ev)
	}
	return o.Output.Write(s, ev)
}

// recordEvent notes an event. It never blocks: readers fetch the recorded events.
func (a *run) recordEvent(s stream.Stamp, ev stream.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = s.At
	if d, ok := ev.(*stream.Delta); ok {
		a.late = append(a.late, d.Text)
		return
	}
	if _, ok := ev.(*stream.Reset); ok {
		a.resets++
		a.foldPieces()
	}
	a.Add(ev)
}

// Flush implements stream.Output. The first one is that of the turn's start.
func (o *observer) Flush() error {
	if !o.stored {
		if !o.added {
			o.added = true
			o.all.add(o.run)
		}
		o.run.notifyReaders()
	}
	return o.Output.Flush()
}

// notifyReaders notifies those who listen.
func (a *run) notifyReaders() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.foldPieces()
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// foldPieces adds the pieces that came last. The caller must hold mu.
func (a *run) foldPieces() {
	a.Pieces = append(a.Pieces, a.late...) // as Fold.Add has it
	for _, text := range a.late {
		a.Size += len(text)
	}
	a.late = a.late[:0]
}

// nextChange needs mu. It returns a channel that is closed at the next change.
func (a *run) nextChange() <-chan struct{} {
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

// snapshotNow returns the task as it is now.
func (a *run) snapshotNow() *sdk.Task {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.snapshotLocked()
}

// snapshotLocked is snapshotNow for a caller that holds mu.
func (a *run) snapshotLocked() *sdk.Task {
	if a.Done != nil {
		return a.snapshot(stateOf(a.Reason()), a.at)
	}
	return a.snapshot(sdk.TaskStateWorking, time.Since(a.began))
}

// cancelAndWait cancels the turn and waits a moment for its end.
func (a *run) cancelAndWait(ctx context.Context) *sdk.Task {
	a.cancel(&fault.Error{Type: fault.Cancelled, Message: "The turn was cancelled"})
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	for {
		a.mu.Lock()
		task, ended, changed := a.snapshotLocked(), a.Done != nil, a.nextChange()
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

// follow gives a client the rest of the turn. The task is out.
func (a *run) follow(ctx context.Context, e *eventEncoder, out dialect.Frames) bool {
	shown := len(e.Pieces)
	for {
		a.mu.Lock()
		now, at, changed, resets := a.Fold, a.at, a.nextChange(), a.resets
		a.mu.Unlock()
		var frames []byte
		if e.resets != resets {
			e.resets = resets
			frames = e.Encode(frames, stream.Stamp{}, &stream.Reset{Accumulated: now.Text()})
			shown = len(now.Pieces)
		}
		for _, piece := range now.Pieces[shown:] {
			frames = e.Encode(frames, stream.Stamp{}, &stream.Delta{Text: piece})
		}
		shown = len(now.Pieces)
		done := now.Done != nil
		if done {
			e.Errors, e.Questions = now.Errors, now.Questions
			frames = e.Encode(frames, stream.Stamp{At: at}, now.Done)
		}
		if len(frames) > 0 && (out.WriteFrame(frames) != nil || out.Flush() != nil) || done {
			return done
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
