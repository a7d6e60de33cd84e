package engine

import (
	"sync/atomic"
	"time"

	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/engine/workflow/graph"
)

// instruments count runs and nodes. Without a registry they do nothing.
type instruments struct {
	runs   metrics.Counter
	nodes  metrics.Histogram
	active *atomic.Int64
}

func newInstruments(m *metrics.Registry) instruments {
	return instruments{
		runs:   m.Counter("workflow_runs_total", "Runs of workflows that ended or wait.", "workflow", "status"),
		nodes:  m.Histogram("workflow_node_seconds", "Executions of nodes.", "type"),
		active: new(atomic.Int64),
	}
}

func (i *instruments) countBegun() { i.active.Add(1) }
func (i *instruments) countLeft()  { i.active.Add(-1) }

func (i *instruments) countEnded(kind graph.NodeType, elapsed time.Duration) {
	i.nodes.Observe(elapsed.Seconds(), string(kind))
}
