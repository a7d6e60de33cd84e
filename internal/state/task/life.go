package task

import (
	"context"
	"time"
)

// identity says which turn of which task something belongs to. It does not change while the
// turn runs.
type identity struct {
	store    *turnStore
	id, task string
	began    time.Time
	ctx      context.Context // for the store: it does not end with the turn
	durable  bool            // it is a run, with which another process can continue
	saves    bool            // it saves what another process needs to continue with it
}

// life is where a turn stands between this process, those that may continue with it, and the
// store. It goes forward alone: a turn that is another's is never this process's again, and
// one that is settled is never left to another.
type life uint8

const (
	running life = iota // this process runs it
	gone                // another process has closed it, and owns its task
	leftOff             // it goes on as another turn, of this process or another: here it has no end
	settled             // the store has its last state, or never will
)

// lose notes that another process owns the task. It returns false if that is no news.
func (l *life) lose() bool { return l.follow(gone, running) }

// leaveOff notes that the turn is left to another process, which may have closed it by then.
func (l *life) leaveOff() bool { return l.follow(leftOff, running, gone) }

// settle notes that the store needs nothing more of the turn.
func (l *life) settle() bool { return l.follow(settled, running) }

// follow changes to next if it may follow what is. Else it changes nothing and returns false.
func (l *life) follow(next life, after ...life) bool {
	for _, from := range after {
		if *l == from {
			*l = next
			return true
		}
	}
	return false
}
