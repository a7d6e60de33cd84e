package router

import (
	"time"

	"sluice/internal/base/telemetry/metrics"
	"sluice/stream"
)

// instruments count decisions and the agents' runs. The ids are those of the
// configuration, so a request cannot make new ones.
type instruments struct {
	decisions  metrics.Counter
	routeTime  metrics.Histogram
	confidence metrics.Histogram
	runs       metrics.Counter
	agentTime  metrics.Histogram
}

// newInstruments registers the metrics of a team. r may be nil. Labels are ids of the
// configuration, words and buckets: never a text.
func newInstruments(r *metrics.Registry) instruments {
	return instruments{
		decisions:  r.Counter("routing_decisions_total", "Decisions of who answers, by agent, confidence and what decided.", "agent_id", "confidence_bucket", "method"),
		routeTime:  r.Histogram("routing_duration_seconds", "Time until it was decided who answers.", "agent_id"),
		confidence: r.Fractions("routing_confidence", "Confidence of the decisions of a model, from 0 to 1.", "agent_id"),
		runs:       r.Counter("agent_runs_total", "Parts of agents in turns, by outcome.", "agent_id", "outcome"),
		agentTime:  r.Histogram("agent_duration_seconds", "Duration of an agent's part in a turn, all attempts together.", "agent_id"),
	}
}

// countDecision counts a decision. Only a model's confidence is observed: rules are
// always certain.
func (in *instruments) countDecision(d *decision, ev *stream.Route) {
	in.decisions.Inc(ev.AgentID, bucketOf(d.confidence), d.method)
	in.routeTime.Observe(d.elapsed.Seconds(), ev.AgentID)
	if d.method == methodModel && d.err == nil {
		in.confidence.Observe(d.confidence, ev.AgentID)
	}
}

// countEnded counts an agent's part in a turn.
func (in *instruments) countEnded(ev *stream.AgentRun, elapsed time.Duration) {
	in.runs.Inc(ev.AgentID, string(ev.Status))
	in.agentTime.Observe(elapsed.Seconds(), ev.AgentID)
}

// bucketOf sorts confidences into few labels.
func bucketOf(confidence float64) string {
	switch {
	case confidence >= 0.9:
		return ">=0.9"
	case confidence >= 0.7:
		return "0.7-0.9"
	case confidence >= 0.5:
		return "0.5-0.7"
	}
	return "<0.5"
}
