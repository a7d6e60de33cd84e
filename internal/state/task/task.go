// Package task keeps turns beyond the connection, and beyond the process, that they began
// on: a turn is a task with a document and has a log of its events, both in a store.
//
//	Stamper ── Turn ── the client's Output
//	            └───── the log
//
// A Turn writes, then delivers: no client sees an event that the log does not have. So
// a reader of the log, on any gateway, gets what the first client got.
//
// A process holds a lease under its name and an epoch. Each write of a turn's
// log and of its task says which lease it stands on, so that a process that was
// cut off and comes back cannot write into what another one has taken over. The
// sweeper finds tasks whose lease is over, and ends them with an event that
// says so; or, where no call ran that must not run twice, another process may
// run them again.
//
// A document is changed by its version: who loses a race reads again. A log is
// appended to at a number: two writers cannot both succeed.
//
// A Service is safe for concurrent use. One goroutine renews its lease and
// sweeps; it ends with Close, which waits for it.
package task

import (
	"context"
	"sync/atomic"
	"time"
)

// Service keeps the turns of one process. It is safe for concurrent use. Use New.
type Service struct {
	*taskStore
	*turnLogs
	store   *turnStore
	turns   *openTurns
	leased  atomic.Bool               // the lease was renewed when it was tried last
	renewed atomic.Pointer[time.Time] // when the lease was renewed last

	ctx        context.Context // ends with Close
	close      context.CancelFunc
	ended      chan struct{} // closed when the keeper has returned
	ready      chan struct{} // see Ready
	continuing int           // how many runs were continued; the keeper's alone
	// stuckOrphans and stuckDue are how many tasks the last sweeps could not continue: the next ones
	// ask for as many more, so that these hide no others. They are the keeper's alone.
	stuckOrphans, stuckDue int

	listing chan struct{} // one for each list that is made

	retained retention // of the keeper alone

	places atomic.Pointer[func(func(error)) (func(), error)]
}

// uncertain says that processes may live whose lease is over: the store was unavailable so
// shortly ago that they could not renew it.
func (s *Service) uncertain() bool {
	failed := s.failed.Load()
	return failed != nil && time.Since(*failed) < s.cfg.Lease || !s.leased.Load()
}
