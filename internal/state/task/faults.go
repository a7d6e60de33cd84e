package task

import "sluice/internal/base/fault"

const lostMessage = "The gateway that ran this turn has stopped; its answer is not complete"

// lostFault ends a turn whose process is gone. Whether its last tools ran is
// unknown.
func lostFault() error { return &fault.Error{Type: fault.TurnLost, Message: lostMessage} }

// lostOrUnavailable is lost; owned says that this process has left the turn, and has not stopped.
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

// storeUnavailable is the fault of what cannot be done without the store.
func storeUnavailable(err error) error {
	return fault.NewStoreUnavailable(err)
}

// notFound is the fault for a missing task, and for a task of another user: a difference would show
// that the task exists.
func notFound() error {
	return &fault.Error{Type: fault.NotFound, Message: "There is no such task; it may have expired"}
}

// alreadyAnswered is said of a question whose answer has been taken by then.
func alreadyAnswered() error {
	return &fault.Error{Type: fault.ApprovalUsed, Message: "This approval was answered already"}
}

// NotFound is the refusal of what names a task that is not there, or not the caller's.
func NotFound() error { return notFound() }
