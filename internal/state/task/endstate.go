package task

// endState is the state of a turn's end. It only goes forward, except in one step: after a lost
// answer it is unknown whether the store has the end, until the store was asked.
//
//	running ──┬── finish ──────────────────► finished
//	          ├── doubt ──► unknown ─┬─ finish ► finished
//	          │                      └─ deny ──► running
//	          ├── abandon ─► abandoned ── suspend ► suspended
//	          ├── suspend ─────────────────► suspended
//	          └── handOver ────────────────► handedOver
//
// In the unknown state the turn can be abandoned and suspended as in the running state.
type endState uint8

const (
	endRunning    endState = iota // this process runs the turn
	endUnknown                    // the answer of the write was lost: the store may have the end
	endAbandoned                  // another process has closed the turn, and owns its task
	endSuspended                  // the turn continues as another one, here or elsewhere, so it does not end here
	endHandedOver                 // the same, and other processes may claim its task at once
	endFinished                   // the store has the task's last state, or never will
)

// isOpen reports whether the turn is this process's, and the store is not known to have its end.
func (e *endState) isOpen() bool { return *e == endRunning || *e == endUnknown }

// isElsewhere reports whether the turn ends as another turn, or in another process.
func (e *endState) isElsewhere() bool {
	return *e == endAbandoned || *e == endSuspended || *e == endHandedOver
}

// doubt records that the answer to the write of the end was lost.
func (e *endState) doubt() bool { return e.changeTo(endUnknown, endRunning) }

// deny records that the store does not have the end that was in doubt.
func (e *endState) deny() bool { return e.changeTo(endRunning, endUnknown) }

// finish records that the turn needs no further write.
func (e *endState) finish() bool { return e.changeTo(endFinished, endRunning, endUnknown) }

// abandon records that another process owns the task.
func (e *endState) abandon() bool { return e.changeTo(endAbandoned, endRunning, endUnknown) }

// suspend records that the turn continues later. Another process may have closed it by then.
func (e *endState) suspend() bool {
	return e.changeTo(endSuspended, endRunning, endUnknown, endAbandoned)
}

// handOver records that the turn is left to another process, which need not wait for a lease to end.
func (e *endState) handOver() bool { return e.changeTo(endHandedOver, endRunning) }

// changeTo changes to next if the state is one of after. Else it changes nothing and returns false.
func (e *endState) changeTo(next endState, after ...endState) bool {
	for _, from := range after {
		if *e == from {
			*e = next
			return true
		}
	}
	return false
}
