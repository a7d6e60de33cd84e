package engine

import (
	"time"

	"sluice/internal/base/fault"
)

// Bounds of a run, in bytes.
const (
	maxMetadata = 64 << 10 // of metadata as JSON
	maxMessages = 8 << 20  // of all messages
	maxOutput   = 2 << 10  // of a node's event
	maxJournal  = 64 << 10 // of an agent node's journal entry
)

// limitFault is the fault of a run that is larger than it may be. Its message is shown to the
// caller: it names the bound and quotes nothing.
func limitFault(message string) error {
	return &fault.Error{Type: fault.WorkflowLimit, Message: message}
}

// lastSave bounds the saving of a failure.
const lastSave = 2 * time.Second
