package model

import (
	"slices"
	"sync"
	"sync/atomic"
)

// maxLearned is how many members of a request a model may refuse before it counts as
// set up wrongly.
const maxLearned = 3

// Learned holds the members of a request that a model has refused in this process. Its zero value
// is ready, and it is safe for concurrent use.
type Learned struct {
	mu   sync.Mutex // guards changes
	omit atomic.Pointer[Omit]
}

// Omit returns the members to leave out.
func (l *Learned) Omit() Omit {
	if p := l.omit.Load(); p != nil {
		return *p
	}
	return nil
}

// Refused records that the model refused member in a request without the members of sent. It says
// whether another request is worth sending, and whether the member is news. A member that gives way
// in steps is listed once a step, and counts once.
func (l *Learned) Refused(member string, sent Omit) (again, news bool) {
	if member == "" {
		return false, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.Omit()
	if known.Times(member) > sent.Times(member) {
		return true, false // another call was faster
	}
	news = !known.Has(member)
	if news && known.countDistinct() == maxLearned {
		return false, false
	}
	more := append(slices.Clone(known), member)
	l.omit.Store(&more)
	return true, news
}
