// Package task keeps turns beyond the connection, and beyond the process, that they began
// on: a turn is a task with a document and has a log of its events, both in a store.
//
//	Stamper ── Turn ── the client's Output
//	            └───── the log
//
// A Turn writes, then delivers: no client sees an event that the log does not have. So a reader of
// the log, on any gateway, gets the same events as the first client.
//
// A process holds a lease under its name and an epoch. Each write of a turn's log and of its task
// says which lease it stands on, so that a process that was cut off and comes back cannot write
// into what another one has taken over. The keeper finds tasks whose lease is over, and ends them
// with an event that says so. If no unsafe call ran, another process may run them again.
//
// A document is changed by its version: a writer that loses a race reads again. A log is appended
// to at a number: two writers cannot both succeed.
//
// The parts of a Service, from the request to the store:
//
//	turnStarter    begins a turn: claims its key, makes or adopts its task
//	Turn           writes the turn: log, client, and in the end the task (turnEnd)
//	taskReader     shows tasks, and with turnLogs the logs of turns
//	taskCanceller  cancels tasks, and forgets conversations
//	turnKeeper     the goroutine that does everything below in time
//	processLease   renews the lease, fences runs
//	turnSuccessor  takes over the turns that no process runs, or closes them
//	taskStore      reads and writes tasks for all of them
//
// The verbs: append (to a log), flush (log, then client), save (to continue), finish (last state),
// release (to another process), abandon (a claimed turn), take over, close (a lost turn).
//
// A Service is safe for concurrent use. Its keeper ends with Close, and Close waits for it.
package task

import "context"

// Service keeps the turns of one process, in parts with one job each. It is safe for concurrent use.
// Use New.
type Service struct {
	*taskStore        // writes tasks
	*turnLogs         // OpenLog, Await
	*turnStarter      // Begin
	*taskReader       // Show, List, Trace and others; Reopen
	*taskCanceller    // Cancel, Forget
	*processLease     // Holder
	*turnSuccessor    // Places
	*turnKeeper       // Ready, Close
	*retentionSweeper // Erase
	contentNotes      // NoteContent, DropContent
}

// CheckLater has the keeper call check until the store answers, however many checks there are. It
// may be called again after that.
func (s *Service) CheckLater(check func(context.Context) error) { s.turnStarter.addCheck(check) }

// New returns a Service and starts its keeper. The keeper renews the lease, learns of cancels, and
// closes the turns of dead processes. The caller must call Close.
func New(cfg Config) *Service {
	tasks := newTaskStore(cfg)
	logs := &turnLogs{taskStore: tasks}
	st := &turnStore{turnLogs: logs, unconfirmedWrites: unconfirmedWrites{tasks: tasks}}
	turns := &openTurns{running: map[string]*Turn{}}
	lease := &processLease{taskStore: tasks, turns: turns}
	successor := &turnSuccessor{turnCloser: turnCloser{st}, turns: turns, lease: lease}
	turns.closeDropped = successor.closeLater
	retained := &retentionSweeper{taskStore: tasks}
	s := &Service{
		taskStore:        tasks,
		turnLogs:         logs,
		turnStarter:      &turnStarter{turnStore: st, turns: turns, lease: lease},
		taskReader:       &taskReader{turnLogs: logs, lease: lease, listing: make(chan struct{}, lists)},
		taskCanceller:    &taskCanceller{turnStore: st, turns: turns},
		processLease:     lease,
		turnSuccessor:    successor,
		turnKeeper:       newKeeper(st, turns, lease, successor, retained),
		retentionSweeper: retained,
		contentNotes:     contentNotes{values: cfg.Store},
	}
	cfg.Metrics.GaugeFunc("turns_detached", "Turns that go on without the client that began them.", func() float64 {
		return float64(st.detached.Load())
	})
	_ = lease.renewLease() // the keeper tries again
	// Goroutine (keep): sweeps, looks for cancels, and settles ends when the lease was renewed.
	// Ends: `Service.Close`.
	// Waits: `Service.Close`.
	go s.runKeeper()
	return s
}
