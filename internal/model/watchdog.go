package model

import "time"

// lingering is how long a service may still report its usage after the end of an answer.
const lingering = 2 * time.Second

// watchdog ends a call that is silent for too long.
type watchdog struct {
	// timer fires once the model has been silent for too long. While the
	// caller works on a chunk it does not run.
	timer       *time.Timer
	first, idle time.Duration
	begun       bool // there was a sign of life: idle counts
	// due is when the timer fires. It is kept only if exact is true: then a chunk may come without
	// being a sign of life.
	due   time.Time
	exact bool
	rests bool // the timer does not run
}

// start has bark called after first, unless there is a sign of life before.
func (w *watchdog) start(first, idle time.Duration, exact bool, bark func()) {
	w.first, w.idle, w.exact, w.due = first, idle, exact, time.Now().Add(first)
	// Timer (watchdog): cancels a model call that is silent.
	// Ends: `end` stops it.
	// Waits: nobody: it only cancels a context.
	w.timer = time.AfterFunc(first, bark)
}

// pause stops the clock, and returns what resume must receive.
func (w *watchdog) pause(life bool) (left time.Duration) {
	if !w.rests {
		w.timer.Stop()
		w.rests = true
	}
	if life {
		w.begun = true
		return w.idle
	}
	return time.Until(w.due)
}

// resume lets the clock run again.
func (w *watchdog) resume(left time.Duration) {
	w.timer.Reset(left)
	w.rests = false
	w.extendDue(left)
}

// extendDue is resume without the timer, for a model whose next event is already here. Setting a
// timer for each event costs a twentieth of a fast answer.
func (w *watchdog) extendDue(left time.Duration) {
	if w.exact {
		w.due = time.Now().Add(left)
	}
}

// Ping is called for what shows that the service lives, and is not part of an answer. A model
// that thinks for long before its first word is not silent.
func (w *watchdog) Ping() {
	if w.exact && !w.begun {
		w.resume(w.first)
	}
}

// linger ends the call after lingering, unless more of the answer comes.
func (w *watchdog) linger() {
	w.begun, w.idle = true, min(w.idle, lingering)
	w.resume(min(w.idle, time.Until(w.due)))
}

// stop makes sure of nothing but that no timer is left: one that fires at this
// moment cancels a context that is over anyway.
func (w *watchdog) stop() { w.timer.Stop() }
