package stream

import (
	"errors"
	"fmt"
	"strconv"

	"sluice/internal/base/fault"
)

// Events of a workflow.

// NodeStatus is the status in a NodeRun.
type NodeStatus string

// Statuses. NodeStarted opens an attempt, and one of NodeCompleted, NodeFailed and
// NodeWaiting closes it; NodeSkipped stands alone.
const (
	NodeStarted   NodeStatus = "started"
	NodeCompleted NodeStatus = "completed"
	NodeFailed    NodeStatus = "failed"
	NodeWaiting   NodeStatus = "waiting" // for a person
	NodeSkipped   NodeStatus = "skipped" // no way led to it
)

// NodeRun reports a node of a workflow. Deltas of an end node may come after its end, as its
// text waits for that of the nodes before it.
type NodeRun struct {
	NodeID  string     `json:"node_id"`
	Type    string     `json:"type"` // agent, tool, condition or human
	Status  NodeStatus `json:"status"`
	Attempt int        `json:"attempt"` // from 1; a later one follows a process that is gone

	// The rest is set at the end of an attempt.
	Iteration int        `json:"iteration,omitzero"` // how often a node ran that repeats itself
	Millis    *int64     `json:"duration_ms,omitempty"`
	Output    string     `json:"output,omitempty"` // up to 2 KiB of its text
	ErrorType fault.Type `json:"error_type,omitempty"`
}

const nodeName = "node"

func (*NodeRun) markEvent() {}

// Name returns "node".
func (*NodeRun) Name() string { return nodeName }

// Allow keeps attempts in order: each begins once, is open until it ends, and every one
// that began has ended before Done.
func (r *NodeRun) Allow(t *Turn) error {
	if r.NodeID == "" || r.Type == "" || r.Attempt < 1 {
		return errors.New("it is of no attempt of a node")
	}
	key := "node " + r.NodeID + " " + strconv.Itoa(r.Attempt)
	switch r.Status {
	case NodeStarted:
		if !t.Open(key) {
			return fmt.Errorf("%s has begun already", key)
		}
	case NodeCompleted, NodeFailed, NodeWaiting:
		if !t.Close(key) {
			return fmt.Errorf("%s is not running", key)
		}
	case NodeSkipped:
		if t.isOpen(key) {
			return fmt.Errorf("%s is running", key)
		}
	default:
		return fmt.Errorf("status %q of a node", r.Status)
	}
	return nil
}
