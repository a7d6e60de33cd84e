package chat

import "strings"

// Actions for a turn whose client disconnects.
const (
	OnDisconnectContinue = "continue"
	OnDisconnectCancel   = "cancel"
)

// Prefixes of the ids of tasks and turns.
const (
	TaskPrefix = "task_"
	TurnPrefix = "turn_"
)

// AfterStart is the Past.After of a turn that begins a line of its conversation.
const AfterStart = "start"

// idLength is how many characters follow the prefix: 128 bits, five in each.
const idLength = 26

// Texts for a task without an answer so far.
const (
	TaskSubmitted = "The request has arrived"
	TaskWorking   = "The request is being worked on"
)

// IsTaskID reports whether s can be the id of a task of ours.
func IsTaskID(s string) bool { return isID(s, TaskPrefix) }

// IsTurnID reports whether s can be the id of a turn.
func IsTurnID(s string) bool { return isID(s, TurnPrefix) }

// isID reports whether s is prefix and 26 of [0-9a-z], as ids of tasks and turns are made. So a
// store is never asked for another text.
func isID(s, prefix string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && len(rest) == idLength && strings.Trim(rest, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// NoSuchTask is the fault of an input for a task that waits for none.
func NoSuchTask() *FieldError {
	return &FieldError{Code: CodeUnknownValue, Message: "names no task that waits for an input"}
}

// TaskNeedsApproval is the fault of an input for a task that waits for something else.
func TaskNeedsApproval() *FieldError {
	return &FieldError{Code: CodeNotAllowed, Message: "names a task that waits for an approval, and not for an input"}
}

// checkTaskID accepts texts of the form of a task's id. Whether there is one, and it waits, is for
// others to say.
func checkTaskID(s string) (string, *FieldError) {
	if !IsTaskID(s) {
		return "", NoSuchTask()
	}
	return s, nil
}

// CheckHeartbeat reports whether heartbeats are events.
func CheckHeartbeat(s string) (event bool, wrong *FieldError) {
	if s != "comment" && s != "event" {
		return false, &FieldError{Code: CodeUnknownValue, Message: "must be comment or event"}
	}
	return s == "event", nil
}

// checkOnDisconnect accepts one of the two words.
func checkOnDisconnect(s string) (string, *FieldError) {
	if s != OnDisconnectContinue && s != OnDisconnectCancel {
		return "", &FieldError{Code: CodeUnknownValue, Message: "must be continue or cancel"}
	}
	return s, nil
}
