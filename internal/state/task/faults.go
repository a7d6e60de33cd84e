package task

import "sluice/internal/base/fault"

const lostMessage = fault.TurnLostMessage

// lostFault returns the error that ends the turn of a dead process. Whether its last tools ran is
// unknown.
func lostFault() error { return &fault.Error{Type: fault.TurnLost, Message: lostMessage} }

// lostOrUnavailable returns lostFault, or the fault of an outage if this process, still running,
// has suspended the turn (owned).
func lostOrUnavailable(owned bool) error {
	if owned {
		return storeUnavailable(nil)
	}
	return lostFault()
}

// cancelledFault ends a turn that a caller asked to end.
func cancelledFault() error {
	return &fault.Error{Type: fault.Cancelled, Message: "The turn was cancelled"}
}

func shuttingDown() error {
	return &fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down"}
}

// storeUnavailable returns the fault for an action that needs the store.
func storeUnavailable(err error) error {
	return fault.NewStoreUnavailable(err)
}

// notFound is the fault for a missing task, and for a task of another user: a difference would show
// that the task exists.
func notFound() error {
	return &fault.Error{Type: fault.NotFound, Message: "There is no such task; it may have expired"}
}

// alreadyAnswered returns the fault for a question that has its answer.
func alreadyAnswered() error {
	return &fault.Error{Type: fault.ApprovalUsed, Message: "This approval was answered already"}
}

// NotFound returns the fault for a task that is missing, or not the caller's.
func NotFound() error { return notFound() }
