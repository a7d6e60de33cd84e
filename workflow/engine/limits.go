package engine

// Bounds of a run, in bytes.
const (
	maxMetadata = 64 << 10 // of metadata as JSON
	maxMessages = 8 << 20  // of all messages
	maxOutput   = 2 << 10  // of a node's event
	maxJournal  = 64 << 10 // of what an agent node keeps of itself
)
