package engine

import (
	"slices"

	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/graph"
	"sluice/stream"
)

// voice makes the answer of a run: the texts of its speaking nodes in the graph's order.
//
// A node whose turn has not come is kept in memory, which graph.MaxText bounds for each node. It
// belongs to the goroutine of the run.
type voice struct {
	run.Voice
	x     *execution
	nodes []*graph.Vertex // that speak, one for each line
	line  map[*graph.Vertex]int
	draft stream.InnerDelta // reused for each event
}

// init prepares the voice of an execution. If a run continues, Progress has the length and the end
// of the sent text. Texts of nodes that ended without being reported wait to be emitted first.
func (v *voice) init(x *execution) {
	p := &x.state.Progress
	v.x, v.line, v.Voice = x, map[*graph.Vertex]int{}, run.Voice{Out: &x.out, Natural: true}
	v.Emitted = run.Join{Length: p.Long, Block: p.Block, Tail: []byte(p.Tail)}
	v.Begun = func(line int) { p.Sent = append(p.Sent, v.nodes[line].ID) }
	for _, n := range x.w.Nodes() {
		if !n.Speaks {
			continue
		}
		line := run.Line{Attribution: stream.Attribution{NodeID: n.ID, AgentID: n.Agent}}
		if e := x.state.endOf(n); e != nil && e.Result >= 0 && !slices.Contains(p.Sent, n.ID) {
			for _, m := range x.state.Messages {
				if isSpoken(n, &m) && m.Content != "" {
					line.Pending = append(line.Pending, m.Content)
				}
			}
		}
		v.line[n] = len(v.nodes)
		v.nodes, v.Lines = append(v.nodes, n), append(v.Lines, line)
	}
	v.Advance(v.hasEnded)
}

// hasEnded reports whether a node has ended. A skipped node has ended too and has no text.
func (v *voice) hasEnded(line int) bool { return v.x.state.endOf(v.nodes[line]) != nil }

// saveProgress records the length and the end of the sent text in the run.
func (v *voice) saveProgress() {
	p := &v.x.state.Progress
	if v.x.held { // nothing is out
		p.Long, p.Block, p.Tail = 0, false, ""
		return
	}
	p.Long, p.Block, p.Tail = v.Emitted.Length, v.Emitted.Block, string(v.Emitted.Tail)
}

// emitInner emits a piece of a text that is not the answer. Attempt stays 0, for it is of answers
// that are held back; its node has reported the round of a draft. The events of a round whose text
// may become a held answer are marked as not stored.
func (v *voice) emitInner(k *worker, text string) {
	v.draft.NodeID, v.draft.AgentID, v.draft.Delta, v.draft.Unkept = k.n.ID, k.n.Agent, text, v.x.holdsText(k.n)
	v.x.out.Emit(&v.draft)
}
