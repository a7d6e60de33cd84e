package model

import "time"

// watchdog ends a call that is silent for too long.
type watchdog struct {
	// timer fires once the model has been silent for too long. While the
	// caller works on a chunk it does not run.
	timer *time.Timer
	idle  time.Duration
	// due is when the timer fires. It is kept only if exact, that is if there can be
	// chunks that are no sign of life.
	due   time.Time
	exact bool
}

// start has bark called after first, unless there is a sign of life before.
func (w *watchdog) start(first, idle time.Duration, exact bool, bark func()) {
	w.idle, w.exact, w.due = idle, exact, time.Now().Add(first)
	w.timer = time.AfterFunc(first, bark)
}

// pause stops the clock, and returns what resume is to be told.
func (w *watchdog) pause(life bool) (left time.Duration) {
	w.timer.Stop()
	if life {
		return w.idle
	}
	return time.Until(w.due)
}

// resume lets the clock run again.
func (w *watchdog) resume(left time.Duration) {
	w.timer.Reset(left)
	if w.exact {
		w.due = time.Now().Add(left)
	}
}

// stop makes sure of nothing but that no timer is left: one that fires at this
// moment cancels a context that is over anyway.
func (w *watchdog) stop() { w.timer.Stop() }
